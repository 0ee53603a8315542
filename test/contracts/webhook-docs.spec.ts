/** docs/webhooks.md against what is sent: its examples, and its receiver, which is run. */

import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { approvalExpired, approvalOpened, approvalReminded } from '../../src/agents/approvals/index.js';
import { questionOpened, questionReminded } from '../../src/agents/questions/index.js';
import { runFailed, runFinished } from '../../src/agents/runs/index.js';
import {
  automationCompleted,
  automationDrifted,
  automationFailed,
  automationPaused,
  automationSilent,
  automationSkipped,
} from '../../src/automation/automation/index.js';
import { connectorToolsChanged } from '../../src/connections/connectors/index.js';
import { gitCloned, gitCloneFailed } from '../../src/connections/git-repos/index.js';
import { connectionExpiring, connectionNeedsReauth } from '../../src/connections/integrations/index.js';
import { tokensChanged } from '../../src/connections/stored-credentials/index.js';
import { domainFailed, domainFailing } from '../../src/hosting/gateway/index.js';
import { serverCrashed, serverFailed } from '../../src/hosting/tunnels/index.js';
import { budgetAlerted, budgetStopped } from '../../src/identity/billing/index.js';
import { audited } from '../../src/platform/audit/index.js';
import { Database, newId } from '../../src/platform/database/index.js';
import { type EventKind, Events } from '../../src/platform/events/index.js';
import { formSubmitted, formTroubled } from '../../src/publishing/forms/index.js';
import { shareUploaded } from '../../src/publishing/share/index.js';
import { WebhookReceiver } from '../fakes/webhook-receiver.js';
import { AgentClient } from '../harness/agent.js';
import { Automations } from '../harness/automations.js';
import type { Json } from '../harness/client.js';
import { freePort } from '../harness/free-port.js';
import { type Person, TestService } from '../harness/service.js';
import { settled } from '../harness/settled.js';

const WEBHOOKS = '/api/notifications/webhooks';
const docs = readFileSync('docs/webhooks.md', 'utf8');
const blockAfter = (marker: string): string =>
  new RegExp(`<!-- ${marker} -->\\s+\`\`\`\\w+\\n(.*?)\`\`\``, 's').exec(docs)?.[1] ?? '';

let receiver: WebhookReceiver;
let service: TestService;
let ada: Person;
let port: number;

beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  port = await freePort();
  service = await TestService.start({
    PUBLIC_URL: 'https://atelier.example.com',
    OUTGOING_PRIVATE_HOSTS: `${receiver.host},127.0.0.1:${port}`,
  });
  ada = await service.person('Ada');
});
afterAll(async () => {
  await service.stop();
  await receiver.stop();
});

async function publish<P extends object>(event: EventKind<P>, facts: P): Promise<void> {
  const [database, events] = [Database, Events].map(it =>
    service.app.get(it as never, { strict: false }),
  ) as [Database, Events];
  await database.transaction(unit => events.publish(unit, event, facts));
  await noticed();
}

/** What happens next could make a notification needless that is not made yet. */
const noticed = () => settled(service, 'notifications');

