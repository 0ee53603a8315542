/**
 * Every action, tried out with `dry_run`: nothing is done, and what the action itself would refuse is refused, in the same
 * words.
 */
import { createECDH, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import tar from 'tar-stream';
import { GuardedFetch } from '#libs/guarded-fetch/index.js';
import { ActionCatalog, subjectsOf } from '../../src/platform/actions/index.js';
import { FakeOpenAi } from '../fakes/openai-server.js';
import { FakeSmtpServer } from '../fakes/smtp-server.js';
import type { Json } from '../harness/client.js';
import { Forge } from '../harness/forge.js';
import { DEFINITION, type Ids, idsOn, makeThings } from '../harness/routes.js';
import { sampleInput } from '../harness/sample-input.js';
import { awayFromTheHour } from '../harness/schedules.js';
import { type Person, TestService } from '../harness/service.js';

const INPUTS: Ids = {
  path: 'notes/plan.md',
  from: 'notes/plan.md',
  to: 'notes/copy.md',
  old_text: 'teh',
  new_text: 'the',
  name: 'Another',
  title: 'Another',
  email: 'somebody@example.com',
  message: 'list',
  url: 'https://example.com/',
  since: new Date().toISOString(),
};
/** They take away what the others are about. */
const LAST = ['workspace_delete', 'organization_leave', 'organization_delete'];
const EFFECTS = ['read', 'write', 'expose', 'destructive'];

/** What would leave the machine. */
class CountedFetch extends GuardedFetch {
  calls = 0;

  override readonly fetch = async (): Promise<Response> => {
    this.calls++;
    throw new Error('Nothing leaves');
  };
}

const outgoing = new CountedFetch();
let service: TestService;
let smtp: FakeSmtpServer;
let forge: Forge;
let model: FakeOpenAi;
let owner: Person;
let other: Person;
let things: Ids;
/** What single actions are about instead. */
let ownInputs: Record<string, Json>;
let actions: Json[];

beforeAll(async () => {
  // What the service itself does each hour would look like something that was done.
  await awayFromTheHour();
  smtp = await FakeSmtpServer.start();
  model = await FakeOpenAi.start();
  forge = await Forge.start();
  const environment = {
    OUTGOING_PRIVATE_HOSTS: forge.host,
    SMTP_URL: smtp.url,
    MAIL_FROM: 'atelier@example.com',
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'fake',
  };
  service = await TestService.start(environment, { outgoing });
  // So would what it does a minute after its start, which a slow machine comes to see.
  await service.database.query("update chore set due_at = now() + interval '14 minutes'");
  owner = await service.person('Owner');
  other = await service.person('Other');
  things = { ...(await makeThings(service, owner, other)), ...INPUTS };
  await owner.client.post('/api/integrations/providers', {
    organization_id: things.organization_id,
    definition: { ...DEFINITION, id: 'unused' },
  });
  // What it clones from is no host of the guarded fetch, which lets nothing out.
  const definition = { ...DEFINITION, git: { ...DEFINITION.git, hosts: ['acme.example.com', forge.host] } };
  await service.database.query(`update integration_provider set definition = $1 where slug = 'acme'`, [
    JSON.stringify(definition),
  ]);
  const input = { workspace_id: things.workspace_id, url: forge.add('one.git', 1) };
  const cloned = await forge.clone(owner, input);
  const running = await runningCommand();
  const [, invited] = [await invitationToFile(), await invitationToFile()];
  await owner.client.post(`/api/file-invitations/${invited.token}/accept`);
  await service.join(owner, { organization: other.organizationId, role: 'member' });
  const keys = { p256dh: createECDH('prime256v1').generateKeys('base64url'), auth: 'BTBZMqHH6r4Tts7J_aSIgg' };
  const subscription = { endpoint: 'https://push.example.com/one', keys };
  await owner.client.post('/api/notifications/push', subscription);
  const [told] = await service.database.query<{ id: string }>(
    `insert into notification (id, user_id, number, type, category, severity, title, body, data, chain, dedupe_key, in_app, created_at)
     values (gen_random_uuid(), $1, 1000, 'approval.expired', 'approval', 'info', 'Told', '', '{}', '{}', 'told', true, now())
     returning id`,
    [owner.id],
  );
  const notification = { id: told?.id };
  await owner.client.put(`/api/workspaces/${things.workspace_id}/secrets/SAMPLE`, { value: 'sample' });
  ownInputs = {
    agent_send: { model: 'local/fake' },
    connector_authorize: { token: 'another' },
    connector_create: { url: 'https://localhost:8443/', auth: 'none' },
    file_extract: { path: await archive(), to: 'unpacked' },
    file_invitation_accept: { token: (await invitationToFile()).token },
    file_batch_edit: { path: 'notes/plan.md', edits: [{ old_text: 'teh', new_text: 'the' }] },
    file_patch: { patch: '*** Begin Patch\n*** Add File: new/folder/file.md\n+text\n*** End Patch' },
    file_write: { path: 'new/folder/file.md' },
    folder_create: { path: 'new/folder' },
    form_check: { path: 'forms/feedback.form' },
    form_preview: { path: 'forms/feedback.form' },
    form_share: { path: await otherForm() },
    form_update: { path: 'forms/feedback.form' },
    invited_file_list: { id: invited.id },
    loop_create: { model: 'atelier/demo', until: { check: { run: 'bash', code: 'true' } } },
    model_settings_update: { enabled: ['atelier/demo', 'local/fake'] },
    notification_archive: notification,
    notification_read: notification,
    notification_unread: notification,
    organization_leave: { organization_id: other.organizationId },
    question_answer: { choices: ['PostgreSQL'] },
    push_subscription_create: { ...subscription, endpoint: 'https://push.example.com/two' },
    ...(await siteInputs()),
    ...(await serverInputs()),
    git_repo_pull: { id: cloned },
    git_repo_push: { id: cloned },
    git_repo_checkout: { branch: 'other', create: true },
    git_repo_create: { url: 'https://acme.example.com/acme/other.git', path: 'other' },
    integration_provider_create: { definition: { ...DEFINITION, id: 'other' } },
    integration_provider_delete: { provider: 'unused' },
    workspace_secret_delete: { name: 'SAMPLE' },
    workspace_secret_set: { name: 'OTHER', value: 'other' },
    integration_provider_update: { definition },
    integration_provider_get: { organization_id: things.organization_id },
    integration_request: { id: things.connection_id, path: '/items' },
    template_clone: { id: things.template_id, version: 1 },
    template_get: { id: things.template_id },
    template_file_list: { id: things.template_id, number: 1 },
    server_create: { slug: 'another', command: 'true' },
    server_restart: { id: await runningServer() },
    server_update: { slug: 'another' },
    push_subscription_delete: { endpoint: subscription.endpoint },
    ...running,
  };
  await settled();
  const catalog = service.app.get(ActionCatalog, { strict: false }).list();
  const rank = ({ name, effect }: Json) => EFFECTS.indexOf(effect) + 10 * (LAST.indexOf(name) + 1);
  actions = catalog
    .map(action => ({ ...action.describe(), on: Object.fromEntries(subjectsOf(action.declaration)) }))
    .sort((a, b) => rank(a) - rank(b));
});
afterAll(async () => {
  await service.stop();
  await model.stop();
  await smtp.stop();
  forge.stop();
});

/** One that is not shared yet. */
async function otherForm(): Promise<string> {
  const path = 'notes/other.form';
  const content = 'title: Other\nfields:\n  - { id: thing, label: Thing, type: text }\n';
  await owner.client.put(`/api/workspaces/${things.workspace_id}/files/content`, { path, content });
  return path;
}

/** A version that waits, one that is not live, a host and a token: what actions of sites are about. */
async function siteInputs(): Promise<Record<string, Json>> {
  const { site_id } = things;
  const add = async (state: string, number: number): Promise<string> => {
    const version = randomUUID();
    await service.database.query(
      `insert into site_version (id, site_id, number, state, auto_promote, created_by, created_at)
       values ($1, $2, $3, $4, false, $5, now())`,
      [version, site_id, number, state, owner.id],
    );
    return version;
  };
  const [waiting, old] = [await add('queued', 1000), await add('failed', 1001)];
  const host = 'docs.example.com';
  await owner.client.post(`/api/sites/${site_id}/domains`, { host });
  const execToken = randomUUID();
  await service.database.query(
    `insert into exec_token (id, hash, actor, workspace_id, caller_kind, caller_id, actions, created_at, expires_at)
     values ($1, 'sample', '{}', $2, 'site', $3, '{}', now(), now() + interval '1 hour')`,
    [execToken, things.workspace_id, site_id],
  );
  return {
    site_create: { slug: 'another' },
    site_domain_create: { host: 'new.example.com' },
    site_domain_delete: { host },
    site_domain_verify: { host },
    site_exec_token_revoke: { id: execToken },
    site_token_revoke: { id: things.site_token_id },
    site_update: { slug: 'another' },
    site_version_cancel: { version_id: waiting },
    site_version_delete: { version_id: old },
  };
}

/** A host and a token: what actions of servers are about. */
async function serverInputs(): Promise<Record<string, Json>> {
  const { server_id } = things;
  const host = 'app.example.com';
  await owner.client.post(`/api/tunnels/${server_id}/domains`, { host });
  const { id } = (await owner.client.post(`/api/tunnel-access/${server_id}/tokens`, { name: 'CI' })).body;
  const execToken = randomUUID();
  await service.database.query(
    `insert into exec_token (id, hash, actor, workspace_id, caller_kind, caller_id, actions, created_at, expires_at)
     values ($1, 'server', '{}', $2, 'server', $3, '{}', now(), now() + interval '1 hour')`,
    [execToken, things.workspace_id, server_id],
  );
  return {
    server_domain_create: { host: 'new-app.example.com' },
    server_domain_delete: { host },
    server_domain_verify: { host },
    server_exec_token_revoke: { id: execToken },
    server_token_revoke: { id },
  };
}

/** A server that is to run, and that no process has taken. */
async function runningServer(): Promise<string> {
  const { workspace_id } = things;
  const input = { workspace_id, name: 'Crashed', slug: 'crashed', command: 'false', start: false };
  const { id } = (await owner.client.post('/api/tunnels', input)).body;
  await service.database.query(
    `update server set wanted = 'running', state = 'crashed', next_attempt_at = now() + interval '1 day' where id = $1`,
    [id],
  );
  return id;
}

/** A command that goes on in a sandbox, the run that waits for it, and messages that wait for that: inputs of those about them. */
async function runningCommand(): Promise<Record<string, Json>> {
  const workspace_id = await service.workspace(owner);
  const send = async (message: string, more: Json) =>
    (await owner.client.post('/api/agent/message', { message, model: 'atelier/demo', ...more })).body;
  const { call_id, chat_id } = await send('run echo started; sleep 600', { workspace_id });
  await owner.client.events(`/api/agent/runs/${call_id}/events`, {
    until: ({ event }) => event === 'tool.output',
  });
  const { message_id } = await send('later', { chat_id });
  const { body } = await owner.client.get(`/api/workspaces/${workspace_id}/sandboxes`);
  return {
    queue_steer: { message_id },
    queue_update: { message_id, message: 'other words' },
    queue_withdraw: { message_id },
    run_stop: { call_id },
    sandbox_stop: { workspace_id, sandbox_id: body.items[0].id },
  };
}

/** To a file of somebody else's. */
async function invitationToFile(): Promise<Json> {
  const workspace_id = await service.workspace(other);
  const file = { path: 'plan.md', content: 'plan' };
  await other.client.put(`/api/workspaces/${workspace_id}/files/content`, file);
  const invitation = { workspace_id, path: file.path, email: owner.email };
  return (await other.client.post('/api/file-invitations', invitation)).body;
}

/**
 * Resolves when all that was begun is over: jobs are done, with those that they enqueued (in the transaction of their end or
 * before), people are told, mails are sent, and the history has what was written.
 */
async function settled(): Promise<void> {
  const query = async (text: string) => service.database.query<{ id: string }>(text);
  while ((await query('select id from accepted_job where failed_at is null')).length > 0);
  expect(await query("select id from mail_outbox where state = 'waiting'")).toEqual([]);
  expect(await query("select id from webhook_message where state = 'pending'")).toEqual([]);
  for (const { id } of await query('select id from workspace'))
    for (const { client } of [owner, other]) await client.get(`/api/workspaces/${id}/files/history`);
}

/** The path of an archive in the workspace. */
async function archive(): Promise<string> {
  const pack = tar.pack();
  pack.entry({ name: 'inside.txt' }, 'inside');
  pack.finalize();
  const content = (await buffer(pack)).toString('base64');
  const file = { path: 'pack.tar', content, encoding: 'base64' };
  await owner.client.put(`/api/workspaces/${things.workspace_id}/files/content`, file);
  return file.path;
}

const inputOf = (action: Json): Json => ({
  ...sampleInput(action, idsOn(action.on, things)),
  ...ownInputs[action.name],
});

async function answerTo(action: Json, input: Json, dry_run: boolean): Promise<[number, string | undefined]> {
  const { status, body } = await owner.client.post(`/api/actions/${action.name}/run`, { input, dry_run });
  return [status, body.detail];
}

/** The inputs of an action, each with one id of something that is not there. */
function inputsWithUnknownIds(action: Json): Json[] {
  const input = inputOf(action);
  const fields = Object.entries<Json>(action.input_schema.properties).filter(
    ([, { format }]) => format === 'uuid',
  );
  return fields.map(([field]) => ({ ...input, [field]: randomUUID() }));
}

/** What there is but the record of what was asked: all rows, all files, and what has left. */
async function world(): Promise<Json> {
  const tables = await service.database.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  const ofItsOwn = ['action_run', 'chore', 'process', 'rate_count'];
  const measured = ['memory_bytes', 'cpu_ms', 'processes'];
  const rows: Json = {};
  for (const { name } of tables.filter(each => !ofItsOwn.includes(each.name))) {
    const found = await service.database.query<{ row: string }>(
      `select (to_jsonb(t) - $1::text[])::text as row from "${name}" t order by 1`,
      [measured],
    );
    rows[name] = found.map(({ row }) => row);
  }
  const left = { mails: smtp.mails.length, requests: outgoing.calls, modelCalls: model.requests.length };
  return { rows, files: filesBelow(service.dataDir), left };
}

function filesBelow(root: string): Record<string, string> {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).sort();
  const contentOf = (name: string) =>
    statSync(path.join(root, name)).isFile() ? readFileSync(path.join(root, name), 'utf8') : 'folder';
  return Object.fromEntries(names.map(name => [name, contentOf(name)]));
}

