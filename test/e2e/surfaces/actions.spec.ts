import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Actor } from '../../../src/platform/access/index.js';
import { ActionLedger, ExecTokens } from '../../../src/platform/actions/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import { AgentClient, messagesOf } from '../../harness/agent.js';
import { Automations } from '../../harness/automations.js';
import { Client, type Json } from '../../harness/client.js';
import { DEFINITION } from '../../harness/routes.js';
import { sampleInput } from '../../harness/sample-input.js';
import { type Person, TestService } from '../../harness/service.js';

let model: FakeOpenAi;
let service: TestService;
let ada: Person;
let viewer: Person;
let outsider: Person;
let workspace_id: string;
let elsewhere: string;
let catalog: Json[];

beforeAll(async () => {
  model = await FakeOpenAi.start();
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'small',
    DEFAULT_MODEL: 'atelier/demo',
  });
  ada = await service.person('Ada');
  viewer = await service.person('Viewer');
  outsider = await service.person('Outsider');
  workspace_id = await service.workspace(ada, { visibility: 'restricted' });
  elsewhere = await service.workspace(ada, { name: 'Elsewhere' });
  await service.join(viewer, {
    organization: ada.organizationId,
    role: 'guest',
    workspace: workspace_id,
    workspaceRole: 'viewer',
  });
  catalog = await all(ada.client, '/api/actions');
});
afterAll(async () => {
  await service.stop();
  await model.stop();
});

async function all(client: Client, address: string): Promise<Json[]> {
  const items: Json[] = [];
  let cursor = '';
  do {
    const sign = address.includes('?') ? '&' : '?';
    const { status, body } = await client.get(`${address}${sign}limit=20${cursor}`);
    if (status !== 200) throw new Error(`${address} answered ${status}: ${JSON.stringify(body)}`);
    items.push(...body.items);
    cursor = body.next_cursor ? `&cursor=${encodeURIComponent(body.next_cursor)}` : '';
  } while (cursor);
  return items;
}

const run = (client: Client, name: string, body: Json = {}) =>
  client.post(`/api/actions/${name}/run`, { workspace_id, ...body });
const inWorkspace = (file: string) => path.join(service.dataDir, 'workspaces', workspace_id, file);
const names = (items: Json[]) => items.map(({ name }) => name);

const first = async (words: string) =>
  (await ada.client.get(`/api/actions?q=${encodeURIComponent(words)}&limit=1`)).body.items[0]?.name;

async function ledger(run_id: string, client = ada.client): Promise<Json> {
  const { status, body } = await client.get(`/api/action-runs/${run_id}`);
  return status === 200 ? body : { status_code: status };
}

describe('the catalog', () => {
  it('lists every capability, page by page, with schemas that are valid JSON Schema 2020-12', () => {
    expect(names(catalog)).toEqual([...names(catalog)].sort());
    expect(names(catalog)).toEqual(expect.arrayContaining(['file_write', 'chat_list', 'workspace_delete']));
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const action of catalog) {
      expect(action.name).toMatch(/^[a-z][a-z0-9_]{2,63}$/);
      expect(Object.keys(action).sort()).toEqual(
        [
          'effect',
          'input_schema',
          'name',
          'output_schema',
          'permission',
          'scopes',
          'summary',
          'title',
        ].sort(),
      );
      for (const schema of [action.input_schema, action.output_schema]) {
        expect(ajv.validateSchema(schema)).toBe(true);
        expect(() => ajv.compile(schema)).not.toThrow();
      }
    }
  });

  it('leaves out what streams or is raw bytes', async () => {
    for (const name of ['file_upload', 'file_download', 'run_watch', 'action_run']) {
      expect(names(catalog)).not.toContain(name);
      expect((await ada.client.get(`/api/actions/${name}`)).status).toBe(404);
    }
  });

  it.each([
    ['delete file', 'file_delete'],
    ['list chats', 'chat_list'],
    ['write a file', 'file_write'],
    ['delte fil', 'file_delete'],
    ['create workspace', 'workspace_create'],
    ['remove a member from the organization', 'member_remove'],
    ['who may see a workspace', 'workspace_visibility_set'],
    ['invite somebody', 'invitation_create'],
    ['send a message to an agent', 'agent_send'],
    ['move', 'file_move'],
    ['rename a file', 'file_move'],
    ['new folder', 'folder_create'],
    ['make a workspace', 'workspace_create'],
  ])('finds for "%s" %s first', async (words, name) => {
    expect(await first(words)).toBe(name);
  });

  it('is narrowed by effect, and to what one may do in a workspace', async () => {
    const read = await all(ada.client, '/api/actions?effect=read');
    expect(new Set(read.map(({ effect }) => effect))).toEqual(new Set(['read']));
    const usable = await all(viewer.client, `/api/actions?workspace_id=${workspace_id}`);
    expect(names(usable)).toContain('file_read');
    expect(names(usable)).not.toContain('file_write');
    expect((await outsider.client.get(`/api/actions?workspace_id=${workspace_id}`)).status).toBe(404);
  });

  it('shows a key nothing that takes a sign-in', async () => {
    expect(names(catalog)).toContain('key_create');
    expect(names(await all(await service.key(ada), '/api/actions'))).not.toContain('key_create');
  });
});

