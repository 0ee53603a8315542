import { createECDH, randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { Actor } from '../../src/platform/access/index.js';
import { ExecTokens } from '../../src/platform/actions/index.js';
import { Database } from '../../src/platform/database/index.js';
import { IdempotencyLedger, type Standing } from '../../src/platform/idempotency/index.js';
import { FakeOAuthProvider } from '../fakes/oauth-provider.js';
import { FakeSmtpServer } from '../fakes/smtp-server.js';
import { apiDocument } from '../harness/api-document.js';
import { type Answer, Client, type Json } from '../harness/client.js';
import { describeProvider } from '../harness/connections.js';
import { Forge } from '../harness/forge.js';
import { type Person, TestService } from '../harness/service.js';

let service: TestService;
let smtp: FakeSmtpServer;
let provider: FakeOAuthProvider;
let ledger: IdempotencyLedger;
let ada: Person;
let bob: Person;
let workspace: string;
let forge: Forge;

beforeAll(async () => {
  // Before the service connects: it keeps the method that each connection has at that time.
  pg.Client.prototype.query = losing as typeof query;
  smtp = await FakeSmtpServer.start();
  provider = await FakeOAuthProvider.start();
  forge = await Forge.start();
  forge.add('one.git', 1);
  service = await TestService.start({
    SMTP_URL: smtp.url,
    MAIL_FROM: 'atelier@example.com',
    OUTGOING_PRIVATE_HOSTS: `${provider.host},${forge.host}`,
  });
  ledger = service.app.get(IdempotencyLedger, { strict: false });
  ada = await service.person('Ada');
  bob = await service.person('Bob');
  workspace = await service.workspace(ada);
  await forge.connect(ada, workspace);
});
afterAll(async () => {
  await service.stop();
  await smtp.stop();
  await provider.stop();
  forge.stop();
  pg.Client.prototype.query = query;
});

const query = pg.Client.prototype.query;
let losesCommits = false;
/** Connections whose transaction has kept an answer. */
const committing = new WeakSet<pg.Client>();

/** While commits are lost, what commits an answer is committed, and learns that its connection is gone. */
async function losing(this: pg.Client, ...given: unknown[]): Promise<unknown> {
  const result = await Reflect.apply(query, this, given);
  const [statement] = given;
  const text = (typeof statement === 'string' ? statement : (statement as { text?: string })?.text) ?? '';
  const keeps = losesCommits && /update idempotent_request set answer/.test(text);
  const isWhole = keeps && /insert into chat/.test(text);
  if (/^(begin|rollback)/i.test(text)) committing.delete(this);
  if (keeps && !isWhole) committing.add(this);
  if (isWhole || (/^commit/i.test(text) && committing.delete(this)))
    throw new Error('Connection terminated unexpectedly');
  return result;
}

interface Call {
  path: string;
  body?: Json;
  client?: Client;
}

/** To a service that a person has to authorize. */
async function connectionInput(): Promise<Json> {
  const id = randomUUID();
  await describeProvider(ada, provider, id);
  return { provider: id, organization_id: ada.organizationId };
}

/** By a key, and granted to the workspace. */
async function keyedConnection(): Promise<string> {
  const fields = {
    base_url: `${provider.url}/api`,
    header: 'X-API-Key',
    prefix: '',
    api_key: 'key-that-is-good',
  };
  const place = { provider: 'api_key', organization_id: ada.organizationId };
  const { connection } = await made('/api/integrations', { ...place, fields });
  await ada.client.put(`/api/integrations/${connection.id}/workspaces`, {
    grants: [{ workspace_id: workspace }],
  });
  return connection.id;
}

/** One that is cloned, with a file that is not committed. */
async function repository(): Promise<string> {
  const path = randomUUID();
  const id = await forge.clone(ada, { workspace_id: workspace, url: `https://${forge.host}/one.git`, path });
  await ada.client.put(files('content'), { path: `${path}/new.md`, content: 'new' });
  return `/api/git-repos/${id}`;
}

const siteInput = () => ({
  workspace_id: workspace,
  name: 'Site',
  slug: randomUUID().replaceAll('-', ''),
  folder: 'site',
});
const site = async (): Promise<string> => (await made('/api/sites', siteInput())).id;

const serverInput = () => ({
  workspace_id: workspace,
  name: 'Server',
  slug: randomUUID().replaceAll('-', ''),
  command: 'false',
  start: false,
});
/** One that is not started, or that crashed and is tried again tomorrow. */
const server = async (state: 'stopped' | 'crashed'): Promise<string> => {
  const { id } = await made('/api/tunnels', serverInput());
  if (state === 'crashed')
    await service.database.query(
      `update server set wanted = 'running', state = 'crashed', next_attempt_at = now() + interval '1 day' where id = $1`,
      [id],
    );
  return id;
};

/** A form that is not shared yet, by its path. */
async function formFile(): Promise<string> {
  const path = `${randomUUID()}.form`;
  const content = 'title: T\nfields:\n  - { id: a, label: A, type: text }\n';
  await ada.client.put(`/api/workspaces/${workspace}/files/content`, { path, content });
  return path;
}

const form = async (): Promise<string> =>
  (await made(`/api/workspaces/${workspace}/forms/share`, { path: await formFile() })).id;

async function spam(): Promise<[form: string, submission: string]> {
  const [id, submission] = [await form(), randomUUID()];
  await service.database.query(
    `insert into form_submission (id, form_id, submission_key, data, state, address_hash)
     values ($1, $2, 'sample', '{}', 'spam', 'sample')`,
    [submission, id],
  );
  return [id, submission];
}

/** A version that nothing builds, in some state. */
async function siteVersion(state: string): Promise<[site: string, version: string]> {
  const id = await site();
  const version = randomUUID();
  await service.database.query(
    `insert into site_version (id, site_id, number, state, auto_promote, created_by, created_at)
     values ($1, $2, 1, $3, false, $4, now())`,
    [version, id, state, ada.id],
  );
  return [id, version];
}

async function builtin(): Promise<string> {
  const { body } = await ada.client.get('/api/templates?q=data-analysis');
  return body.items[0].id;
}

const loopInput = () => ({
  workspace_id: workspace,
  prompt: 'list',
  until: { check: { run: 'bash', code: 'false' } },
  interval_seconds: 86_400,
});

/** A new automation, which is deployed. */
async function automation(
  isDeployed = true,
): Promise<{ workspace_id: string; file_path: string; id: string }> {
  const place = { workspace_id: workspace, file_path: `automations/${randomUUID()}.md` };
  const content = '---\nname: Once\nrun: bash\n---\n```bash\ntrue\n```\n';
  await ada.client.put(`/api/workspaces/${workspace}/files/content`, { path: place.file_path, content });
  return { ...place, id: isDeployed ? (await made('/api/automation/deployments', place)).id : '' };
}

async function automationCall(work: string, body: Json = {}): Promise<Call> {
  return { path: `/api/automation/deployments/${(await automation()).id}/${work}`, body };
}

/** One that a webhook starts. */
async function hookedAutomation(): Promise<Json> {
  const file_path = `automations/${randomUUID()}.md`;
  const content = '---\nrun: bash\non:\n  - webhook: {}\n---\n```bash\ntrue\n```\n';
  await ada.client.put(`/api/workspaces/${workspace}/files/content`, { path: file_path, content });
  return made('/api/automation/deployments', { workspace_id: workspace, file_path });
}

async function automationRun(): Promise<string> {
  const { id: _, ...place } = await automation();
  return (await made('/api/automation/trigger', { ...place, wait: 60 })).run_id;
}

async function placed(path: string, isDeployed: boolean): Promise<Call> {
  const { id: _, ...body } = await automation(isDeployed);
  return { path, body };
}

/** A call of each route that succeeds, once. */
const CALLS: Record<string, () => Promise<Call>> = {
  '/api/actions-exec/{name}': async () => ({
    path: '/api/actions-exec/folder_create',
    body: { input: { path: randomUUID() } },
    client: await programOf(ada),
  }),
  '/api/actions/{name}/run': async () => ({
    path: '/api/actions/workspace_create/run',
    body: { input: { name: 'By an action' } },
  }),
  '/api/agent': async () => ({ path: '/api/agent', body: { workspace_id: workspace, title: 'Chat' } }),
  '/api/agent/approvals/{approvalId}': async () => ({
    path: `/api/agent/approvals/${await approval()}`,
    body: { decision: 'allow' },
  }),
  '/api/agent/message': async () => ({ path: '/api/agent/message', body: message('list') }),
  '/api/agent/questions/{questionId}/answers': async () => ({
    path: `/api/agent/questions/${await question()}/answers`,
    body: { choices: ['PostgreSQL'] },
  }),
  '/api/agent/queue/{messageId}/steer': async () => {
    const { chat_id } = await sent(message('run sleep 300'));
    const { message_id } = await sent({ ...message('list'), chat_id });
    return { path: `/api/agent/queue/${message_id}/steer` };
  },
  '/api/agent/runs/{callId}/rollback': async () => {
    const { call_id } = await sent(message('run echo made > made.txt'));
    await ada.client.get(`/api/agent/status/${call_id}?wait=30`);
    return { path: `/api/agent/runs/${call_id}/rollback`, body: {} };
  },
  '/api/agent/stop': async () => {
    const { call_id } = await sent(message('run sleep 300'));
    return { path: '/api/agent/stop', body: { call_id } };
  },
  '/api/auth/email': async () => ({
    path: '/api/auth/email',
    body: { email: `${randomUUID()}@example.com`, password: ada.password },
  }),
  '/api/auth/email/verification': async () => ({ path: '/api/auth/email/verification' }),
  '/api/auth/password': async () => ({
    path: '/api/auth/password',
    body: { current_password: bob.password, new_password: 'another horse battery' },
    client: bob.client,
  }),
  '/api/file-invitations': async () => ({ path: '/api/file-invitations', body: await invitation() }),
  '/api/file-invitations/{token}/accept': async () => {
    const { token } = await made('/api/file-invitations', { ...(await invitation()), email: bob.email });
    return { path: `/api/file-invitations/${token}/accept`, client: bob.client };
  },
  '/api/git-repos': async () => ({
    path: '/api/git-repos',
    body: { workspace_id: workspace, url: `https://${forge.host}/one.git`, path: randomUUID() },
  }),
  '/api/git-repos/{id}/checkout': async () => ({
    path: `${await repository()}/checkout`,
    body: { branch: 'other', create: true },
  }),
  '/api/git-repos/{id}/commit': async () => ({
    path: `${await repository()}/commit`,
    body: { message: 'All', all: true },
  }),
  '/api/git-repos/{id}/pull': async () => ({ path: `${await repository()}/pull`, body: {} }),
  '/api/git-repos/{id}/push': async () => ({ path: `${await repository()}/push`, body: {} }),
  '/api/integrations': async () => ({ path: '/api/integrations', body: await connectionInput() }),
  '/api/integrations/providers': async () => ({
    path: '/api/integrations/providers',
    body: { organization_id: ada.organizationId, definition: provider.definition(randomUUID()) },
  }),
  '/api/integrations/{id}/authorize': async () => ({
    path: `/api/integrations/${(await made('/api/integrations', await connectionInput())).connection.id}/authorize`,
    body: {},
  }),
  '/api/integrations/{id}/request': async () => ({
    path: `/api/integrations/${await keyedConnection()}/request`,
    body: { workspace_id: workspace, method: 'POST', path: '/items' },
  }),
  '/api/integrations/{id}/test': async () => ({
    path: `/api/integrations/${await keyedConnection()}/test`,
  }),
  '/api/keys': async () => ({ path: '/api/keys', body: { name: 'Key' } }),
  '/api/keys/{id}/rotate': async () => {
    const { id } = await made('/api/keys', { name: 'Rotated' });
    return { path: `/api/keys/${id}/rotate`, body: {} };
  },
  '/api/notifications/push': async () => ({
    path: '/api/notifications/push',
    body: {
      endpoint: `https://push.example.com/${randomUUID()}`,
      keys: { p256dh: createECDH('prime256v1').generateKeys('base64url'), auth: 'BTBZMqHH6r4Tts7J_aSIgg' },
    },
  }),
  '/api/connectors': async () => ({ path: '/api/connectors', body: remote() }),
  '/api/connectors/{id}/authorize': async () => ({
    path: `${await connector()}/authorize`,
    body: { token: 'another' },
  }),
  '/api/connectors/{id}/test': async () => ({ path: `${await connector()}/test` }),
  '/api/notifications/read-all': async () => ({ path: '/api/notifications/read-all', body: {} }),
  '/api/notifications/webhooks': async () => ({
    path: '/api/notifications/webhooks',
    body: { url: 'https://localhost:8443/' },
  }),
  '/api/notifications/webhooks/attempts/{id}/resend': async () => ({
    path: `/api/notifications/webhooks/attempts/${await webhookAttempt()}/resend`,
  }),
  '/api/notifications/webhooks/{id}/enable': async () => ({ path: `${await webhook()}/enable` }),
  '/api/notifications/webhooks/{id}/recover': async () => ({
    path: `${await webhook()}/recover`,
    body: { since: new Date().toISOString() },
  }),
  '/api/notifications/webhooks/{id}/rotate': async () => ({ path: `${await webhook()}/rotate` }),
  '/api/notifications/webhooks/{id}/test': async () => ({ path: `${await webhook()}/test` }),
  '/api/notifications/{id}/archive': async () => ({ path: `${await notification()}/archive` }),
  '/api/notifications/{id}/read': async () => ({ path: `${await notification()}/read` }),
  '/api/notifications/{id}/unread': async () => ({ path: `${await notification()}/unread` }),
  '/api/operations/{id}/cancel': async () => {
    const { operation_id } = await made(`/api/workspaces/${workspace}/duplicate`, { name: 'Cancelled' });
    return { path: `/api/operations/${operation_id}/cancel` };
  },
  '/api/organizations': async () => ({ path: '/api/organizations', body: { name: 'Organization' } }),
  '/api/organizations/{orgId}/invitations': async () => ({
    path: `/api/organizations/${ada.organizationId}/invitations`,
    body: { email: `${randomUUID()}@example.com` },
  }),
  '/api/organizations/{orgId}/invitations/{id}/resend': async () => {
    const path = `/api/organizations/${ada.organizationId}/invitations`;
    const { id } = await made(path, { email: `${randomUUID()}@example.com` });
    return { path: `${path}/${id}/resend` };
  },
  '/api/organizations/{orgId}/leave': async () => ({
    path: `/api/organizations/${await organizationWithBob('owner')}/leave`,
  }),
  '/api/organizations/{orgId}/transfer': async () => ({
    path: `/api/organizations/${await organizationWithBob('member')}/transfer`,
    body: { user_id: bob.id },
  }),
  '/api/forms/{id}/rebuild': async () => ({ path: `/api/forms/${await form()}/rebuild` }),
  '/api/forms/{id}/submissions/{submissionId}/accept': async () => {
    const [id, submission] = await spam();
    return { path: `/api/forms/${id}/submissions/${submission}/accept` };
  },
  '/api/workspaces/{workspaceId}/forms/check': async () => ({
    path: `/api/workspaces/${workspace}/forms/check`,
    body: { path: await formFile() },
  }),
  '/api/workspaces/{workspaceId}/forms/preview': async () => ({
    path: `/api/workspaces/${workspace}/forms/preview`,
    body: { path: await formFile() },
  }),
  '/api/workspaces/{workspaceId}/forms/share': async () => ({
    path: `/api/workspaces/${workspace}/forms/share`,
    body: { path: await formFile() },
  }),
  '/api/service-accounts': async () => ({
    path: '/api/service-accounts',
    body: { organization_id: ada.organizationId, name: 'Bot' },
  }),
  '/api/service-accounts/{id}/adopt': async () => ({ path: `/api/service-accounts/${await bot()}/adopt` }),
  '/api/service-accounts/{id}/keys': async () => ({
    path: `/api/service-accounts/${await bot()}/keys`,
    body: { name: 'CI' },
  }),
  '/api/service-accounts/{id}/keys/{keyId}/rotate': async () => {
    const path = `/api/service-accounts/${await bot()}/keys`;
    const { id } = await made(path, { name: 'CI' });
    return { path: `${path}/${id}/rotate`, body: {} };
  },
  '/api/share': async () => ({
    path: '/api/share',
    body: { workspace_id: workspace, path: await written() },
  }),
  '/api/site-access/{siteId}/tokens': async () => ({
    path: `/api/site-access/${await site()}/tokens`,
    body: { name: 'CI' },
  }),
  '/api/sites': async () => ({ path: '/api/sites', body: siteInput() }),
  '/api/sites/{id}/auto-promote/resume': async () => ({
    path: `/api/sites/${await site()}/auto-promote/resume`,
  }),
  '/api/sites/{id}/lock': async () => ({ path: `/api/sites/${await site()}/lock`, body: {} }),
  '/api/sites/{id}/unlock': async () => ({ path: `/api/sites/${await site()}/unlock` }),
  '/api/sites/{id}/versions': async () => ({ path: `/api/sites/${await site()}/versions`, body: {} }),
  '/api/sites/{id}/versions/{versionId}/cancel': async () => {
    const [siteId, version] = await siteVersion('queued');
    return { path: `/api/sites/${siteId}/versions/${version}/cancel` };
  },
  '/api/sites/{id}/versions/{versionId}/promote': async () => {
    const [siteId, version] = await siteVersion('built');
    return { path: `/api/sites/${siteId}/versions/${version}/promote`, body: {} };
  },
  '/api/sites/{siteId}/domains': async () => ({
    path: `/api/sites/${await site()}/domains`,
    body: { host: `${randomUUID()}.example.com` },
  }),
  '/api/sites/{siteId}/domains/{host}/verify': async () => {
    const id = await site();
    const { host } = await made(`/api/sites/${id}/domains`, { host: `${randomUUID()}.example.com` });
    return { path: `/api/sites/${id}/domains/${host}/verify` };
  },
  '/api/automation/deployments': () => placed('/api/automation/deployments', false),
  '/api/automation/deployments/stop': () => placed('/api/automation/deployments/stop', true),
  '/api/automation/deployments/{id}/pause': () => automationCall('pause'),
  '/api/automation/deployments/{id}/resume': () => automationCall('resume'),
  '/api/automation/deployments/{id}/rollback': () => automationCall('rollback', { version: 1 }),
  '/api/automation/deployments/{id}/rotate-secret': async () => {
    const { id, triggers } = await hookedAutomation();
    return { path: `/api/automation/deployments/${id}/rotate-secret`, body: { trigger_id: triggers[0].id } };
  },
  '/api/automation/deliveries/{id}/replay': async () => {
    const { id: _, ...place } = await automation();
    const { delivery_id } = await made('/api/automation/trigger', { ...place, wait: 60 });
    return { path: `/api/automation/deliveries/${delivery_id}/replay`, body: { version: 'live' } };
  },
  '/api/automation/runs/{id}/cancel': async () => ({
    path: `/api/automation/runs/${await automationRun()}/cancel`,
    body: {},
  }),
  '/api/automation/runs/{id}/replay': async () => ({
    path: `/api/automation/runs/${await automationRun()}/replay`,
    body: {},
  }),
  '/api/automation/trigger': () => placed('/api/automation/trigger', true),
  '/api/automation/validate': () => placed('/api/automation/validate', true),
  '/api/loops': async () => ({ path: '/api/loops', body: loopInput() }),
  '/api/loops/{id}/resume': async () => {
    const { id } = await made('/api/loops', loopInput());
    await made(`/api/loops/${id}/stop`, {});
    return { path: `/api/loops/${id}/resume`, body: {} };
  },
  '/api/loops/{id}/stop': async () => ({
    path: `/api/loops/${(await made('/api/loops', loopInput())).id}/stop`,
    body: {},
  }),
  '/api/templates': async () => ({
    path: '/api/templates',
    body: { workspace_id: workspace, slug: `t-${randomUUID()}` },
  }),
  '/api/templates/{id}/clone': async () => ({
    path: `/api/templates/${await builtin()}/clone`,
    body: { name: 'Clone' },
  }),
  '/api/tunnel-access/{serverId}/tokens': async () => ({
    path: `/api/tunnel-access/${await server('stopped')}/tokens`,
    body: { name: 'CI' },
  }),
  '/api/tunnels': async () => ({ path: '/api/tunnels', body: serverInput() }),
  '/api/tunnels/{id}/restart': async () => ({
    path: `/api/tunnels/${await server('crashed')}/restart`,
    body: {},
  }),
  '/api/tunnels/{serverId}/domains': async () => ({
    path: `/api/tunnels/${await server('stopped')}/domains`,
    body: { host: `${randomUUID()}.example.com` },
  }),
  '/api/tunnels/{serverId}/domains/{host}/verify': async () => {
    const id = await server('stopped');
    const { host } = await made(`/api/tunnels/${id}/domains`, { host: `${randomUUID()}.example.com` });
    return { path: `/api/tunnels/${id}/domains/${host}/verify` };
  },
  '/api/tunnels/{id}/start': async () => ({
    path: `/api/tunnels/${await server('stopped')}/start`,
    body: {},
  }),
  '/api/tunnels/{id}/stop': async () => ({ path: `/api/tunnels/${await server('crashed')}/stop`, body: {} }),
  '/api/workspaces': async () => ({ path: '/api/workspaces', body: { name: 'Workspace' } }),
  '/api/workspaces/{workspaceId}/duplicate': async () => ({
    path: `/api/workspaces/${workspace}/duplicate`,
    body: { name: 'Copy' },
  }),
  '/api/workspaces/{workspaceId}/files/copy': async () => ({
    path: files('copy'),
    body: { from: await written(), to: randomUUID() },
  }),
  '/api/workspaces/{workspaceId}/files/edits': async () => ({
    path: files('edits'),
    body: { path: await written(), edits: [{ old_text: 'one', new_text: 'two' }] },
  }),
  '/api/workspaces/{workspaceId}/files/patch': async () => ({
    path: files('patch'),
    body: { patch: `*** Begin Patch\n*** Add File: ${randomUUID()}\n+one\n*** End Patch` },
  }),
  '/api/workspaces/{workspaceId}/files/edit': async () => ({
    path: files('edit'),
    body: { path: await written(), old_text: 'one', new_text: 'two' },
  }),
  '/api/workspaces/{workspaceId}/files/extract': async () => {
    const path = await written();
    await bash(`tar cf ${path}.tar ${path}`);
    return { path: files('extract'), body: { path: `${path}.tar`, to: randomUUID() } };
  },
  '/api/workspaces/{workspaceId}/files/mkdir': async () => ({
    path: files('mkdir'),
    body: { path: randomUUID() },
  }),
  '/api/workspaces/{workspaceId}/files/move': async () => ({
    path: files('move'),
    body: { from: await written(), to: randomUUID() },
  }),
  '/api/workspaces/{workspaceId}/files/restore': async () => {
    const path = await written();
    await ada.client.put(files('content'), { path, content: 'two' });
    const { body } = await ada.client.get(`${files('history')}?path=${path}`);
    return { path: files('restore'), body: { path, version: body.items.at(-1).id } };
  },
  '/api/workspaces/{workspaceId}/tools/{toolName}': async () => ({
    path: `/api/workspaces/${workspace}/tools/bash`,
    body: { input: { command: 'echo once >> counted.txt' } },
  }),
};

/** Other ways through these routes. */
const MORE: Record<string, () => Promise<Call>> = {
  '/api/agent/message to a chat': async () => {
    const { chat_id } = await sent(message('list'));
    return { path: '/api/agent/message', body: { ...message('list'), chat_id } };
  },
  '/api/agent/message to a chat with a run': async () => {
    const { chat_id } = await sent(message('run sleep 300'));
    return { path: '/api/agent/message', body: { ...message('list'), chat_id } };
  },
};
const ALL = Object.entries({ ...CALLS, ...MORE });

/** Work outside the database, and actions, which may be such. */
const OUTSIDE = [
  '/api/actions-exec/{name}',
  '/api/agent/runs/{callId}/rollback',
  // It asks a server of others.
  '/api/connectors/{id}/test',
  ...['copy', 'edit', 'edits', 'extract', 'mkdir', 'move', 'patch', 'restore'].map(
    name => `/api/workspaces/{workspaceId}/files/${name}`,
  ),
  ...['request', 'test'].map(name => `/api/integrations/{id}/${name}`),
  ...['checkout', 'commit', 'pull', 'push'].map(name => `/api/git-repos/{id}/${name}`),
  // It asks name servers.
  '/api/sites/{siteId}/domains/{host}/verify',
  '/api/tunnels/{serverId}/domains/{host}/verify',
  '/api/workspaces/{workspaceId}/tools/{toolName}',
];
/** How a route answers what it did. */
const statusOf = (route: string) => (route === '/api/sites/{id}/versions' ? 202 : 200);

const { paths } = await apiDocument();
const documented = Object.entries(paths)
  .filter(([, { post }]: [string, Json]) =>
    post?.parameters?.some(({ name }: Json) => name === 'Idempotency-Key'),
  )
  .map(([path]) => path);

it('is tried with every POST that takes an Idempotency-Key', () => {
  expect(Object.keys(CALLS).sort()).toEqual(documented.sort());
});

describe.each(ALL)('POST %s with a key', (route, prepare) => {
  it('runs once where the process dies between the work and the answer', async () => {
    const send = keyed(await prepare());
    const runs = countRuns();
    const first = await dyingBeforeTheAnswer(send);
    expect([first.status, first.body]).toEqual([statusOf(route), first.body]);
    const again = await send();
    expect(runs()).toBe(1);
    if (OUTSIDE.includes(route)) {
      expect(again.status).toBe(409);
      expect(again.body.detail).toMatch(/is not known; .*(read|look at) /);
    } else {
      expect(again.body).toEqual(first.body);
      expect(again.status).toBe(statusOf(route));
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
    }
  });
});

const COMMITTING = ALL.filter(([route]) => !OUTSIDE.includes(route) && route !== '/api/auth/password');

describe.each(COMMITTING)('POST %s with a key', (route, prepare) => {
  it('is answered as it went where the connection is lost with the answer to the commit', async () => {
    const send = keyed(await prepare());
    const runs = countRuns();
    losesCommits = true;
    const first = await send();
    losesCommits = false;
    expect(first.status).toBe(statusOf(route));
    const again = await send();
    expect(runs()).toBe(1);
    expect([again.status, again.body]).toEqual([statusOf(route), first.body]);
  });
});

it.each([
  ['/api/workspaces', { name: 'Paused' }, 'select 1 from workspace where name = $1'],
  ['/api/agent/message', { message: 'list Paused' }, 'select 1 from message where content::text like $1'],
])('two processes that both take a request for theirs do it once: %s', async (path, body, written) => {
  const send = keyed({ path, body });
  const enter = ledger.enter.bind(ledger);
  ledger.enter = async question => {
    const standing = await enter(question);
    // As if this process had been stopped for longer than its lease, and another had begun meanwhile.
    await service.database.query(
      'update idempotent_request set holder = gen_random_uuid() where answer is null',
    );
    return standing;
  };
  const refused = await send();
  ledger.enter = enter;
  expect([refused.status, refused.body.detail]).toEqual([
    409,
    expect.stringContaining('is being carried out'),
  ]);
  expect(await service.database.query(written, [path === '/api/workspaces' ? 'Paused' : '%Paused%'])).toEqual(
    [],
  );
});

it('a message that is repeated while its process stands still is answered alike, and begins one run', async () => {
  const chat_id = randomUUID();
  const send = keyed({ path: '/api/agent/message', body: { ...message('list'), chat_id } });
  const taken = 'update idempotent_request set holder = gen_random_uuid() where answer is null';
  const { status, body } = await losingItsHold(send, () => service.database.query(taken));
  expect([status, body.detail]).toEqual([409, expect.stringContaining('is being carried out')]);
  // The one who has it was lost, too.
  await service.database.query(
    'update idempotent_request set process_id = gen_random_uuid() where answer is null',
  );
  const first = await send();
  expect([first.status, first.body.chat_id]).toEqual([200, chat_id]);
  expect((await send()).body).toEqual(first.body);
  expect(await service.database.query('select 1 from run where chat_id = $1', [chat_id])).toHaveLength(1);
});

it.each([
  ['/api/agent/message', () => ({ ...message('list'), delivery: 'reject' })],
  ['/api/agent', () => ({ workspace_id: workspace })],
])(
  'POST %s that wakes after its repetition was answered is not refused for what that did',
  async (path, body) => {
    const chat_id = randomUUID();
    const send = keyed({ path, body: { ...body(), chat_id } });
    let repeated: Answer<Json> | undefined;
    const { status, body: answer } = await losingItsHold(send, async () => {
      await service.database.query(
        'update idempotent_request set process_id = gen_random_uuid() where answer is null',
      );
      repeated = await send();
    });
    expect(repeated?.status).toBe(200);
    expect([status, answer.detail]).toEqual([409, expect.stringContaining('is being carried out')]);
    expect((await send()).body).toEqual(repeated?.body);
  },
);

it('the answer that was committed stays, and is given instead of a later one', async () => {
  const [lookup, fingerprint] = [randomBytes(32), randomBytes(32)];
  const question = { credentialId: randomUUID(), lookup, fingerprint, commitsAnswer: true };
  const standing = await ledger.enter(question);
  if (standing.state !== 'ours') throw new Error(`the request is ${standing.state}`);
  const [first, later] = [Buffer.from('first'), Buffer.from('later')];
  expect(await ledger.answer(standing.holder, first)).toBeUndefined();
  expect(await ledger.answer(standing.holder, later)).toEqual(first);
  expect(await ledger.enter(question)).toEqual({ state: 'answered', answer: first });
});

it('a request whose end the database could not be told of is released when it is back', async () => {
  const [lookup, fingerprint] = [randomBytes(32), randomBytes(32)];
  const question = { credentialId: randomUUID(), lookup, fingerprint, commitsAnswer: true };
  const standing = await ledger.enter(question);
  if (standing.state !== 'ours') throw new Error(`the request is ${standing.state}`);
  await service.database.query('alter table idempotent_request rename to away');
  await expect(ledger.answer(standing.holder, Buffer.from('lost'))).rejects.toThrow('does not exist');
  await service.database.query('alter table away rename to idempotent_request');
  let again = await ledger.enter(question);
  for (; again.state === 'running'; again = await ledger.enter(question)) await sleep(50);
  expect(again).toMatchObject({ state: 'ours', holder: expect.not.stringMatching(standing.holder) });
});

function keyed({ path, body, client = ada.client }: Call): () => Promise<Answer<Json>> {
  const caller = client.with({ 'idempotency-key': randomUUID() });
  return () => caller.post(path, body);
}

/** Sends a request whose process stands still once it was let in, while `work` goes on. */
async function losingItsHold(
  send: () => Promise<Answer<Json>>,
  work: () => Promise<unknown>,
): Promise<Answer<Json>> {
  const enter = ledger.enter.bind(ledger);
  ledger.enter = async question => {
    ledger.enter = enter;
    const standing = await enter(question);
    await work();
    return standing;
  };
  return send();
}

/** How often a request with a key was let in to run, from now on. */
function countRuns(): () => number {
  const enter = ledger.enter.bind(ledger);
  let count = 0;
  ledger.enter = async (...question): Promise<Standing> => {
    const standing = await enter(...question);
    if (standing.state === 'ours') count++;
    return standing;
  };
  return () => {
    ledger.enter = enter;
    return count;
  };
}

/** The answer leaves for this test to compare with; the database sees a process that died right before. */
async function dyingBeforeTheAnswer(send: () => Promise<Answer<Json>>): Promise<Answer<Json>> {
  const { answer, release } = ledger;
  ledger.answer = async () => undefined;
  ledger.release = async () => undefined;
  const first = await send();
  Object.assign(ledger, { answer, release });
  await service.database.query(
    'update idempotent_request set process_id = gen_random_uuid() where answer is null',
  );
  return first;
}

const files = (what: string) => `/api/workspaces/${workspace}/files/${what}`;
const message = (text: string) => ({ message: text, workspace_id: workspace, model: 'atelier/demo' });
const invitation = async () => ({
  workspace_id: workspace,
  path: await written(),
  email: `${randomUUID()}@example.com`,
});
const bash = (command: string) => made(`/api/workspaces/${workspace}/tools/bash`, { input: { command } });
const sent = (body: Json) => made('/api/agent/message', body);

async function made(path: string, body: Json): Promise<Json> {
  const answer = await ada.client.post(path, body);
  if (answer.status !== 200)
    throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Path of a notification that was just made: a new key causes one. */
async function notification(): Promise<string> {
  await made('/api/keys', { name: randomUUID() });
  for (;;) {
    const [newest] = (await ada.client.get('/api/notifications')).body.items;
    if (newest) return `/api/notifications/${newest.id}`;
  }
}

/** A connector whose server nothing is sent to. */
const remote = () => ({
  organization_id: ada.organizationId,
  owner: 'organization',
  name: 'Remote',
  url: 'https://localhost:8443/',
  auth: 'bearer',
  token: 'sample',
});

async function connector(): Promise<string> {
  const { id } = await made('/api/connectors', remote());
  return `/api/connectors/${id}`;
}

/** Where the one webhook is that is sent nothing. */
let quiet: Promise<string> | undefined;
function webhook(): Promise<string> {
  quiet ??= made('/api/notifications/webhooks', { url: 'https://localhost:8443/' }).then(
    ({ id }) => `/api/notifications/webhooks/${id}`,
  );
  return quiet;
}

/** An attempt to send to it. */
async function webhookAttempt(): Promise<string> {
  const path = await webhook();
  await ada.client.post(`${path}/test`);
  for (;;) {
    const [attempt] = (await ada.client.get(`${path}/attempts`)).body.items;
    if (attempt) return attempt.id;
  }
}

async function written(): Promise<string> {
  const path = randomUUID();
  await ada.client.put(files('content'), { path, content: 'one' });
  return path;
}

async function bot(): Promise<string> {
  return (await made('/api/service-accounts', { organization_id: ada.organizationId, name: 'Bot' })).id;
}

async function organizationWithBob(role: string): Promise<string> {
  const { id } = await made('/api/organizations', { name: 'Ours' });
  await service.join(bob, { organization: id, role });
  return id;
}

async function approval(): Promise<string> {
  const [row] = await service.database.query<{ id: string }>(
    `insert into approval (id, subject_kind, organization_id, workspace_id, tool, effect, requested_by, status, expires_at, created_at)
     values (gen_random_uuid(), 'mcp_call', $1, $2, 'file_delete', 'destructive', $3, 'pending', now() + interval '1 day', now())
     returning id`,
    [ada.organizationId, workspace, ada.id],
  );
  return row?.id ?? '';
}

/** What a run asks that has ended by now. */
async function question(): Promise<string> {
  const { call_id } = await sent(message('list'));
  const [row] = await service.database.query<{ id: string }>(
    `insert into question (id, organization_id, workspace_id, chat_id, run_id, step, position, call_id, question, choices,
       multiple, allow_text, asked_of, status, expires_at, created_at)
     select gen_random_uuid(), organization_id, workspace_id, chat_id, id, 1, 1, 'call', 'Which?', '[{"label": "PostgreSQL"}]',
       false, true, created_by, 'pending', now() + interval '1 day', now() from run where id = $1
     returning id`,
    [call_id],
  );
  return row?.id ?? '';
}

/** A program with an exec token of a person. */
async function programOf({ id, email }: Person): Promise<Client> {
  const tokens = service.app.get(ExecTokens, { strict: false });
  const credential = {
    type: 'session' as const,
    id: randomUUID(),
    organization_id: null,
    scopes: null,
    workspace_ids: null,
  };
  const token = await service.app.get(Database, { strict: false }).transaction(unit =>
    tokens.mint(unit, {
      actor: { type: 'user', id, email, name: 'Ada', credential } as Actor,
      workspaceId: workspace,
      caller: { kind: 'site', id: randomUUID() },
      actions: ['*'],
      expiresAt: new Date(Date.now() + 60_000),
    }),
  );
  return new Client(service.url, { authorization: `Bearer ${token}` });
}
