import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ApprovalRequests } from '../../../src/agents/approvals/index.js';
import type { Actor } from '../../../src/platform/access/index.js';
import type { FakeOpenAi } from '../../fakes/openai-server.js';
import { AgentClient, type AgentGround, messagesOf, startAgents } from '../../harness/agent.js';
import type { Client, Json } from '../../harness/client.js';
import type { Person, TestService } from '../../harness/service.js';

let ground: AgentGround;
let service: TestService;
let model: FakeOpenAi;
let ada: Person;
let editor: Person;
let viewer: Person;
let stranger: Person;
let agent: AgentClient;
let workspace_id: string;

beforeAll(async () => {
  ground = await startAgents();
  ({ model, service, ada, agent } = ground);
  editor = await service.person('Editor');
  viewer = await service.person('Viewer');
  stranger = await service.person('Stranger');
  workspace_id = await service.workspace(ada, { visibility: 'restricted' });
  for (const [person, workspaceRole] of [
    [editor, 'editor'],
    [viewer, 'viewer'],
  ] as const)
    await service.join(person, {
      organization: ada.organizationId,
      role: 'guest',
      workspace: workspace_id,
      workspaceRole,
    });
});
afterEach(async () => {
  await service.forgetPolicies();
  model.clear();
});
afterAll(() => ground.stop());

const inWorkspace = (file: string) => path.join(service.dataDir, 'workspaces', workspace_id, file);
const policy = (changes: Json, client = ada.client) =>
  client.patch(`/api/workspaces/${workspace_id}/approval-policy`, changes);
const write = (file: string) => ({ name: 'write_file', input: { path: file, content: 'x' } });
const destroy = (file: string) => ({
  name: 'actions_run',
  input: { name: 'file_delete', input: { path: file } },
});
const decide = (id: string, body: Json, client = ada.client) =>
  client.post(`/api/agent/approvals/${id}`, body);
const pending = async (chat: string): Promise<Json[]> =>
  (await ada.client.get(`/api/agent/approvals?chat_id=${chat}&status=pending`)).body.items;
const toolResults = () =>
  messagesOf(model.requests.at(-1) ?? { body: {} })
    .filter(({ role }: Json) => role === 'tool')
    .map(({ content }: Json) => content);

/** A service account that may do all that an admin may. */
async function serviceAccount(): Promise<Client> {
  const account = { organization_id: ada.organizationId, name: 'Bot', role: 'admin' };
  const { body } = await ada.client.post('/api/service-accounts', account);
  const key = await ada.client.post(`/api/service-accounts/${body.id}/keys`, { name: 'CI' });
  return service.stranger.with({ 'x-api-key': key.body.api_key });
}

/** A run that waits for somebody to decide about what its model wants to do. */
async function waitingRun(tools: Json[], fields: Json = {}) {
  model.reply({ tools });
  const run = await agent.send('go', { workspace_id, on_approval: 'wait', ...fields });
  await agent.until(run, ({ event }) => event === 'approval.requested');
  return { run, chat_id: run.chat_id as string, asked: await pending(run.chat_id) };
}

