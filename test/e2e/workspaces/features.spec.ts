/** What the admins of a workspace turn off is off by every way there is, and on again as it was. */
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Client as McpClient,
  StreamableHTTPClientTransport as McpTransport,
} from '@modelcontextprotocol/client';
import pg from 'pg';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import { AgentClient } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';
import { multipart, Visitor } from '../../harness/visitor.js';

const ON = { agents: true, mcp: true, sandbox: true, sharing: true };
const off = (feature: string) => ({
  status: 403,
  body: {
    detail: `The feature ${feature} is turned off in this workspace; an admin of the workspace can turn it on`,
  },
});

let model: FakeOpenAi;
let service: TestService;
let ada: Person;
let bob: Person;
let viewer: Person;
let agent: AgentClient;
let workspace_id: string;
let address: string;
let visit: Visitor['visit'];

beforeAll(async () => {
  model = await FakeOpenAi.start();
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'fake',
  });
  ({ visit } = new Visitor(service.url));
  ada = await service.person('Ada');
  bob = await service.person('Bob');
  viewer = await service.person('Viewer');
  await service.join(bob, { organization: ada.organizationId, role: 'admin' });
  agent = new AgentClient(ada.client);
});
afterAll(async () => {
  await service?.stop();
  await model?.stop();
});
beforeEach(async () => {
  workspace_id = await service.workspace(ada, { visibility: 'restricted' });
  const place = { organization: ada.organizationId, workspace: workspace_id };
  await service.join(viewer, { ...place, role: 'guest', workspaceRole: 'viewer' });
  address = `/api/workspaces/${workspace_id}`;
  await write('plan.md', 'The plan');
});
afterEach(() => model.clear());

const write = (file: string, content: string) =>
  ada.client.put(`${address}/files/content`, { path: file, content });
const turn = async (changes: Json, by = ada): Promise<Json> => {
  const { status, body } = await by.client.patch(`${address}/features`, changes);
  if (status !== 200) throw new Error(`turning answered ${status}: ${JSON.stringify(body)}`);
  return body;
};
const act = (name: string, input: Json, by = ada) =>
  by.client.post(`/api/actions/${name}/run`, { workspace_id, input });
const bash = (command: string) => ada.client.post(`${address}/tools/bash`, { input: { command } });
const send = (fields: Json = {}) =>
  ada.client.post('/api/agent/message', { message: 'list', workspace_id, model: 'atelier/demo', ...fields });

/** Resolves when the history has what was written so far: what makes it so would wait for the transaction below, too. */
async function captured(): Promise<void> {
  const left = () =>
    service.database.query('select 1 from workspace_change where workspace_id = $1 and not captured', [
      workspace_id,
    ]);
  while ((await left()).length > 0) await sleep(20);
}

/** Turns a feature off in a transaction that is held open until `meanwhile` waits for it. */
async function turnOffDuring<T>(feature: string, meanwhile: () => Promise<T>): Promise<T> {
  await captured();
  const client = new pg.Client({ connectionString: service.database.url });
  await client.connect();
  try {
    await client.query('begin');
    const { rows } = await client.query('select pg_backend_pid() as pid');
    await client.query('select 1 from workspace where id = $1 for update', [workspace_id]);
    await client.query('update workspace set features_off = array[$2] where id = $1', [
      workspace_id,
      feature,
    ]);
    let isOver = false;
    const under = meanwhile().finally(() => {
      isOver = true;
    });
    const waits = async () =>
      (
        await service.database.query(
          'select from pg_stat_activity where datname = current_database() and $1::int = any(pg_blocking_pids(pid))',
          [rows[0].pid],
        )
      ).length > 0;
    while (!isOver && !(await waits())) await sleep(20);
    await client.query('commit');
    return await under;
  } finally {
    await client.end();
  }
}