describe('a credential that only reads', () => {
  const scopes = ['actions:read', 'workspaces:read', 'files:read', 'chats:read'];

  it('runs what reads, and is refused what writes by the scope that it lacks', async () => {
    const key = await service.key(ada, { scopes });
    const read = await run(key, 'workspace_get');
    expect([read.status, read.body.output.id]).toEqual([200, workspace_id]);
    expect((await run(key, 'file_list')).status).toBe(200);
    const refused = await run(key, 'file_write', { input: { path: 'read-only.txt', content: 'x' } });
    expect([refused.status, refused.body.detail]).toEqual([403, 'This key lacks the scope actions:run']);
    const running = await service.key(ada, { scopes: [...scopes, 'actions:run'] });
    const still = await run(running, 'file_write', { input: { path: 'read-only.txt', content: 'x' } });
    expect([still.status, still.body.detail]).toEqual([403, 'This key lacks the scope files:write']);
    const beyond = await run(key, 'approval_list', { input: { workspace_id } });
    expect([beyond.status, beyond.body.detail]).toEqual([403, 'This key lacks the scope approvals:read']);
    for (const answer of [refused, still, beyond])
      expect(await ledger(answer.headers.get('action-run-id') ?? '')).toMatchObject({
        status: 'refused',
        error: { status: 403, detail: answer.body.detail },
        workspace_id,
      });
    expect(existsSync(inWorkspace('read-only.txt'))).toBe(false);
  });

  it('is shown what it could run, and nothing else', async () => {
    const shown = await all(await service.key(ada, { scopes }), '/api/actions');
    expect(names(shown)).toEqual(expect.arrayContaining(['workspace_get', 'file_read', 'chat_list']));
    expect(new Set(shown.map(({ effect }) => effect))).toEqual(new Set(['read']));
    for (const { name, scopes: needed } of shown)
      expect([name, needed.filter((scope: string) => !scopes.includes(scope))]).toEqual([name, []]);
  });

  it('of a viewer is shown what a viewer may do, without a workspace as well', async () => {
    const shown = names(await all(viewer.client, '/api/actions'));
    const inIt = await all(viewer.client, `/api/actions?workspace_id=${workspace_id}`);
    expect(names(inIt)).toEqual(expect.arrayContaining(['file_read', 'workspace_get', 'run_status_get']));
    for (const name of ['file_write', 'agent_send', 'approval_decide', 'workspace_delete'])
      expect(names(inIt)).not.toContain(name);
    for (const { name } of inIt) expect(shown).toContain(name);
  });
});

describe('a run', () => {
  it('does what the route does, fills in the workspace, and is in the ledger', async () => {
    const input = { path: 'notes/plan.md', content: 'The plan' };
    const { status, body } = await run(ada.client, 'file_write', { input });
    expect([status, body.status]).toEqual([200, 'completed']);
    expect(readFileSync(inWorkspace('notes/plan.md'), 'utf8')).toBe('The plan');
    expect(body.output).toMatchObject({ path: 'notes/plan.md', created: true });
    expect(await ledger(body.run_id)).toMatchObject({
      action: 'file_write',
      effect: 'write',
      status: 'completed',
      dry_run: false,
      surface: 'rest',
      caller: { kind: 'session' },
      actor: { type: 'user', id: ada.id, name: 'Ada' },
      on_behalf_of_id: null,
      organization_id: ada.organizationId,
      workspace_id,
      input: { workspace_id, ...input },
      output: { path: 'notes/plan.md' },
      error: null,
    });
  });

  it('gives outputs that fit the schema which is shown', async () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const name of ['workspace_get', 'file_list', 'chat_list', 'workspace_list', 'organization_list']) {
      const { output_schema } = catalog.find(action => action.name === name);
      const { body } = await run(ada.client, name);
      const fits = ajv.compile(output_schema);
      expect([name, fits(body.output), fits.errors]).toEqual([name, true, null]);
    }
  });

  it('refuses what a route would refuse, with the same answer, and the ledger tells', async () => {
    const refused = await run(ada.client, 'file_write', { input: { path: 'x', content: 'x', mood: 1 } });
    expect([refused.status, refused.body.detail]).toEqual([422, 'mood is not a field of this request']);
    const absent = await run(ada.client, 'file_read', { input: { path: 'nowhere.txt' } });
    expect(absent.status).toBe(404);
    expect(await ledger(absent.headers.get('action-run-id') ?? '')).toMatchObject({
      status: 'refused',
      error: { status: 404, detail: absent.body.detail },
      organization_id: ada.organizationId,
    });
    expect((await run(ada.client, 'no_such_thing')).status).toBe(404);
  });

  it('that is dry checks input, sight and permission, and does nothing', async () => {
    const dry = (client: Client, input: Json) => run(client, 'file_write', { input, dry_run: true });
    const good = { path: 'dry.txt', content: 'x' };
    const { status, body } = await dry(ada.client, good);
    expect([status, body.status, body.output]).toEqual([200, 'validated', null]);
    expect((await dry(ada.client, { path: 'dry.txt' })).status).toBe(422);
    expect((await dry(viewer.client, good)).status).toBe(403);
    expect((await dry(outsider.client, good)).status).toBe(404);
    expect(existsSync(inWorkspace('dry.txt'))).toBe(false);
    expect(await ledger(body.run_id)).toMatchObject({ status: 'validated', dry_run: true });
  });

  it('with an Idempotency-Key happens once', async () => {
    const client = ada.client.with({ 'idempotency-key': 'once' });
    const input = { path: 'once.txt', content: 'x' };
    const one = await run(client, 'file_write', { input });
    const two = await run(client, 'file_write', { input });
    expect(two.body).toEqual(one.body);
  });

  it('keeps secrets out of the ledger', async () => {
    const account = await ada.client.post('/api/service-accounts', {
      organization_id: ada.organizationId,
      name: 'Bot',
      role: 'member',
    });
    const { body } = await run(ada.client, 'service_account_key_create', {
      input: { id: account.body.id, name: 'CI' },
    });
    expect(body.output.api_key).toMatch(/^atl_/);
    const row = await ledger(body.run_id);
    expect(row).toMatchObject({
      organization_id: ada.organizationId,
      output: { name: 'CI', api_key: '[hidden]' },
    });
    expect(JSON.stringify(row)).not.toContain(body.output.api_key);
  });

  it('is written down whatever its input holds', async () => {
    const odd = await run(ada.client, 'file_list', { input: { 'a\0\ud800': { 'b\0': '\0' } } });
    expect(odd.status).toBe(422);
    const row = await ledger(odd.headers.get('action-run-id') ?? '');
    expect(row.input).toEqual({ 'a\ufffd\ufffd': { 'b\ufffd': '\ufffd' } });
    for (const input of ['text', [], 7, null])
      expect((await run(ada.client, 'file_list', { input })).status).toBe(input === null ? 200 : 422);
  });

  it('cuts what is long', async () => {
    const { body } = await run(ada.client, 'file_write', {
      input: { path: 'long.txt', content: 'x'.repeat(50_000) },
    });
    const { input } = await ledger(body.run_id);
    expect(input.content.length).toBeLessThan(2_100);
    expect(input.content).toContain('48000 characters more');
  });
});

