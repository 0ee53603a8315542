/** What opens something to others or grants rights: who may do it unasked, by every way there is. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  Client as McpClient,
  StreamableHTTPClientTransport as McpTransport,
} from '@modelcontextprotocol/client';
import { ActionCatalog, ExecTokens } from '../../../src/platform/actions/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import { AgentClient } from '../../harness/agent.js';
import { Automations } from '../../harness/automations.js';
import { Browser } from '../../harness/browser.js';
import { Client, type Json } from '../../harness/client.js';
import { FakeSites } from '../../harness/fake-sites.js';
import { Forge } from '../../harness/forge.js';
import { OAuthClient, startOAuthService } from '../../harness/oauth.js';
import { DEFINITION } from '../../harness/routes.js';
import { sampleInput } from '../../harness/sample-input.js';
import type { Person, TestService } from '../../harness/service.js';

const MCP = { name: 'Desk Assistant', version: '1.0.0' };

let forge: Forge;
let model: FakeOpenAi;
let service: TestService;
let ada: Person;
let guest: Person;
let workspace_id: string;
let agent: AgentClient;
/** A call of each action that exposes something in a workspace. */
let exposing: [string, Json][];

beforeAll(async () => {
  model = await FakeOpenAi.start();
  forge = await Forge.start();
  service = await startOAuthService({
    OUTGOING_PRIVATE_HOSTS: forge.host,
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'fake',
  });
  ada = await service.person('Ada');
  guest = await service.person('Guest');
  workspace_id = await service.workspace(ada, { visibility: 'restricted' });
  await service.join(guest, { organization: ada.organizationId, role: 'guest' });
  await write('plan.md', 'The plan');
  agent = new AgentClient(ada.client);
  exposing = [
    ['egress_update', { mode: 'allow', hosts: ['evil.example'] }],
    ['share_create', { path: 'plan.md' }],
    ['file_invitation_create', { path: 'plan.md', email: 'eve@example.com', role: 'editor' }],
    ['workspace_visibility_set', { visibility: 'org' }],
    ['workspace_member_set', { user_id: guest.id, role: 'admin' }],
    ['workspace_budget_set', { monthly_usd: 1000 }],
  ];
});
afterEach(async () => {
  await service.forgetPolicies();
  model.clear();
});
afterAll(async () => {
  await service?.stop();
  forge?.stop();
  await model?.stop();
});

const write = (path: string, content: string) =>
  ada.client.put(`/api/workspaces/${workspace_id}/files/content`, { path, content });
const define = (name: string, tools: string[]) =>
  write(`.agents/${name}.md`, `---\ndescription: x\ntools: ${JSON.stringify(tools)}\n---\nWork.`);
const policy = (changes: Json) =>
  ada.client.patch(`/api/workspaces/${workspace_id}/approval-policy`, changes);
const inShell = (name: string, input: Json = {}) => `actions run ${name} '${JSON.stringify(input)}' || true`;
const bash = (command: string) => ({ name: 'bash', input: { command } });
const act = (name: string, input: Json = {}) => ({ name: 'actions_run', input: { name, input } });

/** What came out of the calls of one run. */
async function results(tools: Json[], fields: Json = {}, as = agent): Promise<Json[]> {
  model.reply([{ tools }, { text: 'Done.' }]);
  const { result } = await as.run('go', { workspace_id, on_approval: 'refuse', ...fields });
  return result.toolOutputs;
}
async function output(command: string, fields: Json = {}, as = agent): Promise<string> {
  const [{ output: text }] = (await results([bash(command)], fields, as)) as [Json];
  return text;
}
const lastRun = async (action: string): Promise<Json> =>
  (await ada.client.get(`/api/action-runs?action=${action}&limit=1&workspace_id=${workspace_id}`)).body
    .items[0];

/** Nothing of what the scripts wanted has come about. */
async function expectClosed(): Promise<void> {
  const path = `/api/workspaces/${workspace_id}`;
  expect((await ada.client.get(`${path}/egress`)).body).toMatchObject({ mode: 'none', hosts: [] });
  expect((await ada.client.get(`/api/share?workspace_id=${workspace_id}`)).body.items).toEqual([]);
  expect((await ada.client.get(`/api/file-invitations?workspace_id=${workspace_id}`)).body.items).toEqual([]);
  expect((await ada.client.get(path)).body.visibility).toBe('restricted');
  const members = (await ada.client.get(`${path}/members`)).body.items;
  expect(members.map(({ user_id }: Json) => user_id)).toEqual([ada.id]);
  expect((await ada.client.get(`${path}/budget`)).body.monthly_usd).toBeNull();
}