describe('the features of a workspace', () => {
  it('are all on, seen by whoever sees the workspace, and set by its admins', async () => {
    const stranger = await service.person('Stranger');
    const features = `${address}/features`;
    for (const person of [ada, bob, viewer])
      expect(await person.client.get(features)).toMatchObject({ status: 200, body: ON });
    expect((await viewer.client.patch(features, { sharing: false })).status).toBe(403);
    expect((await stranger.client.get(features)).status).toBe(404);
    expect((await stranger.client.patch(features, { sharing: false })).status).toBe(404);
    expect(await ada.client.patch(features, { telepathy: false })).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('telepathy') },
    });
    expect((await ada.client.patch(features, { sharing: 'no' })).status).toBe(422);
    expect(await turn({ sharing: false, mcp: null })).toEqual({ ...ON, sharing: false });
    expect(await turn({ sharing: false })).toEqual({ ...ON, sharing: false });
    expect((await viewer.client.get(features)).body).toEqual({ ...ON, sharing: false });
    expect(await turn({ agents: false, sharing: true })).toEqual({ ...ON, agents: false });
    const audited = await service.database.query(
      "select actor_id, details from audit_entry where action = 'workspace.set_features' and workspace_id = $1 order by id",
      [workspace_id],
    );
    expect(audited).toEqual([
      { actor_id: ada.id, details: { from: { sharing: true }, to: { sharing: false } } },
      { actor_id: ada.id, details: { from: { sharing: false }, to: { sharing: false } } },
      {
        actor_id: ada.id,
        details: { from: { agents: true, sharing: false }, to: { agents: false, sharing: true } },
      },
    ]);
  });

  it('are each as the last one set it, where two admins set different ones at once', async () => {
    const names = Object.keys(ON);
    await Promise.all(names.map((name, index) => turn({ [name]: false }, index % 2 === 0 ? ada : bob)));
    expect(await turn({})).toEqual(Object.fromEntries(names.map(name => [name, false])));
    await Promise.all(names.map((name, index) => turn({ [name]: true }, index % 2 === 0 ? bob : ada)));
    expect(await turn({})).toEqual(ON);
  });

  it('are read and set by actions, and an agent turns one on only where a person is asked', async () => {
    expect((await act('features_update', { sharing: false })).body.output).toEqual({ ...ON, sharing: false });
    expect((await act('features_get', {}, viewer)).body.output).toEqual({ ...ON, sharing: false });
    model.reply([
      { tools: [{ name: 'actions_run', input: { name: 'features_update', input: { sharing: true } } }] },
      { text: 'Done.' },
    ]);
    const { result } = await agent.run('go', { workspace_id, on_approval: 'refuse' });
    expect(result.toolOutputs[0].is_error).toBe(true);
    expect(await turn({})).toEqual({ ...ON, sharing: false });
  });

  it('are in the list of actions only while they are on', async () => {
    const names = async () =>
      (await ada.client.get(`/api/actions?workspace_id=${workspace_id}&q=share&limit=200`)).body.items.map(
        ({ name }: Json) => name,
      );
    expect(await names()).toEqual(expect.arrayContaining(['share_create', 'share_revoke']));
    await turn({ sharing: false });
    expect(await names()).not.toContain('share_create');
    expect(await names()).toContain('share_revoke');
  });

  it('come along to a duplicate', async () => {
    await turn({ sharing: false, sandbox: false });
    const { body } = await ada.client.post(`${address}/duplicate`, { name: 'Copy' });
    await ada.client.events(`/api/operations/${body.operation_id}/events`);
    const { result } = (await ada.client.get(`/api/operations/${body.operation_id}`)).body;
    expect((await ada.client.get(`/api/workspaces/${result.workspace_id}/features`)).body).toEqual({
      ...ON,
      sharing: false,
      sandbox: false,
    });
  });
});