const sampleOf = (action: Json) => sampleInput(action, { workspace_id });

const takesWorkspace = ({ input_schema }: Json) => input_schema.required?.includes('workspace_id');

describe('every action that takes a workspace', () => {
  it('is checked for the viewer, the stranger and the scoped key, by the catalog and by an exec token', async () => {
    const key = await service.key(ada, { scopes: ['models:read', 'actions:run'] });
    const writes = catalog.filter(takesWorkspace).filter(({ effect }) => effect !== 'read');
    expect(writes.length).toBeGreaterThan(8);
    const token = await mint({ actor: actorOf(viewer), actions: names(writes) });
    for (const action of catalog.filter(takesWorkspace)) {
      const input = sampleOf(action);
      const status = async (client: Client) => {
        const answer = await client.post(`/api/actions/${action.name}/run`, { input });
        return `${action.name} ${answer.status}`;
      };
      expect(await status(outsider.client)).toBe(`${action.name} 404`);
      expect(await status(key)).toBe(`${action.name} 403`);
      if (action.effect === 'read') continue;
      expect(await status(viewer.client)).toBe(`${action.name} 403`);
      const { status: byToken } = await token.post(`/api/actions-exec/${action.name}`, { input });
      expect([action.name, byToken]).toEqual([action.name, 403]);
    }
  });

  it('can be rehearsed, and that does nothing', async () => {
    const there = { path: 'there.md', from: 'there.md', to: 'copy.md', old_text: 'teh', new_text: 'the' };
    const file = { path: there.path, content: 'teh plan' };
    await ada.client.put(`/api/workspaces/${workspace_id}/files/content`, file);
    const ids = { workspace_id, user_id: viewer.id, ...there };
    // The sample names a version and a sandbox that are not there, no archive, no form, and a path that is taken.
    const refused: Record<string, number> = {
      automation_deploy: 422,
      automation_stop: 422,
      automation_trigger: 422,
      automation_validate: 422,
      loop_create: 422,
      git_repo_create: 422,
      // The sample names no edits, and has no patch.
      file_batch_edit: 422,
      file_patch: 422,
      file_extract: 422,
      file_restore: 404,
      file_version_diff: 404,
      file_version_read: 404,
      folder_create: 409,
      form_check: 422,
      form_preview: 422,
      form_share: 422,
      integration_request: 404,
      sandbox_stop: 404,
      // There is no secret yet, and the sample has none.
      workspace_secret_delete: 404,
      workspace_secret_set: 422,
    };
    const [seen, expected]: [Json[], Json[]] = [[], []];
    for (const action of catalog.filter(takesWorkspace)) {
      const body = { input: sampleInput(action, ids), dry_run: true };
      const of = async (client: Client) => client.post(`/api/actions/${action.name}/run`, body);
      const [mine, theirs] = [await of(ada.client), await of(outsider.client)];
      seen.push([action.name, mine.status, theirs.status]);
      expected.push([action.name, refused[action.name] ?? 200, 404]);
      expect([action.name, mine.body.detail]).not.toEqual([action.name, theirs.body.detail]);
    }
    expect(seen).toEqual(expected);
    expect((await ada.client.get(`/api/workspaces/${workspace_id}`)).status).toBe(200);
  });
});

/** What no iteration of a loop meets. */
const NEVER = { check: { run: 'bash', code: 'false' } };

/** An automation that has run. */
async function automatedThings(): Promise<Json> {
  const automations = new Automations(ada.client, workspace_id);
  const file_path = await automations.script('rehearsed', 'true', 'on:\n  - webhook: {}');
  const { id, triggers } = await automations.deploy(file_path);
  const { run_id, delivery_id } = await automations.run(file_path);
  return {
    automation_run: run_id,
    automation_delivery: delivery_id,
    automation_version: id,
    automation: id,
    file_path,
    number: 1,
    trigger_id: triggers[0].id,
    automation_secret: id,
    automation_webhook: triggers[0].id,
  };
}