describe('a script in the sandbox of an agent', () => {
  it('opens nothing to others, under the default policy', async () => {
    const command = exposing.map(([name, input]) => inShell(name, input)).join('\n');
    const said = (await output(command)).split('\n').filter(Boolean);
    expect(said).toHaveLength(exposing.length);
    for (const [index, [name]] of exposing.entries())
      expect(said[index]).toMatch(
        new RegExp(`^actions: ${name} opens something to others.*let the agent call it with actions_run`),
      );
    expect(await output('actions list')).not.toContain('\texpose\t');
    await expectClosed();
    expect(await lastRun('egress_update')).toMatchObject({
      status: 'refused',
      surface: 'sandbox',
      effect: 'expose',
      workspace_id,
      organization_id: ada.organizationId,
      error: { status: 403 },
    });
  });

  it.each([
    [['bash', 'actions_*']],
    [['*', 'action:*']],
    [['bash', 'action:share_*', 'action:egress_updat*']],
  ])('is opened nothing by a glob: %j', async tools => {
    await define('globber', tools);
    const said = await output(exposing.map(([name, input]) => inShell(name, input)).join('\n'), {
      agent_name: 'globber',
    });
    expect(said.match(/opens something to others/g)).toHaveLength(exposing.length);
    await expectClosed();
  });

  it('does what its agent’s own file names in full, until somebody sets a policy', async () => {
    await define('publisher', ['bash', 'action:share_create']);
    const fields = { agent_name: 'publisher' };
    const share = inShell('share_create', { path: 'plan.md' });
    const { id } = JSON.parse(await output(share, fields));
    expect((await ada.client.delete(`/api/share/${id}`)).status).toBe(200);
    expect(await output(inShell('egress_update', { mode: 'allow' }), fields)).toContain('opens something');
    await policy({ deadline_seconds: 60 });
    expect(await output(share, fields)).toContain('share_create is expose and needs an approval');
    await policy({ expose: 'deny' });
    expect(await output(share, fields)).toContain('the policy of the workspace denies that');
    await expectClosed();
  });

  it('is not opened anything by a file that it wrote itself, nor by one that the agent above does not have', async () => {
    const file = '---\ndescription: x\ntools: [bash, "action:share_create"]\n---\nWork.';
    const send = { agent_name: 'sneaky', message: 'run', workspace_id };
    const share = inShell('share_create', { path: 'plan.md' });
    model.reply([
      {
        tools: [
          bash(`mkdir -p .agents; printf '%s' '${file}' > .agents/sneaky.md\n${inShell('agent_send', send)}`),
        ],
      },
      { tools: [bash(share)] },
      { tools: [bash(share)] },
      { text: 'Done.' },
      { text: 'Done.' },
    ]);
    const first = await agent.run('go', { workspace_id });
    const [started] = (await ada.client.get(`/api/agent/runs?workspace_id=${workspace_id}&limit=1`)).body
      .items;
    if (started && started.call_id !== first.call_id) await agent.ended(started);
    await expectClosed();
    model.clear();
    model.reply([
      { tools: [{ name: 'task', input: { agent: 'sneaky', prompt: 'share it' } }] },
      { tools: [bash(share)] },
      { text: 'Tried.' },
      { text: 'Done.' },
    ]);
    await agent.run('go', { workspace_id });
    await expectClosed();
  });

  it('is opened nothing by a file that it made look as a person left it', async () => {
    const lead = '---\ndescription: x\ntools: [bash, "action:file_list"';
    const forged = `${lead}, "action:share_create"]\n---\nWork.`;
    const own = `${lead}]\n---\nWork.`.padEnd(forged.length, '.');
    await write('.agents/double.md', own);
    const file = '.agents/double.md';
    const forge = [
      `time=$(stat -c %y ${file})`,
      `printf '%s' '${forged}' > ${file}`,
      `touch -d "$time" ${file}`,
      'echo forged; until [ -e go.txt ]; do sleep 0.1; done; rm go.txt',
    ];
    model.reply({ tools: [bash(forge.join('\n'))] });
    const forger = await agent.send('go', { workspace_id });
    await agent.until(forger, ({ event }) => event === 'tool.output');
    const share = inShell('share_create', { path: 'plan.md' });
    expect(await output(share, { agent_name: 'double' })).toContain('share_create opens something to others');
    model.reply({ text: 'Done.' });
    await write('go.txt', '');
    await agent.ended(forger);
    expect(await output(share, { agent_name: 'double' })).toContain('share_create opens something to others');
    await expectClosed();
  });

  it('destroys nothing by a file that it wrote itself, nor does the agent that the file names', async () => {
    const file =
      '---\ndescription: x\ntools: [bash, "action:run_stop", "action:workspace_delete"]\n---\nWork.';
    const doomed = await service.workspace(ada);
    const save = bash(`mkdir -p .agents; printf '%s' '${file}' > .agents/wrecker.md`);
    await results([save], { workspace_id: doomed });
    const fields = { workspace_id: doomed, agent_name: 'wrecker' };
    const clear = inShell('run_stop', { chat_id: doomed, clear_queue: true });
    const [script, called] = await results(
      [bash(`${inShell('workspace_delete')}; ${clear}`), act('workspace_delete')],
      fields,
    );
    expect(script?.output).toContain('A run does not clear a queue');
    expect(script?.output).toContain('the file of this agent was not last saved by a person');
    expect(called).toMatchObject({ is_error: true, output: expect.stringContaining('needs an approval') });
    expect((await ada.client.get(`/api/workspaces/${doomed}`)).status).toBe(200);
    const path = '.agents/wrecker.md';
    await ada.client.put(`/api/workspaces/${doomed}/files/content`, { path, content: file });
    model.reply({ tools: [act('workspace_delete')] });
    await agent.send('go', { ...fields, on_approval: 'refuse' });
    const isThere = async () => (await ada.client.get(`/api/workspaces/${doomed}`)).status === 200;
    while (await isThere()) await sleep(100);
  });

  it('is bound by a policy that somebody has set, for every effect', async () => {
    const calls = `${inShell('file_write', { path: 'new.txt', content: 'x' })}; ${inShell('file_list')}; ${inShell('agent_send', { message: 'x' })}`;
    await policy({ write: 'ask' });
    model.reply({ tools: [bash(calls)] });
    const run = await agent.send('go', { workspace_id, on_approval: 'wait' });
    await agent.until(run, ({ event }) => event === 'approval.requested');
    const { body } = await ada.client.get(`/api/agent/approvals?chat_id=${run.chat_id}&status=pending`);
    model.reply({ text: 'Done.' });
    await ada.client.post(`/api/agent/approvals/${body.items[0].id}`, { decision: 'allow', scope: 'run' });
    const { result } = await agent.ended(run);
    const said = result.toolOutputs[0].output;
    expect(said).toMatch(
      /file_write is write and needs an approval\. A script cannot ask a person: let the agent/,
    );
    expect(said).toMatch(/agent_send is write and needs an approval/);
    expect(said).toContain('"items"');
    await policy({ write: 'auto', read: 'deny' });
    expect(await output(inShell('file_list'))).toContain(
      'file_list is read, and the policy of the workspace denies',
    );
  });

  it('has no better luck with an exec token of its run', async () => {
    const tokens = service.app.get(ExecTokens, { strict: false });
    const key = await service.key(ada);
    const { body: principal } = await key.get('/api/auth/principal');
    const actor = { type: 'user', id: ada.id, name: 'Ada', email: null, credential: principal.credential };
    const caller = { kind: 'run', id: workspace_id } as const;
    const expiresAt = new Date(Date.now() + 3_600_000);
    const token = await service.app.get(Database, { strict: false }).transaction(unit =>
      tokens.mint(unit, {
        actor: { ...actor, credential: { ...actor.credential, scopes: null } } as never,
        caller,
        workspaceId: workspace_id,
        actions: ['*'],
        expiresAt,
      }),
    );
    const program = new Client(service.url, { authorization: `Bearer ${token}` });
    for (const [name, input] of exposing)
      expect((await program.post(`/api/actions-exec/${name}`, { input })).status).toBe(403);
    await expectClosed();
  });
});