it('does nothing, for what can be done and for what cannot', async () => {
  const before = await world();
  const statuses: number[] = [];
  const refused: Record<string, number> = {};
  for (const action of actions)
    for (const [at, input] of [inputOf(action), ...inputsWithUnknownIds(action)].entries()) {
      const [status] = await answerTo(action, input, true);
      statuses.push(status);
      if (at === 0 && status !== 200) refused[action.name] = status;
    }
  expect(await world()).toEqual(before);
  expect(refused).toEqual({});
  expect(statuses.filter(status => status === 200).length).toBeGreaterThan(80);
  expect(statuses.filter(status => status === 404).length).toBeGreaterThan(80);
  expect(statuses.filter(status => status >= 500)).toEqual([]);
});

it('refuses what does not fit the files that are there as the action does', async () => {
  const plan = 'notes/plan.md';
  const calls: [name: string, status: number, input: Json][] = [
    ['file_read', 404, { path: 'absent.md' }],
    ['file_move', 404, { from: 'absent.md', to: 'there.md' }],
    ['file_move', 409, { from: plan, to: 'pack.tar' }],
    ['file_move', 422, { from: 'notes', to: 'notes/below' }],
    ['file_copy', 409, { from: plan, to: 'pack.tar' }],
    ['file_copy', 422, { from: 'notes', to: 'notes/below' }],
    ['file_delete', 404, { path: 'absent.md' }],
    ['file_delete', 409, { path: 'notes' }],
    ['file_edit', 409, { path: plan, old_text: 'absent', new_text: 'there' }],
    ['file_batch_edit', 409, { path: plan, edits: [{ old_text: 'absent', new_text: 'there' }] }],
    ['file_patch', 422, { patch: 'no patch' }],
    ['file_patch', 404, { patch: '*** Begin Patch\n*** Delete File: absent.md\n*** End Patch' }],
    ['file_write', 409, { path: 'notes', content: 'text' }],
    ['file_write', 409, { path: `${plan}/below`, content: 'text' }],
    ['file_extract', 422, { path: plan, to: 'unpacked' }],
    ['folder_create', 409, { path: plan }],
    ['share_create', 404, { path: 'absent.md' }],
  ];
  for (const [name, status, fields] of calls) {
    const input = { workspace_id: things.workspace_id, ...fields };
    const dry = await answerTo({ name }, input, true);
    expect([name, fields, ...dry]).toEqual([name, fields, ...(await answerTo({ name }, input, false))]);
    expect([name, fields, dry[0]]).toEqual([name, fields, status]);
  }
});