it('a rehearsal of any action about something sees it or not as the action would', async () => {
  const automated = await automatedThings();
  const agent = new AgentClient(ada.client);
  const sent = await agent.send('list', { workspace_id });
  await agent.ended(sent);
  const account = await ada.client.post('/api/service-accounts', {
    organization_id: ada.organizationId,
    name: 'Bot',
  });
  await ada.client.put(`/api/workspaces/${workspace_id}/files/content`, { path: 'a.txt', content: 'a' });
  const made = async (path: string, body: Json) => (await ada.client.post(path, body)).body;
  const shared = await made('/api/share', { workspace_id, path: 'a.txt' });
  const invited = await made('/api/file-invitations', {
    workspace_id,
    path: 'a.txt',
    email: 'x@example.com',
  });
  const copying = await made(`/api/workspaces/${workspace_id}/duplicate`, { name: 'Copy' });
  const [approval] = await service.database.query<{ id: string }>(
    `insert into approval (id, subject_kind, workspace_id, tool, effect, requested_by, status, expires_at, created_at)
     values (gen_random_uuid(), 'mcp_call', $1, 'file_delete', 'destructive', $2, 'pending', now() + interval '1 day', now())
     returning id`,
    [workspace_id, ada.id],
  );
  const [question] = await service.database.query<{ id: string }>(
    `insert into question (id, organization_id, workspace_id, chat_id, run_id, step, position, call_id, question, choices,
       multiple, allow_text, asked_of, status, expires_at, created_at)
     select gen_random_uuid(), organization_id, workspace_id, chat_id, id, 1, 1, 'call', 'Which?', '[{"label": "PostgreSQL"}]',
       false, true, created_by, 'pending', now() + interval '1 day', now() from run where id = $1
     returning id`,
    [sent.call_id],
  );
  const site = await made('/api/sites', { workspace_id, name: 'Site', slug: 'rehearsed', folder: '' });
  let version = await made(`/api/sites/${site.id}/versions`, {});
  while (['queued', 'building'].includes(version.state))
    version = (await ada.client.get(`/api/sites/${site.id}/versions/${version.id}?wait=60`)).body;
  const form = {
    path: 'rehearsed.form',
    content: 'title: Rehearsed\nfields:\n  - {id: name, label: Name, type: text}\n',
  };
  await ada.client.put(`/api/workspaces/${workspace_id}/files/content`, form);
  const shownForm = await made(`/api/workspaces/${workspace_id}/forms/share`, { path: form.path });
  const server = await made('/api/tunnels', {
    workspace_id,
    name: 'App',
    slug: 'rehearsed',
    command: 'true',
    start: false,
  });
  const place = { organization_id: ada.organizationId };
  for (const id of ['acme', 'unused'])
    await made('/api/integrations/providers', { ...place, definition: { ...DEFINITION, id } });
  await ada.client.put('/api/integrations/providers/acme/client', { ...place, client_id: 'client' });
  const { connection } = await made('/api/integrations', { ...place, provider: 'acme' });
  const [repo] = await service.database.query<{ id: string }>(
    `insert into git_repo (id, workspace_id, path, url, state, created_by, created_at, updated_at)
     values (gen_random_uuid(), $1, 'gone', 'https://example.com/a.git', 'ready', $2, now(), now()) returning id`,
    [workspace_id, ada.id],
  );
  const published = await made('/api/templates', { workspace_id });
  const loop = await made('/api/loops', {
    workspace_id,
    prompt: 'list',
    until: NEVER,
    interval_seconds: 86_400,
  });
  await made(`/api/loops/${loop.id}/stop`, {});
  await ada.client.events(`/api/operations/${published.operation_id}/events`);
  const connector = await made('/api/connectors', {
    organization_id: ada.organizationId,
    owner: 'organization',
    name: 'Rehearsed',
    url: 'https://localhost:8443/',
    auth: 'bearer',
    token: 'sample',
  });
  const ids: Json = {
    connector: connector.id,
    integration: connection.id,
    git_repo: repo?.id,
    git_status: repo?.id,
    git_commit: repo?.id,
    git_branch: repo?.id,
    provider: 'acme',
    definition: { ...DEFINITION, id: 'acme' },
    template: published.template_id,
    loop: loop.id,
    form: shownForm.id,
    ...automated,
    form_id: shownForm.id,
    server: server.id,
    server_id: server.id,
    site: site.id,
    site_id: site.id,
    version_id: version.id,
    organization_id: ada.organizationId,
    approval_id: approval?.id,
    question_id: question?.id,
    chat_id: sent.chat_id,
    call_id: sent.call_id,
    message_id: sent.message_id,
    share: shared.id,
    file_invitation: invited.id,
    invited_file: invited.id,
    operation: copying.operation_id,
    chat: sent.chat_id,
    service_account: account.body.id,
  };
  const things = catalog.filter(
    ({ input_schema, scopes, permission }) =>
      /_id$|^id$/.test((input_schema.required ?? []).join()) &&
      scopes.length > 0 &&
      !/^(account|key|grant|action|action_run)\./.test(permission),
  );
  // The sample names no person and no key, the message has gone on its way, and Ada is the only owner.
  const refused: Record<string, number> = {
    connector_authorize: 422,
    connector_create: 422,
    // It is not authorized yet, and its provider is there already and in use.
    integration_provider_create: 409,
    integration_provider_delete: 409,
    integration_request: 422,
    integration_test: 200,
    // Its folder is gone, and its host is none that may be reached.
    git_status_get: 409,
    git_commit_list: 409,
    git_branch_list: 409,
    git_repo_diff: 409,
    git_repo_pull: 409,
    git_repo_push: 409,
    form_submission_accept: 404,
    form_submission_delete: 404,
    member_remove: 404,
    organization_leave: 409,
    organization_transfer: 404,
    // The sample has no answer in it.
    question_answer: 422,
    queue_steer: 409,
    queue_update: 409,
    queue_withdraw: 409,
    sandbox_stop: 404,
    service_account_key_revoke: 404,
    service_account_key_rotate: 404,
    server_domain_create: 422,
    server_domain_delete: 422,
    server_domain_verify: 422,
    server_restart: 409,
    server_token_revoke: 404,
    site_domain_create: 422,
    site_domain_delete: 422,
    site_domain_verify: 422,
    site_token_revoke: 404,
    site_version_cancel: 409,
    workspace_member_remove: 404,
  };
  const [seen, expected]: [Json[], Json[]] = [[], []];
  for (const action of things) {
    const noun = Object.keys(ids).find(name => action.name.startsWith(`${name}_`));
    const input = { ...sampleOf(action) };
    for (const name of Object.keys(input))
      input[name] = name === 'id' && noun ? ids[noun] : (ids[name] ?? input[name]);
    const of = async (client: Client) =>
      (await client.post(`/api/actions/${action.name}/run`, { input, dry_run: true })).status;
    // Nothing is shared with Ada, and she has no notifications and no webhooks.
    const forAda = /^(invited_file|notification|webhook)_/.test(action.name)
      ? 404
      : (refused[action.name] ?? 200);
    seen.push([action.name, await of(ada.client), await of(outsider.client)]);
    expected.push([action.name, forAda, 404]);
  }
  expect(seen).toEqual(expected);
  expect(things.length).toBeGreaterThan(30);
});