describe('an agent that would open something to others', () => {
  it('always has a person asked, once for each call, whatever the policy and its own file say', async () => {
    await define('publisher', ['bash', 'action:share_create']);
    await policy({ read: 'auto', write: 'auto', destructive: 'auto' });
    for (const fields of [{}, { agent_name: 'publisher' }]) {
      model.reply({ tools: [act('share_create', { path: 'plan.md' })] });
      const run = await agent.send('go', { workspace_id, ...fields });
      await agent.until(run, ({ event }) => event === 'approval.requested');
      const { body } = await ada.client.get(`/api/agent/approvals?chat_id=${run.chat_id}&status=pending`);
      expect(body.items).toMatchObject([
        {
          tool: 'share_create',
          effect: 'expose',
          consequence: expect.stringContaining('Whoever has the link'),
        },
      ]);
      const address = `/api/agent/approvals/${body.items[0].id}`;
      expect((await ada.client.post(address, { decision: 'allow', scope: 'run' })).status).toBe(422);
      model.reply({ text: 'Done.' });
      await ada.client.post(address, { decision: 'allow' });
      const { result } = await agent.ended(run);
      const { output: made } = JSON.parse(result.toolOutputs[0].output);
      await ada.client.delete(`/api/share/${made.id}`);
    }
    await expectClosed();
  });

  it('is refused where the policy denies it, and that is in the ledger', async () => {
    expect((await policy({ expose: 'auto' })).status).toBe(422);
    await policy({ expose: 'deny' });
    const [refused] = (await results([act('share_create', { path: 'plan.md' })])) as [Json];
    expect(refused).toMatchObject({ is_error: true, output: expect.stringContaining('denies that') });
    expect(await lastRun('share_create')).toMatchObject({
      status: 'refused',
      surface: 'agent',
      error: { status: 403, detail: refused.output },
    });
    await expectClosed();
  });

  it('is refused where nobody can be asked', async () => {
    const program = new AgentClient(await service.key(ada));
    const calls = exposing.map(([name, input]) => act(name, input));
    for (const { is_error, output: said } of await results(calls, {}, program))
      expect([is_error, said]).toEqual([true, expect.stringContaining('no one is asked in this run')]);
    await expectClosed();
  });
});