/** Causes every type of notification to Ada. */
async function everything(): Promise<void> {
  const { id, client, organizationId: organization_id } = ada;
  const workspace_id = await service.workspace(ada);
  const { call_id: run_id } = await new AgentClient(client).run('list', {
    workspace_id,
    model: 'atelier/demo',
  });
  const [approval] = await service.database.query<{ id: string }>(
    `insert into approval (id, subject_kind, organization_id, workspace_id, chat_id, run_id, step, position, call_id, tool,
       effect, requested_by, status, expires_at, created_at)
     select gen_random_uuid(), 'run_tool_call', organization_id, workspace_id, chat_id, id, 1, 1, 'call', 'bash',
       'destructive', created_by, 'pending', now() + interval '1 day', now()
     from run where id = $1 returning id`,
    [run_id],
  );
  const approval_id = approval?.id ?? '';
  await publish(approvalOpened, { approval_id });
  await publish(approvalReminded, { approval_id, reminder: 1 });
  await publish(approvalExpired, { approval_id });
  const [question] = await service.database.query<{ id: string }>(
    `insert into question (id, organization_id, workspace_id, chat_id, run_id, step, position, call_id, question, choices,
       multiple, allow_text, asked_of, status, expires_at, created_at)
     select gen_random_uuid(), organization_id, workspace_id, chat_id, id, 1, 1, 'call', 'Which?', '[]',
       false, true, created_by, 'pending', now() + interval '1 day', now() from run where id = $1
     returning id`,
    [run_id],
  );
  const question_id = question?.id ?? '';
  await publish(questionOpened, { question_id });
  await publish(questionReminded, { question_id });
  await publish(runFailed, { run_id });
  await publish(runFinished, { run_id });
  await loop(workspace_id);
  const budget = { organization_id, workspace_id, period: '2026-11', monthly_usd: '10' };
  const alert = { organization: 'Ada', workspace: 'Research', percent: 80, spent_usd: '8' };
  await publish(budgetAlerted, { ...budget, ...alert, created_at: new Date().toISOString() });
  await publish(budgetStopped, budget);
  const upload = { id: newId(), share_id: newId(), path: 'in', created_by: id, files: 1 };
  await publish(shareUploaded, { ...upload, organization_id, workspace_id });
  const form = { id: newId(), form_id: newId(), path: 'a.form', title: 'A', created_by: id };
  const ofForm = { ...form, organization_id, workspace_id };
  await publish(formSubmitted, { ...ofForm, count: 1, output: 'a.csv' });
  await publish(formTroubled, { ...ofForm, id: newId(), problem: 'a' });
  await automations(workspace_id);
  await templates(workspace_id);
  await clones(workspace_id);
  await connector();
  await sites(workspace_id);
  await server(workspace_id);
  await connections();
  const bob = await service.person('Bob');
  const invite = async (by: Person, { email }: Person) =>
    (await by.client.post(`/api/organizations/${by.organizationId}/invitations`, { email })).body;
  await invite(bob, ada);
  const { link } = await invite(ada, bob);
  await noticed();
  expect((await bob.client.post(`/api/invitations/${link.split('/').at(-1)}/accept`)).status).toBe(200);
  const { email, password } = ada;
  await service.stranger.with({ 'user-agent': 'New' }).post('/api/auth/login', { email, password });
  await client.post('/api/keys', { name: 'CI' });
  const entry = { actor_id: id, target_type: 'user', target_id: id, organization_id: null };
  for (const action of ['grant_create', 'account_change_password', 'account_change_email'])
    await publish(audited, { id: newId(), action, ...entry });
}

/** One that is satisfied. */
async function loop(workspace_id: string): Promise<void> {
  const { body } = await ada.client.post('/api/loops', {
    workspace_id,
    prompt: 'list',
    model: 'atelier/demo',
    until: { check: { run: 'bash', code: 'true' } },
  });
  await ada.client.events(`/api/loops/${body.id}/events`);
}

/** One that fails, completes, is paused, silent, changed, and not started. */
async function automations(workspace_id: string): Promise<void> {
  const own = new Automations(ada.client, workspace_id);
  const path = await own.script('a', 'true', 'notify: [failed, paused, completed]');
  const { id: deployment_id } = await own.deploy(path);
  const [failed, completed] = [newId(), newId()];
  for (const run of [failed, completed])
    await service.database.query(
      `insert into automation_run (id, organization_id, workspace_id, deployment_id, version, file_path, delivery_id,
         trigger_kind, kind, state, status, lane, lane_max, actor, queued_at, finished_at)
       select $2, organization_id, workspace_id, id, 1, file_path, gen_random_uuid(), 'schedule', 'script', 'done',
         'completed', id::text, 1, actor, now(), now() from automation_deployment where id = $1`,
      [deployment_id, run],
    );
  await publish(automationFailed, { run_id: failed });
  await publish(automationCompleted, { run_id: completed });
  await service.database.query(
    "update automation_deployment set state = 'paused', drift = 'changed' where id = $1",
    [deployment_id],
  );
  await publish(automationPaused, { deployment_id });
  await publish(automationSilent, { deployment_id });
  await publish(automationDrifted, { deployment_id });
  await publish(automationSkipped, { deployment_id, reason: 'budget' });
}