it('what takes a sign-in is refused to a key', async () => {
  const key = await service.key(ada);
  const { status, body } = await run(key, 'key_create', { input: { name: 'more' } });
  expect([status, body.detail]).toEqual([403, expect.stringContaining('your own sign-in')]);
  expect((await run(ada.client, 'key_create', { input: { name: 'more' } })).status).toBe(200);
});

function actorOf(person: Person, limits: Partial<Actor['credential']> = {}): Actor {
  const credential = {
    scopes: null,
    expires_at: null,
    organization_id: null,
    workspace_ids: null,
    ...limits,
  };
  return {
    type: 'user',
    id: person.id,
    name: 'Somebody',
    email: person.email,
    credential: { type: 'session', id: person.id, ...credential },
  };
}

const CALLER = { kind: 'site', id: '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f' } as const;
const soon = () => new Date(Date.now() + 3_600_000);

async function mint(grant: Partial<Parameters<ExecTokens['mint']>[1]> = {}): Promise<Client> {
  const tokens = service.app.get(ExecTokens, { strict: false });
  const token = await service.app.get(Database, { strict: false }).transaction(unit =>
    tokens.mint(unit, {
      actor: actorOf(ada),
      workspaceId: workspace_id,
      caller: CALLER,
      actions: ['*'],
      expiresAt: soon(),
      ...grant,
    }),
  );
  expect(token).toMatch(/^atx_/);
  return new Client(service.url, { authorization: `Bearer ${token}` });
}

const exec = (client: Client, name: string, input: Json = {}) =>
  client.post(`/api/actions-exec/${name}`, { input });