describe('an application that was let in', () => {
  const scope = 'read write members:write billing:write';
  let client: OAuthClient;
  beforeAll(async () => {
    client = await OAuthClient.register(service);
  });

  async function overMcp<T>(capabilities: Json, answer: Json, work: (mcp: Json) => Promise<T>): Promise<T> {
    const { access_token } = await client.authorize(ada, { scope });
    const mcp = new McpClient(MCP, { capabilities });
    if (capabilities.elicitation)
      mcp.setRequestHandler('elicitation/create', async ({ params }: Json) => {
        asked.push(params.message);
        return answer;
      });
    const headers = { authorization: `Bearer ${access_token}` };
    await mcp.connect(new McpTransport(new URL(`${service.url}/mcp`), { requestInit: { headers } }));
    try {
      return await work(mcp);
    } finally {
      await mcp.close();
    }
  }
  let asked: string[] = [];
  const calling = ([name, input]: [string, Json]) => ({
    name: 'actions_write',
    arguments: { name, workspace_id, input },
  });

  it('has its person asked over MCP, for each call, and is refused where they say no', async () => {
    asked = [];
    await overMcp({ elicitation: {} }, { action: 'accept', content: { allow: false } }, async mcp => {
      for (const each of exposing) {
        const answer = await mcp.callTool(calling(each));
        expect([each[0], answer.isError, answer.content[0].text]).toEqual([
          each[0],
          true,
          expect.stringContaining('said no'),
        ]);
        expect(await lastRun(each[0])).toMatchObject({ status: 'refused', surface: 'mcp', dry_run: false });
      }
    });
    expect(asked).toHaveLength(exposing.length);
    expect(asked[0]).toContain('can then send what it reads to these hosts');
    expect(asked[0]).not.toContain('cannot be taken back');
    await expectClosed();
  });

  it('is given a link where it cannot ask, and may do it once when they agree', async () => {
    await overMcp({}, {}, async mcp => {
      const share = calling(['share_create', { path: 'plan.md' }]);
      const refused = await mcp.callTool(share);
      expect(refused.content[0].text).toMatch(/share_create opens something to others.*ask them to open/);
      await expectClosed();
      const link = /http\S+\/approvals\/[\w-]+/.exec(refused.content[0].text)?.[0] ?? '';
      const browser = new Browser(service.url);
      const { email, password } = ada;
      const page = await browser.submit(await browser.open(link), '/sign-in', { email, password });
      expect(page.html).toContain('Whoever has the link can then reach the file or folder');
      await browser.submit(page, '/decide', { decision: 'allow' });
      const done = await mcp.callTool(share);
      expect(done.structuredContent.status).toBe('completed');
      await ada.client.delete(`/api/share/${done.structuredContent.output.id}`);
    });
    await expectClosed();
  });

  it('is refused over REST, by the route and by the catalog, with a sentence that says what to do', async () => {
    const { access_token } = await client.authorize(ada, { scope, resource: `${service.url}/api` });
    const api = client.as(access_token);
    const answers = [
      await api.post('/api/share', { workspace_id, path: 'plan.md' }),
      await api.patch(`/api/workspaces/${workspace_id}/egress`, { mode: 'allow' }),
      await api.patch(`/api/workspaces/${workspace_id}/visibility`, { visibility: 'org' }),
      await api.post(`/api/workspaces/${workspace_id}/duplicate`, { name: 'Copy' }),
      ...(await Promise.all(
        exposing.map(([name, input]) => api.post(`/api/actions/${name}/run`, { workspace_id, input })),
      )),
    ];
    for (const { status, body } of answers)
      expect([status, body.detail]).toEqual([403, expect.stringContaining('asks its person first')]);
    const { body } = await api.get('/api/actions?effect=expose');
    expect(body.items).toEqual([]);
    await expectClosed();
  });

  it('gets no further by an agent that it sends, and by files that it writes', async () => {
    await overMcp({}, {}, async mcp => {
      const content = '---\ndescription: x\ntools: [bash, "action:share_create"]\n---\nWork.';
      const path = '.agents/hers.md';
      await mcp.callTool({ name: 'write_file', arguments: { workspace_id, path, content } });
      model.reply([{ tools: [bash(inShell('share_create', { path: 'plan.md' }))] }, { text: 'Done.' }]);
      const message = { workspace_id, message: 'go', agent_name: 'hers' };
      const sent = await mcp.callTool({ name: 'send_message', arguments: message });
      const { result } = await agent.ended(sent.structuredContent);
      expect(result.toolOutputs[0].output).toContain('was not started by a person');
    });
    await expectClosed();
  });
});