it('refuses a message to a chat that is busy as the action does', async () => {
  const chat_id = (await owner.client.get(`/api/agent/runs/${ownInputs.run_stop?.call_id}`)).body.chat_id;
  const input = { chat_id, message: 'list', delivery: 'reject' };
  const dry = await answerTo({ name: 'agent_send' }, input, true);
  expect(dry).toEqual(await answerTo({ name: 'agent_send' }, input, false));
  expect(dry[0]).toBe(409);
});

it('refuses a run over the budget as the action does', async () => {
  const person = await service.person('Spender');
  const workspace_id = await service.workspace(person);
  const budget = { organization_id: person.organizationId, monthly_usd: 0 };
  const set = await person.client.post('/api/actions/organization_budget_set/run', { input: budget });
  expect(set.status).toBe(200);
  const input = { workspace_id, message: 'list' };
  const send = (dry_run: boolean) => person.client.post('/api/actions/agent_send/run', { input, dry_run });
  const [dry, real] = [await send(true), await send(false)];
  expect([dry.status, dry.body.detail]).toEqual([402, real.body.detail]);
  expect(real.status).toBe(402);
});

it('refuses what is not there as the action does', async () => {
  for (const action of actions)
    for (const input of inputsWithUnknownIds(action)) {
      const dry = await answerTo(action, input, true);
      const real = await answerTo(action, input, false);
      expect([action.name, input, ...dry]).toEqual([action.name, input, ...real]);
    }
});

it('refuses what cannot be done now as the action does', async () => {
  for (const action of actions) {
    const input = inputOf(action);
    for (const _ of ['once', 'again']) {
      const dry = await answerTo(action, input, true);
      const real = await answerTo(action, input, false);
      expect([action.name, ...dry]).toEqual([action.name, ...real]);
    }
  }
});