describe('an exec token', () => {
  it('is nothing that one could ask for, which the refusal and the description say', async () => {
    const { status, body } = await ada.client.get('/api/actions-exec');
    expect([status, body.detail]).toEqual([
      401,
      expect.stringContaining('which only sandboxes of runs have'),
    ]);
    const { exec_token } = (await service.stranger.get('/api/openapi.json')).body.components.securitySchemes;
    expect(exec_token.description).toContain('there is no call that gives you one');
  });

  it('runs actions in its workspace, and the ledger says for whom', async () => {
    const { status, body } = await exec(await mint(), 'file_write', { path: 'exec.txt', content: 'x' });
    expect([status, body.status]).toEqual([200, 'completed']);
    expect(existsSync(inWorkspace('exec.txt'))).toBe(true);
    expect(await ledger(body.run_id)).toMatchObject({
      surface: 'exec',
      caller: CALLER,
      actor: { id: ada.id },
      on_behalf_of_id: ada.id,
      credential: { type: 'exec' },
      workspace_id,
    });
  });

  it('is good for nothing else', async () => {
    const token = await mint();
    for (const address of ['/api/actions', '/api/workspaces', '/api/auth/principal', '/api/action-runs'])
      expect((await token.get(address)).status).toBe(401);
    const key = await service.key(ada);
    for (const client of [ada.client, key, service.stranger])
      expect((await client.get('/api/actions-exec')).status).toBe(401);
  });

  it('sees its workspace alone', async () => {
    const token = await mint();
    expect((await exec(token, 'file_list', { workspace_id: elsewhere })).status).toBe(404);
    const chats = await exec(token, 'chat_list', {});
    expect(chats.status).toBe(200);
    for (const name of ['workspace_list', 'member_list', 'account_get', 'organization_list'])
      expect((await exec(token, name)).status).toBe(403);
  });

  it('runs the actions that it names; a star covers nothing that destroys', async () => {
    const narrow = await mint({ actions: ['file_rea*'] });
    expect((await exec(narrow, 'file_write', { path: 'x', content: '' })).status).toBe(403);
    expect(names((await narrow.get('/api/actions-exec')).body.items)).toEqual(['file_read']);
    expect((await narrow.get('/api/actions-exec/file_list')).status).toBe(403);
    expect((await exec(await mint(), 'file_delete', { path: 'exec.txt' })).status).toBe(403);
    expect(existsSync(inWorkspace('exec.txt'))).toBe(true);
    const explicit = await mint({ actions: ['file_delete'] });
    expect((await exec(explicit, 'file_delete', { path: 'exec.txt' })).status).toBe(200);
  });

  it('keeps the scopes of the key that it comes from', async () => {
    const token = await mint({ actor: actorOf(ada, { scopes: ['files:read'] }) });
    expect((await exec(token, 'file_list')).status).toBe(200);
    expect((await exec(token, 'file_write', { path: 'x', content: '' })).status).toBe(403);
  });

  it('ends when its time is over, and when what holds it ends', async () => {
    const expired = await mint({ expiresAt: new Date(Date.now() - 1) });
    expect((await exec(expired, 'file_list')).status).toBe(401);
    const caller = { kind: 'server', id: '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8e' } as const;
    const [mine, other] = [await mint({ caller }), await mint()];
    const tokens = service.app.get(ExecTokens, { strict: false });
    await service.app.get(Database, { strict: false }).transaction(unit => tokens.revokeFor(unit, caller));
    expect((await exec(mine, 'file_list')).status).toBe(401);
    expect((await exec(other, 'file_list')).status).toBe(200);
  });

  it('ends with the key that it comes from', async () => {
    const { body } = await ada.client.post('/api/keys', { name: 'short' });
    const token = await mint({ actor: actorOf(ada, { type: 'api_key', id: body.id }) });
    expect((await exec(token, 'file_list')).status).toBe(200);
    await ada.client.delete(`/api/keys/${body.id}`);
    expect((await exec(token, 'file_list')).status).toBe(401);
    const past = new Date(Date.now() - 1).toISOString();
    const late = await mint({ actor: actorOf(ada, { type: 'api_key', id: body.id, expires_at: past }) });
    expect((await exec(late, 'file_list')).status).toBe(401);
  });

  it('of a run ends with the run', async () => {
    const agent = new AgentClient(ada.client);
    let go = () => {};
    const after = new Promise<void>(resolve => {
      go = resolve;
    });
    model.reply({ text: 'Done.', after });
    const sent = await agent.send('go', { workspace_id, model: 'local/small' });
    await agent.until(sent, ({ event }) => event === 'step.started');
    const token = await mint({ caller: { kind: 'run', id: sent.call_id } });
    expect((await exec(token, 'file_list')).status).toBe(200);
    go();
    await agent.ended(sent);
    expect((await exec(token, 'file_list')).status).toBe(401);
  });

  it('of a run starts tasks of it, as many as it may have, however many ask at once', async () => {
    const agent = new AgentClient(ada.client);
    model.otherwise(() => ({ hang: true }));
    const sent = await agent.send('go', { workspace_id, model: 'local/small' });
    await agent.until(sent, ({ event }) => event === 'step.started');
    const token = await mint({ caller: { kind: 'run', id: sent.call_id } });
    const asked = Array.from({ length: 20 }, (_, n) =>
      exec(token, 'agent_send', { message: `task ${n}`, model: 'local/small' }),
    );
    const answers = await Promise.all(asked);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(8);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(12);
    const { body } = await ada.client.get(`/api/agent/runs?parent_call_id=${sent.call_id}`);
    expect(body.items).toHaveLength(8);
    const [stopped, late] = await Promise.all([
      ada.client.post('/api/agent/stop', { call_id: sent.call_id }),
      exec(token, 'agent_send', { message: 'late' }),
    ]);
    expect(stopped.status).toBe(200);
    expect([401, 409, 429]).toContain(late.status);
    const open = "select id from run where parent_id = $1 and status = 'pending'";
    expect(await service.database.query(open, [sent.call_id])).toEqual([]);
    expect((await exec(token, 'agent_send', { message: 'later' })).status).toBe(401);
    model.otherwise({ text: 'Done.' });
  });

  it('does no more than its person still may', async () => {
    const grace = await service.person('Grace');
    const place = { organization: ada.organizationId, role: 'guest', workspace: workspace_id };
    await service.join(grace, { ...place, workspaceRole: 'editor' });
    const token = await mint({ actor: actorOf(grace) });
    const write = () => exec(token, 'file_write', { path: 'grace.txt', content: 'x' });
    expect((await write()).status).toBe(200);
    await service.join(grace, { ...place, workspaceRole: 'viewer' });
    expect((await write()).status).toBe(403);
    await service.database.query('delete from workspace_member where principal_id = $1', [grace.id]);
    await service.database.query(
      'delete from organization_member where user_id = $1 and organization_id = $2',
      [grace.id, ada.organizationId],
    );
    expect((await write()).status).toBe(404);
  });
});