describe('a call that a person is asked about', () => {
  it('is made when it is allowed; meanwhile the run waits, and no worker with it', async () => {
    await policy({ write: 'ask' });
    const { run, asked } = await waitingRun([write('allowed.txt')]);
    expect((await ada.client.get(`/api/agent/status/${run.call_id}`)).body).toMatchObject({
      status: 'pending',
      state: 'waiting',
    });
    expect(asked).toMatchObject([
      {
        subject: 'run_tool_call',
        status: 'pending',
        call_id: run.call_id,
        tool: 'write_file',
        effect: 'write',
        input: { path: 'allowed.txt', content: 'x' },
        requested_by: ada.id,
      },
    ]);
    expect(existsSync(inWorkspace('allowed.txt'))).toBe(false);
    const [row] = await service.database.query('select due, holder from run where id = $1', [run.call_id]);
    expect(row).toEqual({ due: false, holder: null });
    model.reply({ text: 'Written.' });
    const decided = await decide(asked[0]?.id, { decision: 'allow' }, editor.client);
    expect(decided).toMatchObject({
      status: 200,
      body: { status: 'allowed', scope: 'once', decided_by: editor.id },
    });
    expect((await agent.ended(run)).result).toMatchObject({
      response: 'Written.',
      toolOutputs: [{ is_error: false }],
    });
    expect(existsSync(inWorkspace('allowed.txt'))).toBe(true);
    const events = await agent.events(run);
    expect(events.map(({ event }) => event)).toEqual([
      'run.queued',
      'run.started',
      'step.started',
      'step.finished',
      'approval.requested',
      'approval.resolved',
      'run.started',
      'tool.started',
      'tool.finished',
      'file.changed',
      'step.started',
      'text.delta',
      'step.finished',
      'run.completed',
    ]);
    expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
  });

  it('is not made when it is denied, and the model reads why', async () => {
    await policy({ write: 'ask' });
    const { run, asked } = await waitingRun([write('denied.txt')]);
    model.reply({ text: 'Left.' });
    await decide(asked[0]?.id, { decision: 'deny', note: 'use the other folder' });
    expect((await agent.ended(run)).result.response).toBe('Left.');
    expect(toolResults()).toEqual(['Denied: use the other folder']);
    expect(existsSync(inWorkspace('denied.txt'))).toBe(false);
  });

  it('asks once for all calls of a step, and for no more of a tool that is allowed for the run', async () => {
    await policy({ write: 'ask' });
    const { run, chat_id, asked } = await waitingRun([write('1.txt'), write('2.txt'), destroy('none.txt')]);
    expect(asked).toHaveLength(3);
    const first = asked.find(({ input }) => input.path === '1.txt');
    await decide(first?.id, { decision: 'allow', scope: 'run' });
    const [left] = await pending(chat_id);
    expect(left).toMatchObject({ tool: 'file_delete', effect: 'destructive' });
    model.reply([{ tools: [write('3.txt')] }, { text: 'Done.' }]);
    await decide(left?.id, { decision: 'deny' });
    const { result } = await agent.ended(run);
    expect(result.toolOutputs.map(({ is_error }: Json) => is_error)).toEqual([false, false, true, false]);
    expect(existsSync(inWorkspace('3.txt'))).toBe(true);
    expect((await agent.events(run)).filter(({ event }) => event === 'approval.requested')).toHaveLength(3);
  });

  it('is decided once, by those who may, and by no agent', async () => {
    await policy({ write: 'ask' });
    const { run, asked } = await waitingRun([write('once.txt')]);
    const id = asked[0]?.id;
    expect((await decide(id, { decision: 'allow' }, viewer.client)).status).toBe(403);
    expect((await decide(id, { decision: 'allow' }, stranger.client)).status).toBe(404);
    expect((await viewer.client.get(`/api/agent/approvals/${id}`)).status).toBe(200);
    expect((await stranger.client.get(`/api/agent/approvals?workspace_id=${workspace_id}`)).status).toBe(404);
    expect((await stranger.client.get('/api/agent/approvals')).body.items).toEqual([]);
    const key = await service.key(ada, { scopes: ['agent:run', 'approvals:read'] });
    expect((await decide(id, { decision: 'allow' }, key)).status).toBe(403);
    const program = await decide(id, { decision: 'allow' }, await serviceAccount());
    expect([program.status, program.body.detail]).toEqual([403, expect.stringContaining('Only a person')]);
    model.reply({ text: 'Done.' });
    const answers = await Promise.all([1, 2, 3].map(() => decide(id, { decision: 'allow' })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    await agent.ended(run);
    expect((await decide(id, { decision: 'deny' })).status).toBe(409);

    const other = await waitingRun([write('self.txt')]);
    const [question] = other.asked;
    await policy({ write: 'auto' });
    model.reply([
      {
        tools: [
          {
            name: 'actions_run',
            input: { name: 'approval_decide', input: { approval_id: question?.id, decision: 'allow' } },
          },
          { name: 'actions_run', input: { name: 'approval_policy_update', input: { destructive: 'auto' } } },
        ],
      },
      { text: 'Tried.' },
    ]);
    const { result } = await agent.run('allow it yourself', { workspace_id });
    for (const { output, is_error } of result.toolOutputs)
      expect([is_error, output]).toEqual([true, expect.stringContaining('Only a person')]);
    await ada.client.post('/api/agent/stop', { call_id: other.run.call_id });
  });

  it('is decided by nobody whose own role is too low for it', async () => {
    const input = { name: 'workspace_member_set', input: { user_id: editor.id, role: 'admin' } };
    const { run, asked } = await waitingRun([{ name: 'actions_run', input }]);
    const id = asked[0]?.id;
    expect(asked[0]?.deciders).toEqual({ workspace_roles: ['admin'], person_id: null });
    const refused = await decide(id, { decision: 'allow' }, editor.client);
    expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining('admin role')]);
    model.reply({ text: 'Not done.' });
    expect((await decide(id, { decision: 'deny' })).status).toBe(200);
    await agent.ended(run);
    const { body } = await editor.client.get(`/api/workspaces/${workspace_id}`);
    expect(body.role).toBe('editor');
  });

  it('ends its run with an error when nobody decides in time', async () => {
    await policy({ write: 'ask', deadline_seconds: 1 });
    model.reply({ tools: [write('late.txt')] });
    const run = await agent.send('go', { workspace_id, on_approval: 'wait' });
    const { data } = await agent.until(run, ({ event }) => event === 'approval.requested');
    const { chat_id } = run;
    const next = await agent.send('list', { chat_id, model: 'atelier/demo' });
    expect(await agent.ended(run)).toMatchObject({
      status: 'error',
      error: {
        type: 'approval_expired',
        message: expect.stringContaining('Nobody approved the call of write_file'),
      },
    });
    expect((await agent.ended(next)).status).toBe('completed');
    expect((await ada.client.get(`/api/agent/approvals/${data.approval_id}`)).body.status).toBe('expired');
    expect((await decide(data.approval_id, { decision: 'allow' })).status).toBe(409);
    const events = await agent.events(run);
    expect(events.slice(-2).map(({ event, data }) => [event, data.status])).toEqual([
      ['approval.resolved', 'expired'],
      ['run.failed', undefined],
    ]);
  });

  it('does not hold up a stop, and is of no use after it', async () => {
    await policy({ write: 'ask' });
    const { run, chat_id, asked } = await waitingRun([write('stopped.txt'), write('stopped2.txt')]);
    expect((await ada.client.post('/api/agent/stop', { chat_id })).body.stopped).toEqual([run.call_id]);
    expect(await agent.ended(run)).toMatchObject({ status: 'completed', stop_reason: 'stopped' });
    expect((await decide(asked[0]?.id, { decision: 'allow' })).status).toBe(409);
    expect(await pending(chat_id)).toEqual([]);
    expect(existsSync(inWorkspace('stopped.txt'))).toBe(false);
    expect((await agent.run('list', { chat_id, model: 'atelier/demo' })).status).toBe('completed');
  });

  it('makes way for a message that steers the run', async () => {
    await policy({ write: 'ask' });
    const { run, chat_id } = await waitingRun([write('steered.txt')]);
    model.reply({ text: 'As you say.' });
    await agent.send('no, rather tell me why', { chat_id, delivery: 'steer' });
    expect((await agent.ended(run)).result.response).toBe('As you say.');
    const prompt = messagesOf(model.requests.at(-1) ?? { body: {} }).slice(1);
    expect(prompt.map(({ role }: Json) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(prompt[2].content).toMatch(/^Not run/);
    expect(await pending(chat_id)).toEqual([]);
    expect(existsSync(inWorkspace('steered.txt'))).toBe(false);
  });

  it('ends the sandbox of the run, which the next command tells', async () => {
    const bash = (command: string) => ({ tool: { name: 'bash', input: { command } } });
    model.reply(bash('cd /tmp; pwd'));
    const { run, asked } = await waitingRun([destroy('kept.txt')]);
    model.reply([bash('pwd'), bash('pwd'), { text: 'Done.' }]);
    await decide(asked[0]?.id, { decision: 'deny' });
    await agent.ended(run);
    expect(toolResults()).toEqual([
      '/tmp\nWorking directory: /tmp',
      expect.any(String),
      expect.stringMatching(/^\(The sandbox ended when .* waited .*\)\n\/workspace$/),
      '/workspace',
    ]);
  });

  it('counts not towards the seconds that a run may take', async () => {
    await policy({ write: 'ask' });
    const { run, asked } = await waitingRun([write('slow.txt')], { budget: { max_seconds: 600 } });
    // The question can be seen before the run has stopped to wait for its answer.
    const anHourAgo = () =>
      service.database.query(
        `update run set started_at = started_at - interval '1 hour', waiting_since = waiting_since - interval '1 hour'
         where id = $1 and waiting_since is not null returning id`,
        [run.call_id],
      );
    while ((await anHourAgo()).length === 0) await sleep(20);
    model.reply({ text: 'In time.' });
    await decide(asked[0]?.id, { decision: 'allow' });
    expect((await agent.ended(run)).result.response).toBe('In time.');
  });
});

describe('the policy of a workspace', () => {
  it('is the default until an admin sets it', async () => {
    const read = (client = ada.client) => client.get(`/api/workspaces/${workspace_id}/approval-policy`);
    const standard = {
      read: 'auto',
      write: 'auto',
      destructive: 'ask',
      expose: 'ask',
      deadline_seconds: 3600,
    };
    expect((await read(viewer.client)).body).toEqual({ workspace_id, ...standard, is_default: true });
    expect((await policy({ write: 'ask' }, editor.client)).status).toBe(403);
    expect((await policy({ write: 'ask' }, stranger.client)).status).toBe(404);
    expect((await policy({ write: 'sometimes' })).status).toBe(422);
    expect((await policy({ write: 'ask' })).body).toMatchObject({
      ...standard,
      write: 'ask',
      is_default: false,
    });
    expect((await policy({ deadline_seconds: 60 })).body).toMatchObject({
      write: 'ask',
      deadline_seconds: 60,
    });
  });

  it('denies, or lets through, by effect', async () => {
    writeFileSync(inWorkspace('there.txt'), 'x');
    await policy({ write: 'deny', destructive: 'auto' });
    model.reply([
      { tools: [write('no.txt'), { name: 'list_files', input: {} }, destroy('there.txt')] },
      { text: 'Done.' },
    ]);
    const { result } = await agent.run('go', { workspace_id });
    expect(result.toolOutputs.map(({ is_error }: Json) => is_error)).toEqual([true, false, false]);
    expect(result.toolOutputs[0].output).toContain('the policy of the workspace denies that');
    expect(existsSync(inWorkspace('there.txt'))).toBe(false);
  });

  it('holds for the calls of a run in flight that come after it was set', async () => {
    writeFileSync(inWorkspace('kept.txt'), 'x');
    const command = 'until [ -e go ]; do sleep 0.05; done; echo over';
    const set = Promise.withResolvers<void>();
    model.reply([
      { tools: [{ name: 'bash', input: { command } }, write('late.txt')] },
      { tools: [write('later.txt')], after: set.promise },
      { text: 'Done.' },
    ]);
    const run = await agent.send('go', { workspace_id });
    await agent.until(run, ({ event }) => event === 'tool.started');
    await policy({ write: 'deny' });
    writeFileSync(inWorkspace('go'), '');
    await agent.until(run, ({ event, data }) => event === 'step.started' && data.step === 2);
    await policy({ write: 'auto' });
    set.resolve();
    const { result } = await agent.ended(run);
    expect(result.toolOutputs).toMatchObject([
      { tool: 'bash', is_error: false, output: expect.stringContaining('over') },
      { is_error: true, output: expect.stringContaining('the policy of the workspace denies that') },
      { is_error: false },
    ]);
    expect(existsSync(inWorkspace('late.txt'))).toBe(false);
    expect(existsSync(inWorkspace('later.txt'))).toBe(true);
  });

  it('holds at once for the command that runs actions, also where the agent is named what destroys', async () => {
    writeFileSync(inWorkspace('precious.txt'), 'x');
    mkdirSync(inWorkspace('.agents'), { recursive: true });
    const tools = ['bash', 'actions_run', 'action:file_delete'];
    writeFileSync(
      inWorkspace('.agents/cleaner.md'),
      `---\nname: cleaner\ndescription: Cleans\ntools: [${tools.map(tool => `"${tool}"`).join(', ')}]\n---\nYou clean.`,
    );
    const command = `until [ -e now ]; do sleep 0.05; done; actions run file_delete '{"path":"precious.txt"}'`;
    model.reply([{ tools: [{ name: 'bash', input: { command } }] }, { text: 'Done.' }]);
    const run = await agent.send('go', { workspace_id, agent_name: 'cleaner' });
    await agent.until(run, ({ event }) => event === 'tool.started');
    await policy({ destructive: 'ask' });
    writeFileSync(inWorkspace('now'), '');
    const { result } = await agent.ended(run);
    expect(result.toolOutputs[0].output).toContain('needs an approval');
    expect(existsSync(inWorkspace('precious.txt'))).toBe(true);
  });

  it('asks about what destroys where a person started the run, and refuses it to a program', async () => {
    writeFileSync(inWorkspace('precious.txt'), 'x');
    const program = new AgentClient(await service.key(ada, {}));
    model.reply([{ tools: [destroy('precious.txt')] }, { text: 'Left.' }]);
    const unattended = await program.run('go', { workspace_id });
    expect(unattended.result.toolOutputs[0]).toMatchObject({
      is_error: true,
      output: expect.stringContaining('no one is asked in this run'),
    });
    model.reply({ tools: [destroy('precious.txt')] });
    const run = await agent.send('go', { workspace_id });
    await agent.until(run, ({ event }) => event === 'approval.requested');
    const [question] = await pending(run.chat_id);
    model.reply({ text: 'Deleted.' });
    await decide(question?.id, { decision: 'allow' });
    expect((await agent.ended(run)).result.toolOutputs[0].is_error).toBe(false);
    expect(existsSync(inWorkspace('precious.txt'))).toBe(false);
  });

  it('ends a run that is not to wait, loudly', async () => {
    await policy({ write: 'ask' });
    model.reply({ tools: [write('loud.txt')] });
    expect(await agent.run('go', { workspace_id, on_approval: 'fail' })).toMatchObject({
      status: 'error',
      error: { type: 'approval_required', message: expect.stringContaining('write_file needs an approval') },
    });
    model.reply([{ tools: [write('loud.txt')] }, { text: 'Without.' }]);
    expect((await agent.run('go', { workspace_id, on_approval: 'refuse' })).result.response).toBe('Without.');
    expect(existsSync(inWorkspace('loud.txt'))).toBe(false);
  });
});

it('lets a call from outside through once, when a person has allowed it', async () => {
  const requests = service.app.get(ApprovalRequests, { strict: false });
  const { body: principal } = await ada.client.get('/api/auth/principal');
  const actor = { type: 'user', id: ada.id, name: principal.name, credential: { id: ada.id } } as Actor;
  const call = {
    actor,
    organizationId: ada.organizationId,
    workspaceId: workspace_id,
    tool: 'file_delete',
    effect: 'destructive' as const,
    input: { path: 'x', recursive: true },
    clientName: 'Editor',
  };
  const { id } = await requests.request(call);
  await expect(requests.use(id, call)).rejects.toThrow('not allowed');
  const waiting = requests.awaitDecision(actor, id, new AbortController().signal);
  const itself = await service.key(ada);
  for (const client of [viewer.client, itself])
    expect((await decide(id, { decision: 'allow' }, client)).status).toBe(403);
  expect((await decide(id, { decision: 'allow' }, editor.client)).status).toBe(200);
  expect((await waiting).status).toBe('allowed');
  await expect(requests.use(id, { ...call, input: { path: 'y' } })).rejects.toThrow();
  await requests.use(id, { ...call, input: { recursive: true, path: 'x' } });
  await expect(requests.use(id, call)).rejects.toThrow('used already');
});