describe('agents', () => {
  it('that are off take no messages, by no way, and do when they are on again', async () => {
    const { chat_id } = (await send()).body;
    await turn({ agents: false });
    expect(await send()).toMatchObject(off('agents'));
    expect(await send({ chat_id })).toMatchObject(off('agents'));
    expect(await act('agent_send', { message: 'list' })).toMatchObject(off('agents'));
    expect(await callMcp('send_message', { workspace_id, message: 'list' })).toContain(
      'agents is turned off',
    );
    expect((await ada.client.get(`/api/chats/${chat_id}/messages`)).status).toBe(200);
    expect((await bash('echo still here')).body.output).toBe('still here');
    await turn({ agents: true });
    const again = await send({ chat_id });
    expect((await agent.ended(again.body)).stop_reason).toBe('end_turn');
  });

  it('end what is in flight, what waits behind it, and what waits for a person', async () => {
    const running = (await send({ message: 'run echo begun; sleep 600' })).body;
    await agent.until(running, ({ event }) => event === 'tool.output');
    const queued = (await send({ chat_id: running.chat_id })).body;
    model.reply({
      tools: [{ name: 'actions_run', input: { name: 'share_create', input: { path: 'plan.md' } } }],
    });
    const asking = await agent.send('go', { workspace_id });
    await agent.until(asking, ({ event }) => event === 'approval.requested');
    await turn({ agents: false });
    for (const run of [running, queued, asking])
      expect(await agent.ended(run)).toMatchObject({ status: 'completed', stop_reason: 'stopped' });
    expect((await agent.ended(running)).result.toolOutputs[0].output).toContain('begun');
    const { body } = await ada.client.get(`/api/agent/approvals?chat_id=${asking.chat_id}`);
    expect(body.items).toMatchObject([{ status: 'cancelled' }]);
    await turn({ agents: true });
    const next = (await send({ chat_id: running.chat_id })).body;
    expect((await agent.ended(next)).stop_reason).toBe('end_turn');
  });

  it('do nothing for a message that came in while they were being turned off', async () => {
    const { status, body } = await turnOffDuring('agents', () => send({ message: 'write late.txt: x' }));
    expect(status).toBe(200);
    expect(await agent.ended(body)).toMatchObject({
      status: 'error',
      error: { type: 'authority_lost', message: 'The feature agents is turned off in this workspace' },
    });
    expect(existsSync(path.join(service.dataDir, 'workspaces', workspace_id, 'late.txt'))).toBe(false);
  });
});

describe('the sandbox', () => {
  it('that is off runs nothing, for nobody, and does when it is on again', async () => {
    await turn({ sandbox: false });
    expect(await bash('echo x')).toMatchObject(off('sandbox'));
    expect(await callMcp('bash', { workspace_id, command: 'echo x' })).toContain('sandbox is turned off');
    const run = await agent.run('run echo x', { workspace_id, model: 'atelier/demo' });
    expect(run.result.toolOutputs).toMatchObject([{ is_error: true, output: off('sandbox').body.detail }]);
    const { items } = (await ada.client.get(`${address}/tools`)).body;
    const told = Object.fromEntries(items.map(({ name, reason }: Json) => [name, reason]));
    expect(told).toMatchObject({ bash: off('sandbox').body.detail, read_file: null });
    expect((await ada.client.get(`${address}/files/content?path=plan.md`)).body.content).toBe('The plan');
    await turn({ sandbox: true });
    expect((await bash('echo x')).body.output).toBe('x');
  });

  it('kills what runs in it, sessions included', async () => {
    const session = { session: 'work', input: { command: 'sleep 600 & echo begun' } };
    expect((await ada.client.post(`${address}/tools/bash`, session)).body.output).toContain('begun');
    const command = bash('touch begun; sleep 600; touch late');
    while (!existsSync(path.join(service.dataDir, 'workspaces', workspace_id, 'begun'))) await sleep(20);
    await turn({ sandbox: false });
    expect((await command).body.is_error).toBe(true);
    while ((await ada.client.get(`${address}/sandboxes`)).body.items.length > 0) await sleep(50);
    await turn({ sandbox: true });
    const after = await ada.client.post(`${address}/tools/bash`, {
      session: 'work',
      input: { command: 'jobs; ls' },
    });
    expect(after.body).toMatchObject({ new_session: true, output: expect.not.stringMatching(/sleep|late/) });
  });

  it('ends a command that began while it was being turned off', async () => {
    const { body } = await turnOffDuring('sandbox', () => bash('sleep 600; echo done'));
    expect(body).toMatchObject({ is_error: true, output: expect.not.stringContaining('done') });
  });
});