describe('an agent', () => {
  const call = (name: string, input: Json) => ({ tool: { name, input } });

  async function told(replies: Json[], fields: Json = {}): Promise<Json[]> {
    model.reply([...replies, { text: 'Done.' }]);
    const { result } = await new AgentClient(ada.client).run('go', {
      workspace_id,
      on_approval: 'refuse',
      model: 'local/small',
      ...fields,
    });
    return result.toolOutputs;
  }

  async function define(name: string, tools: string): Promise<Json> {
    const content = `---\ntools: ${tools}\n---\n`;
    await run(ada.client, 'file_write', { input: { path: `.agents/${name}.md`, content } });
    return { agent_name: name };
  }

  const offered = () =>
    ((model.requests.at(-1)?.body.tools ?? []) as Json[])
      .map(tool => tool.function.name)
      .filter(name => /^actions_/.test(name));

  it('finds, describes and runs actions in its workspace, on the authority of who sent it', async () => {
    const [found, described, written, dry] = await told([
      call('actions_search', { query: 'write a file', limit: 1 }),
      call('actions_describe', { name: 'file_write' }),
      call('actions_run', { name: 'file_write', input: { path: 'agent.txt', content: 'by an agent' } }),
      call('actions_run', { name: 'file_write', input: { path: 'dry.txt', content: '' }, dry_run: true }),
    ]);
    expect(offered()).toEqual(['actions_search', 'actions_run']);
    expect(JSON.parse(found.output).actions).toMatchObject([
      { name: 'file_write', effect: 'write', input: 'path, content, encoding?: utf8|base64' },
    ]);
    expect(JSON.parse(described.output).input_schema.required).toContain('path');
    expect(readFileSync(inWorkspace('agent.txt'), 'utf8')).toBe('by an agent');
    expect(JSON.parse(dry.output).status).toBe('validated');
    expect(existsSync(inWorkspace('dry.txt'))).toBe(false);
    expect(await ledger(JSON.parse(written.output).run_id)).toMatchObject({
      surface: 'agent',
      caller: { kind: 'run' },
      actor: { id: ada.id },
      on_behalf_of_id: ada.id,
      workspace_id,
    });
  });

  it('is told what is refused: what destroys, what is elsewhere, what makes no sense', async () => {
    const outputs = await told([
      call('actions_run', { name: 'file_delete', input: { path: 'agent.txt' } }),
      call('actions_run', { name: 'file_list', input: { workspace_id: elsewhere } }),
      call('actions_run', { name: 'member_list', input: { organization_id: ada.organizationId } }),
      call('actions_run', { name: 'key_create', input: { name: 'mine' } }),
      call('actions_run', { name: 'no_such' }),
      call('actions_run', { name: 'file_write', input: [] }),
      call('actions_run', { what: 1 }),
      call('actions_run', { name: 'file_write', input: { file: 'a' } }),
      call('actions_run', { name: 'site_get', input: { id: 'my-site' } }),
    ]);
    expect(outputs.map(({ is_error }) => is_error)).toEqual(Array(9).fill(true));
    const texts = outputs.map(({ output }) => output);
    expect(texts[0]).toContain('is destructive');
    expect(texts[1]).toBe('No such workspace');
    expect(texts[2]).toContain('reaches beyond it');
    expect(texts[3]).toContain('your own sign-in');
    expect(texts[5]).toBe('input must be a JSON object');
    expect(texts[8]).toBe('id must be a UUID; site_list has them');
    expect(texts[7]).toBe(
      'path is required, content is required, file is not a field of this request; the fields of file_write are workspace_id, path (required), content (required), encoding',
    );
    expect(messagesOf(model.requests.at(-1) as never).at(-1)?.role).toBe('tool');
    expect(existsSync(inWorkspace('agent.txt'))).toBe(true);
  });

  it('has the actions that its file names, and no other', async () => {
    const [, refused] = await told(
      [
        call('actions_run', { name: 'file_list' }),
        call('actions_run', { name: 'file_write', input: { path: 'no.txt', content: '' } }),
      ],
      await define('lister', '["action:file_list"]'),
    );
    expect(refused).toMatchObject({ is_error: true, output: expect.stringContaining('allowlist') });
    const [deleted] = await told(
      [call('actions_run', { name: 'file_delete', input: { path: 'agent.txt' } })],
      await define('cleaner', '["action:file_delete"]'),
    );
    expect([deleted.is_error, existsSync(inWorkspace('agent.txt'))]).toEqual([false, false]);
    await told([call('actions_run', { name: 'file_list' })], await define('reader', '[read_file]'));
    expect(offered()).toEqual([]);
  });
});