/** A version that is published, one that is blocked, and one that fails. */
async function templates(workspace_id: string): Promise<void> {
  const write = (path: string, content: string) =>
    ada.client.put(`/api/workspaces/${workspace_id}/files/content`, { path, content });
  const publishing = async () => {
    const { body } = await ada.client.post('/api/templates', { workspace_id });
    await ada.client.events(`/api/operations/${body.operation_id}/events`);
    await noticed();
  };
  await publishing();
  await write('key.txt', `ghp_${'a1B2'.repeat(9)}`);
  await publishing();
  await write('template.yaml', 'render: 3');
  await publishing();
}

/** A clone that is done, and one that failed. */
async function clones(workspace_id: string): Promise<void> {
  const clone = async (state: string): Promise<string> => {
    const [made] = await service.database.query<{ id: string }>(
      `with made as (
         insert into operation (id, kind, state, actor_id, organization_id, subject_id, input, created_at)
         values (gen_random_uuid(), 'git_clone', $1, $2, $3, $4, '{}', now()) returning id)
       insert into git_repo (id, workspace_id, path, url, state, operation_id, created_by, created_at, updated_at)
       select gen_random_uuid(), $4, $1, 'https://example.com/a.git', 'ready', id, $2, now(), now() from made
       returning operation_id as id`,
      [state, ada.id, ada.organizationId, workspace_id],
    );
    return made?.id ?? '';
  };
  await publish(gitCloned, { operation_id: await clone('completed') });
  await publish(gitCloneFailed, { operation_id: await clone('error') });
}

/** One whose tools change, and whose credential is not taken any more. */
async function connector(): Promise<void> {
  const { organizationId: organization_id } = ada;
  const { body } = await ada.client.post('/api/connectors', {
    organization_id,
    owner: 'organization',
    name: 'Remote',
    url: 'https://localhost:8443/',
    auth: 'bearer',
    token: 'sample',
  });
  const changes = { added: [], changed: ['a'], removed: [], instructions_changed: false };
  const facts = { connector_id: body.id, organization_id, check_id: newId() };
  await publish(connectorToolsChanged, { ...facts, ...changes });
  const [lost] = await service.database.query<{ id: string }>(
    "update token_set set state = 'needs_reauth' where kind = 'connector' returning id",
  );
  const state = { state: 'needs_reauth', reason: 'a' } as const;
  await publish(tokensChanged, { kind: 'connector', id: lost?.id ?? '', organization_id, ...state });
}

/** A version that fails, one that is built, and one that goes live. */
async function sites(workspace_id: string): Promise<void> {
  const write = (path: string) =>
    ada.client.put(`/api/workspaces/${workspace_id}/files/content`, { path, content: 'x' });
  const { body: site } = await ada.client.post('/api/sites', {
    workspace_id,
    name: 'Docs',
    slug: 'docs',
    folder: 'docs',
  });
  const build = async (auto_promote: boolean) => {
    const { body } = await ada.client.post(`/api/sites/${site.id}/versions`, { auto_promote });
    await ada.client.get(`/api/sites/${site.id}/versions/${body.id}?wait=60`);
    await noticed();
  };
  await build(false);
  await write('docs/index.html');
  await build(false);
  await build(true);
  await domain(workspace_id, site.id, 'docs.example.com', 'verified');
  await domain(workspace_id, site.id, 'old.example.com', 'failed');
}

/** One that ends soon, and one that a person has to authorize again. */
async function connections(): Promise<void> {
  const made = async (state: string): Promise<string> => {
    const [row] = await service.database.query<{ id: string }>(
      `insert into integration_connection (id, organization_id, user_id, provider, name, state, scopes, settings, created_by, created_at, updated_at)
       values (gen_random_uuid(), $1, $2, 'github', 'GitHub', $3, '{}', '{}', $2, now(), now()) returning id`,
      [ada.organizationId, ada.id, state],
    );
    return row?.id ?? '';
  };
  await publish(connectionNeedsReauth, { connection_id: await made('needs_reauth'), revision: newId() });
  const ends_at = new Date().toISOString();
  await publish(connectionExpiring, { connection_id: await made('active'), ends_at });
}

/** One that ended by itself, and is not started any more. */
async function server(workspace_id: string): Promise<void> {
  const { body } = await ada.client.post('/api/tunnels', {
    workspace_id,
    name: 'App',
    command: 'false',
    start: false,
  });
  await service.database.query("update server set state = 'failed' where id = $1", [body.id]);
  const ended = { server_id: body.id, instance_id: newId() };
  await publish(serverCrashed, ended);
  await publish(serverFailed, ended);
}