describe('sharing', () => {
  const share = async (fields: Json = {}): Promise<Json> => {
    const { body } = await ada.client.post('/api/share', { workspace_id, path: 'plan.md', ...fields });
    return { ...body, at: new URL(body.url).pathname };
  };
  const invite = async (email: string): Promise<Json> =>
    (await ada.client.post('/api/file-invitations', { workspace_id, path: 'plan.md', email })).body;

  it('that is off hides links as if there were none, and the same links open again', async () => {
    const file = await share();
    const drop = await share({ path: '', allow: 'upload' });
    const expired = await share();
    await service.database.query("update share_link set expires_at = now() - interval '1 s' where id = $1", [
      expired.id,
    ]);
    const answers = async () =>
      Promise.all([
        visit(file.at),
        visit(`${drop.at}/upload`, multipart([['new.txt', 'x']])),
        visit(expired.at),
        visit(`/s/${'x'.repeat(43)}`),
      ]);
    expect((await answers()).map(({ status }) => status)).toEqual([200, 200, 410, 404]);
    await turn({ sharing: false });
    const hidden = await answers();
    expect(hidden.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    expect(new Set(hidden.map(({ text }) => text)).size).toBe(1);
    expect((await ada.client.get(`/api/share/${file.id}`)).body.state).toBe('suspended');
    await turn({ sharing: true });
    expect((await answers()).map(({ status }) => status)).toEqual([200, 200, 410, 404]);
    expect((await visit(file.at)).text).toContain('The plan');
  });

  it('that is off hides file invitations from the invited, and the same links lead there again', async () => {
    const gil = await service.person('Gil');
    const nina = await service.person('Nina');
    const accepted = await invite(gil.email);
    const open = await invite(nina.email);
    const accept = (person: Person, { token }: Json) =>
      person.client.post(`/api/file-invitations/${token}/accept`);
    expect((await accept(gil, accepted)).status).toBe(200);
    const page = async () => {
      const answer = await service.stranger.raw('GET', new URL(open.link).pathname);
      return { status: answer.status, says: (await answer.text()).includes('Ada shares') };
    };
    const files = () => gil.client.get(`/api/file-invitations/${accepted.id}/files`);
    expect(await page()).toEqual({ status: 200, says: true });
    await turn({ sharing: false });
    expect((await files()).status).toBe(404);
    expect((await gil.client.get(`/api/file-invitations/${accepted.id}/content`)).status).toBe(404);
    expect(await page()).toEqual({ status: 404, says: false });
    expect((await accept(nina, open)).status).toBe(404);
    for (const end of ['decline', 'register'])
      expect(
        (
          await service.stranger.post(
            `/api/file-invitations/${open.token}/${end}`,
            end === 'register' ? { name: 'Nina', password: 'correct horse' } : undefined,
          )
        ).status,
      ).toBe(404);
    await turn({ sharing: true });
    expect((await files()).status).toBe(200);
    expect(await page()).toEqual({ status: 200, says: true });
    expect((await accept(nina, open)).status).toBe(200);
  });

  it('that is off makes and changes none, by no way, and lets those that there are be ended', async () => {
    const { id } = await share();
    const sent = await invite('eve@example.com');
    await write(
      '.agents/publisher.md',
      '---\ndescription: x\ntools: ["bash", "action:share_create"]\n---\nWork.',
    );
    const inSandbox = async () => {
      const command = `actions run share_create '{"path":"plan.md"}'`;
      model.reply([{ tools: [{ name: 'bash', input: { command } }] }, { text: 'Done.' }]);
      const { result } = await agent.run('go', { workspace_id, agent_name: 'publisher' });
      return result.toolOutputs[0].output;
    };
    await turn({ sharing: false });
    expect(await ada.client.post('/api/share', { workspace_id, path: 'plan.md' })).toMatchObject(
      off('sharing'),
    );
    expect(await ada.client.patch(`/api/share/${id}`, { allow: 'download' })).toMatchObject(off('sharing'));
    expect(await act('share_create', { path: 'plan.md' })).toMatchObject(off('sharing'));
    expect(
      await ada.client.post('/api/file-invitations', {
        workspace_id,
        path: 'plan.md',
        email: 'a@example.com',
      }),
    ).toMatchObject(off('sharing'));
    expect(await inSandbox()).toContain('sharing is turned off');
    expect((await ada.client.get(`/api/share?workspace_id=${workspace_id}`)).body.items).toHaveLength(1);
    expect((await ada.client.delete(`/api/share/${id}`)).status).toBe(200);
    expect((await ada.client.delete(`/api/file-invitations/${sent.id}`)).status).toBe(200);
    await turn({ sharing: true });
    expect(JSON.parse(await inSandbox())).toMatchObject({ path: 'plan.md', state: 'active' });
  });
});

describe('a workspace that is turned off over MCP', () => {
  it('is neither listed nor reached over MCP, and by every other way', async () => {
    const { chat_id, call_id } = (await send()).body;
    await agent.ended({ call_id });
    const shared = await ada.client.post('/api/share', { workspace_id, path: 'plan.md' });
    const uri = `atelier://workspace/${workspace_id}/plan.md`;
    const resource = () => mcp(async client => JSON.stringify(await client.readResource({ uri })));
    const read = (name: string, input: Json = {}) => callMcp('actions_read', { name, input });
    await callMcp('list_files', { workspace_id, path: 'plan.md' });
    const lists = async () => ({
      workspaces: await callMcp('list_workspaces'),
      chats: await read('chat_list'),
      shares: await read('share_list'),
      exposed: await read('exposure_list', { organization_id: ada.organizationId }),
      ledger: await read('action_run_list', { workspace_id }),
    });
    for (const said of Object.values(await lists())) expect(said).toContain(workspace_id);
    expect(await resource()).toContain('The plan');
    await turn({ mcp: false });
    const { ledger, ...others } = await lists();
    for (const said of Object.values(others)) expect(said).not.toContain(workspace_id);
    expect(JSON.stringify(ledger)).not.toContain('plan.md');
    const refusal =
      'The feature mcp is turned off in this workspace; an admin of the workspace can turn it on';
    expect(await callMcp('list_files', { workspace_id })).toContain(refusal);
    expect(await callMcp('read_file', { workspace_id, path: 'plan.md' })).toContain(refusal);
    expect(await callMcp('bash', { workspace_id, command: 'cat plan.md' })).toContain(refusal);
    expect(await callMcp('run_status', { call_id })).toContain(refusal);
    expect(await read('chat_get', { id: chat_id })).toContain(refusal);
    expect(await read('share_get', { id: shared.body.id })).toContain(refusal);
    expect(
      await callMcp('actions_write', { name: 'features_update', input: { workspace_id, mcp: true } }),
    ).toContain(refusal);
    await expect(resource()).rejects.toThrow('mcp is turned off');
    expect((await ada.client.get(`${address}/files/content?path=plan.md`)).status).toBe(200);
    expect((await bash('cat plan.md')).body.output).toBe('The plan');
    await turn({ mcp: true });
    for (const said of Object.values(await lists())) expect(said).toContain(workspace_id);
    expect(await callMcp('list_files', { workspace_id })).toContain('plan.md');
  });

  it('goes on with the runs that were started there over MCP', async () => {
    const wait = { name: 'bash', input: { command: 'until [ -e now ]; do sleep 0.05; done' } };
    model.reply([{ tools: [wait] }, { tools: [{ name: 'list_files', input: {} }] }, { text: 'Done.' }]);
    const said = await callMcp('send_message', { workspace_id, message: 'go' });
    const [call_id] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(said) ?? [];
    await agent.until({ call_id }, ({ event }) => event === 'tool.started');
    await turn({ mcp: false });
    writeFileSync(path.join(service.dataDir, 'workspaces', workspace_id, 'now'), '');
    const { result } = await agent.ended({ call_id });
    expect(result.toolOutputs).toMatchObject([
      { is_error: false },
      { is_error: false, output: expect.stringContaining('plan.md') },
    ]);
  });
});

async function mcp<T>(work: (client: McpClient) => Promise<T>): Promise<T> {
  const client = new McpClient(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  const { headers } = ada.client;
  await client.connect(new McpTransport(new URL(`${service.url}/mcp`), { requestInit: { headers } }));
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** What a tool answers, as text. */
const callMcp = (name: string, input: Json = {}): Promise<string> =>
  mcp(async client => JSON.stringify(await client.callTool({ name, arguments: input })));