describe('in the sandbox of a run', () => {
  let agent: AgentClient;
  beforeAll(() => {
    agent = new AgentClient(ada.client);
  });

  async function bash(command: string, fields: Json = {}): Promise<Json> {
    const { result } = await agent.run(`run ${command}`, { workspace_id, ...fields });
    return result.toolOutputs[0];
  }

  it('the command actions lists, describes and runs', async () => {
    expect((await bash('actions list delete file')).output).not.toContain('file_delete');
    const listed = await bash('actions list list chats');
    expect(listed.output.split('\n')[0]).toMatch(/^chat_list\tread\tList the chats/);
    expect(JSON.parse((await bash('actions describe file_write')).output).name).toBe('file_write');
    const written = await bash(`actions run file_write '{"path":"inside.txt","content":"from inside"}'`);
    expect(JSON.parse(written.output)).toMatchObject({ path: 'inside.txt', created: true });
    expect(readFileSync(inWorkspace('inside.txt'), 'utf8')).toBe('from inside');
    const { body } = await ada.client.get('/api/action-runs?action=file_write&caller=run');
    expect(body.items[0]).toMatchObject({
      surface: 'sandbox',
      caller: { kind: 'run' },
      on_behalf_of_id: ada.id,
    });
  });

  it('refusals come as words and an exit code', async () => {
    const refused = await bash('actions run file_delete \'{"path":"inside.txt"}\'');
    expect(refused).toMatchObject({ is_error: true, output: expect.stringContaining('destructive') });
    expect(refused.output).toContain('Exit code 1.');
    expect((await bash('actions run file_write {')).output).toContain('usage: actions');
    expect((await bash(`actions run file_list '{"workspace_id":"${elsewhere}"}'`)).output).toContain(
      'No such workspace',
    );
    expect(existsSync(inWorkspace('inside.txt'))).toBe(true);
  });

  it('programs use it in one line', async () => {
    writeFileSync(
      inWorkspace('list.mjs'),
      `import { execFileSync } from 'node:child_process';\nconst { items } = JSON.parse(execFileSync('actions', ['run', 'file_list']));\nconsole.log(items.length > 0);\n`,
    );
    expect((await bash('node list.mjs')).output).toBe('true');
  });

  it('an agent without actions has no such command; one that names an action runs that one', async () => {
    await ada.client.put(`/api/workspaces/${workspace_id}/files/content`, {
      path: '.agents/plain-bash.md',
      content: '---\ntools: [bash]\n---\n',
    });
    await ada.client.put(`/api/workspaces/${workspace_id}/files/content`, {
      path: '.agents/cleaner-bash.md',
      content: '---\ntools: [bash, "action:file_delete"]\n---\n',
    });
    expect((await bash('actions list', { agent_name: 'plain-bash' })).output).toContain('not found');
    expect((await bash('actions list', { agent_name: 'cleaner-bash' })).output).toMatch(
      /^file_delete\t[^\n]*$/,
    );
    const deleted = await bash('actions run file_delete \'{"path":"inside.txt"}\'', {
      agent_name: 'cleaner-bash',
    });
    expect(deleted.is_error).toBe(false);
    expect(existsSync(inWorkspace('inside.txt'))).toBe(false);
  });
});

describe('the ledger', () => {
  it('shows everybody their own runs, and the organization’s admins all of them', async () => {
    const { body } = await run(viewer.client, 'file_list');
    expect(await ledger(body.run_id)).toMatchObject({ actor: { id: viewer.id } });
    expect(await ledger(body.run_id, viewer.client)).toMatchObject({ actor: { id: viewer.id } });
    expect(await ledger(body.run_id, outsider.client)).toEqual({ status_code: 404 });
    const mine = await all(viewer.client, '/api/action-runs');
    expect(new Set(mine.map(({ actor }) => actor.id))).toEqual(new Set([viewer.id]));
    const ours = await all(ada.client, `/api/action-runs?organization_id=${ada.organizationId}`);
    expect(ours.map(({ actor }) => actor.id)).toEqual(expect.arrayContaining([ada.id, viewer.id]));
  });

  it('does not let a refused caller write into what others read', async () => {
    const { headers } = await run(outsider.client, 'file_list');
    const id = headers.get('action-run-id') ?? '';
    expect(await ledger(id)).toEqual({ status_code: 404 });
    expect(await ledger(id, outsider.client)).toMatchObject({ organization_id: null, workspace_id: null });
  });

  it('is narrowed by action, caller, status and time', async () => {
    const filters = ['action=file_read', 'caller=site', 'status=validated', `caller=${CALLER.id}`];
    const [reads, sites, dry, site] = await Promise.all(
      filters.map(filter => all(ada.client, `/api/action-runs?${filter}`)),
    );
    expect(new Set(reads?.map(({ action }) => action))).toEqual(new Set(['file_read']));
    expect(new Set(sites?.map(({ caller }) => caller.kind))).toEqual(new Set(['site']));
    expect(new Set(dry?.map(({ status }) => status))).toEqual(new Set(['validated']));
    expect(site?.length).toBeGreaterThan(0);
    const later = '2100-01-01T00:00:00Z';
    expect(await all(ada.client, `/api/action-runs?from=${later}`)).toEqual([]);
    expect((await ada.client.get('/api/action-runs?from=2026-W47')).status).toBe(422);
  });

  it('closes what a process that died left open', async () => {
    const id = '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f';
    await service.database.query(
      `insert into action_run (id, action, effect, dry_run, status, surface, caller_kind, caller_id, actor_type, actor_id,
         actor_name, credential_type, credential_id, started_at)
       values ($1, 'file_list', 'read', false, 'running', 'rest', 'session', 'x', 'user', $2, 'Ada', 'session', 'x',
         now() - interval '7 hours')`,
      [id, ada.id],
    );
    await service.app.get(ActionLedger, { strict: false }).closeAbandoned();
    expect(await ledger(id)).toMatchObject({ status: 'error', error: { status: 500 } });
    const open = await all(ada.client, '/api/action-runs?status=running');
    expect(open).toEqual([]);
  });

  it('cannot be rewritten', async () => {
    const change = service.database.query('update action_run set actor_name = $1', ['Nobody']);
    await expect(change).rejects.toThrow('append-only');
    await expect(service.database.query('delete from action_run')).rejects.toThrow('append-only');
  });
});

// Last: services in one process share passport's strategies, and the newer one's are in force.
it('the command is there without isolation, too', async () => {
  const local = await TestService.start({ SANDBOX_DRIVER: 'unsafe-local' });
  try {
    const person = await local.person();
    const workspace = await local.workspace(person);
    const agent = new AgentClient(person.client);
    const { result } = await agent.run('run actions run file_write \'{"path":"a","content":"b"}\'', {
      workspace_id: workspace,
    });
    expect(JSON.parse(result.toolOutputs[0].output)).toMatchObject({ path: 'a', created: true });
  } finally {
    await local.stop();
  }
});