/** A host whose record is gone: it is still served, or no more. */
async function domain(
  workspaceId: string,
  siteId: string,
  host: string,
  state: 'verified' | 'failed',
): Promise<void> {
  await service.database.query(
    `insert into host_name (source, name, kind, target_id, workspace_id, state, created_by, failing_since, checked_at)
     values ('custom', $1, 'site', $2, $3, $4, $5, now(), now())`,
    [host, siteId, workspaceId, state, ada.id],
  );
  const event = state === 'failed' ? domainFailed : domainFailing;
  await publish(event, { kind: 'site', target_id: siteId, host });
}

/** Ids and times as they are nowhere else. */
const masked = (text: string): Json =>
  JSON.parse(
    text
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
      .replace(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"TIME"'),
  );

it('has an example of every type, as it is sent', async () => {
  const examples = blockAfter('examples').trim().split('\n').map(masked);
  const { body } = await ada.client.post(WEBHOOKS, { url: receiver.url('/all') });
  await everything();
  await ada.client.post(`${WEBHOOKS}/${body.id}/test`);
  const { items } = (await ada.client.get('/api/notifications/types')).body;
  const types = [...items.map(({ type }: Json) => type), 'webhook.test'];
  expect(examples.map(({ type }) => type)).toEqual(types);
  const sent = (await receiver.at('/all', types.length)).map(received => masked(received.body));
  const rank = ({ type }: Json) => types.indexOf(type);
  expect(sent.sort((a, b) => rank(a) - rank(b))).toEqual(examples);
});

it('has a receiver that takes what we send, once, and nothing else', async () => {
  const { body: webhook } = await ada.client.post(WEBHOOKS, { url: `http://127.0.0.1:${port}/` });
  const folder = mkdtempSync(path.join(tmpdir(), 'atelier-receiver-'));
  const file = path.join(folder, 'receiver.mjs');
  writeFileSync(file, blockAfter('receiver.mjs'));
  const child = spawn(process.execPath, [file], {
    env: { PORT: String(port), WEBHOOK_SECRET: webhook.signing_secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  try {
    expect((await lines.next()).value).toBe('listening');
    await ada.client.post(`${WEBHOOKS}/${webhook.id}/test`);
    expect((await lines.next()).value).toBe(`webhook.test {"webhook_id":"${webhook.id}"}`);
    const attempts = async (): Promise<Json[]> =>
      (await ada.client.get(`${WEBHOOKS}/${webhook.id}/attempts`)).body.items;
    while ((await attempts()).length === 0);
    const [first] = await attempts();
    expect(first).toMatchObject({ succeeded: true, status: 204 });
    await ada.client.post(`${WEBHOOKS}/attempts/${first?.id}/resend`);
    while ((await attempts()).length === 1);
    expect((await attempts())[0]).toMatchObject({ succeeded: true, webhook_id: first?.webhook_id });

    const send = async (changes: { age?: number; secret?: string; forged?: string; body?: string }) => {
      const { age = 0, secret = webhook.signing_secret, forged, body = '{"type":"a","data":1}' } = changes;
      const [id, timestamp] = ['msg_1', String(Math.floor(Date.now() / 1000) - age)];
      const hmac = createHmac('sha256', Buffer.from(secret.slice(6), 'base64'));
      const signature = `v1,${hmac.update(`${id}.${timestamp}.${body}`).digest('base64')}`;
      const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
      const init = { method: 'POST', headers, body: forged ?? body };
      return (await fetch(`http://127.0.0.1:${port}/`, init)).status;
    };
    expect(await send({ age: 301 })).toBe(401);
    expect(await send({ secret: `whsec_${Buffer.alloc(32).toString('base64')}` })).toBe(401);
    expect(await send({ forged: '{"type":"b","data":1}' })).toBe(401);
    expect((await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' })).status).toBe(401);
    expect(await send({})).toBe(204);
    // What was sent again, and what was refused, it has not handled.
    expect((await lines.next()).value).toBe('a 1');
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
    rmSync(folder, { recursive: true });
  }
});