it('a person and their own key are not asked, and the audit log tells of every action that exposes', async () => {
  const organization_id = ada.organizationId;
  const made = async (path: string, body: Json) => (await ada.client.post(path, body)).body;
  const account = await made('/api/service-accounts', { organization_id, name: 'Bot', role: 'member' });
  const accountKey = await made(`/api/service-accounts/${account.id}/keys`, { name: 'CI' });
  const key = await made('/api/keys', { name: 'CI' });
  const link = await made('/api/share', { workspace_id, path: 'plan.md' });
  const invitation = await made(`/api/organizations/${organization_id}/invitations`, {
    email: 'a@example.com',
  });
  const webhook = await made('/api/notifications/webhooks', {
    organization_id,
    url: 'https://localhost:8443/',
  });
  const remote = { organization_id, owner: 'organization', name: 'Remote', url: 'https://localhost:8443/' };
  const connector = await made('/api/connectors', { ...remote, auth: 'bearer', token: 'sample' });
  const questions = 'title: T\nfields:\n  - { id: a, label: A, type: text }\n';
  for (const path of ['one.form', 'two.form'])
    await ada.client.put(`/api/workspaces/${workspace_id}/files/content`, { path, content: questions });
  const form = await made(`/api/workspaces/${workspace_id}/forms/share`, { path: 'one.form' });
  const serverInput = { workspace_id, name: 'App', slug: 'ada-app', command: 'true', start: false };
  const server = (await ada.client.post('/api/tunnels', serverInput)).body;
  const site = await FakeSites.of(service).make(service, ada, 'docs', workspace_id);
  const template = (await ada.client.post('/api/templates', { workspace_id })).body;
  await ada.client.events(`/api/operations/${template.operation_id}/events`);
  await made('/api/integrations/providers', { organization_id, definition: DEFINITION });
  const ofClient = { organization_id, provider: 'acme', client_id: 'client' };
  await ada.client.put('/api/integrations/providers/acme/client', { organization_id, client_id: 'client' });
  const { connection } = await made('/api/integrations', { organization_id, provider: 'acme' });
  await forge.connect(ada, workspace_id);
  const repository = await forge.clone(ada, { workspace_id, url: forge.add('one.git', 1) });
  const automations = new Automations(ada.client, workspace_id);
  const automation = await automations.deploy(
    await automations.script('exposed', 'true', 'on:\n  - webhook: {}'),
  );
  await ada.client.post(`/api/automation/deployments/${automation.id}/pause`, {});
  const successor = await service.person('Successor');
  await service.join(successor, { organization: organization_id, role: 'admin' });
  await policy({ write: 'ask' });
  model.reply({ tools: [{ name: 'write_file', input: { path: 'asked.txt', content: 'x' } }] });
  const run = await agent.send('go', { workspace_id, on_approval: 'wait' });
  await agent.until(run, ({ event }) => event === 'approval.requested');
  const { body } = await ada.client.get(`/api/agent/approvals?chat_id=${run.chat_id}&status=pending`);
  const inputs: Json = {
    approval_decide: { approval_id: body.items[0].id, decision: 'deny' },
    automation_deploy: { workspace_id, file_path: automation.file_path },
    automation_resume: { id: automation.id },
    automation_rollback: { id: automation.id, version: 1 },
    automation_secret_rotate: { id: automation.id, trigger_id: automation.triggers[0].id },
    file_invitation_create: { workspace_id, path: 'plan.md', email: 'b@example.com', role: 'viewer' },
    form_preview: { workspace_id, path: 'one.form' },
    form_share: { workspace_id, path: 'two.form' },
    form_update: { id: form.id, paused: true },
    integration_authorize: { id: connection.id },
    integration_client_set: ofClient,
    integration_create: { organization_id, provider: 'acme' },
    integration_grant_set: { id: connection.id, grants: [{ workspace_id }] },
    integration_provider_create: { organization_id, definition: { ...DEFINITION, id: 'other' } },
    integration_provider_update: { organization_id, provider: 'acme', definition: DEFINITION },
    integration_update: { id: connection.id, name: 'Renamed' },
    invitation_create: { organization_id, email: 'c@example.com' },
    invitation_resend: { organization_id, id: invitation.id },
    git_repo_push: { id: repository },
    key_rotate: { id: key.id },
    key_update: { id: key.id, name: 'Renamed' },
    member_update: { organization_id, user_id: successor.id, role: 'member' },
    organization_transfer: { organization_id, user_id: successor.id },
    service_account_adopt: { id: account.id },
    service_account_update: { id: account.id, name: 'Robot' },
    service_account_key_create: { id: account.id, name: 'Other' },
    service_account_key_rotate: { id: account.id, key_id: accountKey.id },
    share_create: { workspace_id, path: 'plan.md' },
    share_update: { id: link.id, allow: 'download' },
    server_access_set: { server_id: server.id, mode: 'public' },
    server_token_create: { server_id: server.id, name: 'CI' },
    site_access_set: { site_id: site.id, mode: 'public' },
    site_token_create: { site_id: site.id, name: 'CI' },
    template_update: { id: template.template_id, visibility: 'org' },
    workspace_member_set: { workspace_id, user_id: guest.id, role: 'viewer' },
    egress_update: { workspace_id, mode: 'none' },
    exposure_limit_set: { organization_id, max_exposure: 'public' },
    model_settings_update: { organization_id, enabled: ['local/fake'] },
    agent_instructions_set: { organization_id, instructions: 'Be brief.' },
    connector_authorize: { id: connector.id, token: 'another' },
    connector_create: { ...remote, auth: 'none' },
    connector_tool_update: { id: connector.id },
    connector_update: { id: connector.id, name: 'Renamed' },
    connector_workspace_set: { id: connector.id, grants: [{ workspace_id }] },
    webhook_create: { organization_id, url: 'https://localhost:8443/' },
    webhook_enable: { id: webhook.id },
    webhook_rotate: { id: webhook.id },
    webhook_update: { id: webhook.id, description: 'Renamed' },
  };
  const client = await service.key(ada);
  const actions = service.app
    .get(ActionCatalog, { strict: false })
    .list()
    .filter(({ declaration }) => declaration.effect === 'expose');
  const count = async () =>
    Number((await service.database.query<{ n: string }>('select count(*) as n from audit_entry'))[0]?.n);
  // What hands the organization over comes last.
  const last = (name: string) => Number(name === 'organization_transfer');
  for (const action of actions.toSorted((a, b) => last(a.name) - last(b.name))) {
    const caller = action.declaration.sessionOnly ? ada.client : client;
    const input =
      inputs[action.name] ?? sampleInput(action.describe() as Json, { workspace_id, organization_id });
    const before = await count();
    const { status, body: answer } = await caller.post(`/api/actions/${action.name}/run`, { input });
    expect([action.name, status, answer.detail]).toEqual([action.name, 200, undefined]);
    expect([action.name, (await count()) > before]).toEqual([action.name, true]);
  }
  expect(actions.length).toBeGreaterThan(20);
});
