import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { Log } from '../../../src/platform/log/index.js';
import { Vault } from '../../../src/platform/vault/index.js';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import { AgentClient } from '../../harness/agent.js';
import { Automations } from '../../harness/automations.js';
import type { Json } from '../../harness/client.js';
import { TestService } from '../../harness/service.js';

const write = process.stdout.write.bind(process.stdout);
let logged = '';
let service: TestService;
let model: FakeOpenAi;

/** All that the service logs, at its most talkative. */
beforeAll(async () => {
  process.stdout.write = ((chunk: string) => {
    logged += chunk;
    return true;
  }) as typeof process.stdout.write;
  model = await FakeOpenAi.start();
  service = await TestService.start({
    LOG_LEVEL: 'trace',
    LOG_FORMAT: 'text',
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'fake',
    OPENAI_COMPATIBLE_API_KEY: 'key-of-the-provider',
  });
});
beforeEach(() => {
  logged = '';
});
afterAll(async () => {
  await service.stop();
  await model.stop();
  process.stdout.write = write;
});

/** A fault may be answered before it is logged. */
async function untilLogged(...parts: string[]): Promise<void> {
  while (!parts.every(part => logged.includes(part))) await sleep(20);
}

it('never logs a secret, whatever goes right or wrong', async () => {
  const ada = await service.person();
  const key = (await ada.client.post('/api/keys', { name: 'CI' })).body.api_key as string;
  const secrets = [ada.password, ada.refreshToken, key, String(ada.client.headers.authorization).slice(7)];
  const send = (path: string, body: Json) => service.stranger.post(path, body);
  await send('/api/auth/login', { email: ada.email, password: ada.password });
  await send('/api/auth/login', { email: ada.email, password: 'wrong-but-close' });
  await service.stranger.with({ 'x-api-key': key }).get('/api/workspaces');
  await ada.client.with({ 'idempotency-key': 'my-idempotency-key' }).post('/api/keys', { name: 'Once' });
  // Faults of ours, with the secrets in the statement that fails.
  await service.database.query('alter table api_key add check (name <> $$broken$$)');
  expect((await ada.client.post('/api/keys', { name: 'broken' })).status).toBe(500);
  await service.database.query('alter table session rename to session_away');
  expect((await send('/api/auth/refresh', { refresh_token: ada.refreshToken })).status).toBe(500);
  await service.database.query('alter table session_away rename to session');
  const hashes = await service.database.query<{ hash: string }>('select hash from api_key');
  // A secret of the vault that was changed behind its back, and one whose key is gone.
  const [, wrapping = ''] = readFileSync(path.join(service.dataDir, 'vault.keys'), 'utf8').trim().split(':');
  const database = service.app.get(Database, { strict: false });
  const vault = service.app.get(Vault, { strict: false });
  const owner = { place: 'test', organization_id: null };
  const id = await database.transaction(unit => vault.put(unit, owner, 'kept-for-another-service'));
  const opened = await vault.open({ ...owner, id });
  service.app
    .get(Log, { strict: false })
    .error({ opened, keys: vault.roots.ring, roots: vault.roots }, 'opened');
  await service.database.query(`update secret set key_id = 'gone' where id = $1`, [id]);
  expect((await service.stranger.get('/api/health/ready')).status).toBe(503);
  await service.database.query('delete from secret where id = $1', [id]);
  await untilLogged('request failed', 'POST', 'opened');
  const [root] = await vault.list('root_key');
  secrets.push(wrapping, 'kept-for-another-service', JSON.parse(root?.secret.reveal() ?? '').key);
  for (const secret of [...secrets, 'wrong-but-close', 'my-idempotency-key', ...hashes.map(row => row.hash)])
    expect(logged).not.toContain(secret);
});

it('never logs what people, models or tools say in a run, whatever goes right or wrong', async () => {
  const ada = await service.person();
  const agent = new AgentClient(ada.client);
  const workspace_id = await service.workspace(ada);
  const bash = { tool: { name: 'bash', input: { command: 'echo said-by-a-tool; echo said-aloud >&2' } } };
  const ended = (fields: Json = {}) => agent.run('said-by-a-person', { workspace_id, ...fields });
  model.reply([{ ...bash, text: 'said-by-a-model', reasoning: 'thought-by-a-model' }, { text: 'Done.' }]);
  expect((await ended()).status).toBe('completed');
  model.reply([{ status: 401, body: { error: { message: 'said-by-a-provider key-of-the-provider' } } }]);
  expect((await ended()).status).toBe('error');
  model.reply([{ text: 'said-by-a-model' }]);
  const schema = { type: 'object', properties: { a: { const: 'said-in-a-schema' } } };
  model.otherwise({ text: 'said-by-a-model' });
  expect((await ended({ response_schema: schema })).status).toBe('error');
  // Faults of ours, with what was said in the statement that fails.
  await service.database.query(
    `alter table tool_call add constraint fault check (output not like '%said%') not valid`,
  );
  model.reply([bash]);
  expect((await ended()).error).toMatchObject({ type: 'internal' });
  await service.database.query(`alter table tool_call drop constraint fault`);
  await service.database.query(`alter table message rename to message_away`);
  expect((await ada.client.post('/api/agent/message', { message: 'said-by-a-person' })).status).toBe(500);
  await service.database.query(`alter table message_away rename to message`);
  await untilLogged('run: failed by an internal fault', 'request failed');
  for (const said of ['said-', 'thought-by-a-model', 'key-of-the-provider', 'You are'])
    expect(logged).not.toContain(said);
});

it('never logs a secret of the workspace that scripts and agents say, in whatever form', async () => {
  const ada = await service.person();
  const workspace_id = await service.workspace(ada);
  const secret = 'sk-live "4711"+secret/line';
  await ada.client.put(`/api/workspaces/${workspace_id}/secrets/TOKEN`, { value: secret });
  const says =
    'echo "$TOKEN"; echo "$TOKEN" >&2; printf %s "$TOKEN" | base64 -w 0; printf %s "$TOKEN" | od -An -v -tx1';
  const automations = new Automations(ada.client, workspace_id);
  const statuses: string[] = [];
  for (const [name, end] of Object.entries({
    right: 'true',
    wrong: 'exit 1',
    result: 'echo "$TOKEN" > "$ATELIER_OUTPUT"',
  })) {
    const file = await automations.script(name, `${says}\n${end}`, 'secrets: [TOKEN]\n');
    await automations.deploy(file);
    statuses.push((await automations.run(file, { input: { said: secret } })).status);
  }
  expect(statuses).toEqual(['completed', 'error', 'error']);
  // A person pastes it into a conversation, and a tool says it.
  const agent = new AgentClient(ada.client);
  const quoted = `'${secret}'`;
  model.reply([
    { tool: { name: 'bash', input: { command: says.replaceAll('"$TOKEN"', quoted) } } },
    { text: secret },
  ]);
  expect((await agent.run(secret, { workspace_id })).status).toBe('completed');
  await untilLogged('/api/automation/trigger', '/api/agent/message');
  const bytes = Buffer.from(secret);
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    '4711',
    'sk-live',
    bytes.toString('base64'),
    bytes.toString('base64url'),
    bytes.toString('hex'),
    bytes.toString('hex').replace(/..(?=.)/g, '$& '),
  ];
  expect(forms.filter(form => logged.includes(form))).toEqual([]);
});
