import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import { AgentClient, startAgents } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let model: FakeOpenAi;
let ada: Person;
let viewer: Person;
let stranger: Person;
let workspace: string;

beforeAll(async () => {
  model = await FakeOpenAi.start();
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'fake',
  });
  ada = await service.person('Ada');
  viewer = await service.person('Viewer');
  stranger = await service.person('Stranger');
  workspace = await service.workspace(ada, { visibility: 'restricted' });
  await service.join(viewer, {
    organization: ada.organizationId,
    role: 'guest',
    workspace,
    workspaceRole: 'viewer',
  });
});
afterAll(async () => {
  await service.stop();
  await model.stop();
});

const send = async (message: string, fields: Json = {}) =>
  (
    await ada.client.post('/api/agent/message', {
      message,
      workspace_id: workspace,
      model: 'atelier/demo',
      ...fields,
    })
  ).body;
const ended = (call_id: string) => new AgentClient(ada.client).ended({ call_id });
const until = (callId: string, type: string) =>
  ada.client.events(`/api/agent/runs/${callId}/events`, { until: event => event.event === type });

describe('stopping', () => {
  it('kills the command at once, keeps what it wrote, and leaves the chat usable', async () => {
    const run = await send('run echo before > kept.txt; echo started; sleep 300; echo after > late.txt');
    await until(run.call_id, 'tool.output');
    expect((await ada.client.post('/api/agent/stop', { call_id: run.call_id })).body).toEqual({
      stopped: [run.call_id],
    });
    expect(await ended(run.call_id)).toMatchObject({
      status: 'completed',
      state: 'done',
      stop_reason: 'stopped',
    });
    const next = await send('run ps -e | grep -c sleep; cat kept.txt', { chat_id: run.chat_id });
    const after = await ended(next.call_id);
    expect(after).toMatchObject({ status: 'completed', stop_reason: 'end_turn' });
    expect(after.result.toolOutputs[0].output).toContain('before');
    expect((await ada.client.get(`/api/workspaces/${workspace}/files/stat?path=late.txt`)).status).toBe(404);
  });

  it('keeps what a command had printed, for its status and for the next turn', async () => {
    model.reply({ tool: { name: 'bash', input: { command: 'echo so far; sleep 300' } } });
    const run = await send('go', { model: 'local/fake' });
    await until(run.call_id, 'tool.output');
    await ada.client.post('/api/agent/stop', { call_id: run.call_id });
    const { result } = await ended(run.call_id);
    expect(result.toolOutputs[0]).toMatchObject({
      is_error: true,
      output: expect.stringMatching(/^so far\n(.|\n)*Stopped before it had finished/),
    });
    model.reply({ text: 'Again' });
    const next = await send('go on', { model: 'local/fake', chat_id: run.chat_id });
    await ended(next.call_id);
    expect(JSON.stringify(model.requests.at(-1))).toContain('so far');
  });

  it('is like an end by a provider that fails for good: what the model had said is kept', async () => {
    model.reply({
      text: 'The answer begins',
      error: { message: 'No more', type: 'invalid_request_error', code: null } as never,
    });
    const run = await send('talk', { model: 'local/fake' });
    const status = await ended(run.call_id);
    expect(status.status).toBe('error');
    expect(status.result.response).toBe('The answer begins');
    const { body } = await ada.client.get(`/api/chats/${run.chat_id}/messages`);
    expect(JSON.stringify(body.items)).toContain('The answer begins');
  });

  it('keeps the text that had been streamed, also for the next turn', async () => {
    model.reply({ text: 'The answer begins', hangAfter: 1 });
    const run = await send('talk', { model: 'local/fake' });
    await until(run.call_id, 'text.delta');
    await ada.client.post('/api/agent/stop', { chat_id: run.chat_id });
    const status = await ended(run.call_id);
    expect(status).toMatchObject({ status: 'completed', stop_reason: 'stopped' });
    expect('The answer begins'.startsWith(status.result.response)).toBe(true);
    expect(status.result.response).not.toBe('');
    model.reply({ text: 'Again' });
    const next = await send('go on', { model: 'local/fake', chat_id: run.chat_id });
    expect((await ended(next.call_id)).result.response).toBe('Again');
    expect(JSON.stringify(model.requests.at(-1))).toContain(status.result.response);
  });

  it('gives calls without a result one, so that the next turn is whole', async () => {
    model.reply({
      tools: [
        { name: 'bash', input: { command: 'echo go; sleep 300' } },
        { name: 'list_files', input: {} },
      ],
    });
    const run = await send('work', { model: 'local/fake' });
    await until(run.call_id, 'tool.output');
    await ada.client.post('/api/agent/stop', { call_id: run.call_id });
    const { result } = await ended(run.call_id);
    expect(result.toolOutputs.map((call: Json) => call.is_error)).toEqual([true, true]);
    expect(result.toolOutputs[0].output).toContain('Stopped before it had finished');
    expect(result.toolOutputs[1].output).toContain('Not run');
  });

  it('is written once: of stops at the same instant one counts, and a late worker changes nothing', async () => {
    const run = await send('run echo go; sleep 300');
    await until(run.call_id, 'tool.output');
    const answers = await Promise.all(
      [1, 2, 3].map(() => ada.client.post('/api/agent/stop', { call_id: run.call_id })),
    );
    expect(answers.flatMap(({ body }) => body.stopped)).toEqual([run.call_id]);
    const events = await ada.client.events(`/api/agent/runs/${run.call_id}/events`);
    expect(events.filter(({ event }) => event === 'run.completed')).toHaveLength(1);
    expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
  });

  it('lets the next message of the chat go, or withdraws all of them', async () => {
    const first = await send('run echo go; sleep 300');
    const second = await send('list', { chat_id: first.chat_id });
    await until(first.call_id, 'tool.output');
    await ada.client.post('/api/agent/stop', { chat_id: first.chat_id });
    expect((await ended(second.call_id)).stop_reason).toBe('end_turn');

    const third = await send('run echo go; sleep 300', { chat_id: first.chat_id });
    const fourth = await send('list', { chat_id: first.chat_id });
    await until(third.call_id, 'tool.output');
    const { body } = await ada.client.post('/api/agent/stop', { chat_id: first.chat_id, clear_queue: true });
    expect([...body.stopped].sort()).toEqual([third.call_id, fourth.call_id].sort());
    expect((await ended(fourth.call_id)).stop_reason).toBe('stopped');
  });

  it('of one that waits leaves the one in flight alone', async () => {
    const first = await send('run echo go; until [ -e go-on ]; do sleep 0.1; done; echo done');
    const second = await send('list', { chat_id: first.chat_id });
    await until(first.call_id, 'tool.output');
    expect((await ada.client.post('/api/agent/stop', { call_id: second.call_id })).body.stopped).toEqual([
      second.call_id,
    ]);
    await ada.client.put(`/api/workspaces/${workspace}/files/content`, { path: 'go-on', content: '' });
    const status = await ended(first.call_id);
    expect(status).toMatchObject({ stop_reason: 'end_turn' });
    expect((await ada.client.get(`/api/agent/runs/${first.call_id}`)).body.attempts).toBe(1);
  });

  it('wants one of call_id and chat_id; a viewer may not; for a stranger nothing is there', async () => {
    const run = await send('list');
    await ended(run.call_id);
    expect((await ada.client.post('/api/agent/stop', {})).status).toBe(422);
    expect((await ada.client.post('/api/agent/stop', { call_id: run.call_id })).body).toEqual({
      stopped: [],
    });
    expect((await viewer.client.post('/api/agent/stop', { call_id: run.call_id })).status).toBe(403);
    expect((await stranger.client.post('/api/agent/stop', { call_id: run.call_id })).status).toBe(404);
  });
});

describe('what others have', () => {
  it('gets the same answers as what is not there, whatever is asked about it', async () => {
    const mallory = await service.person('Mallory');
    model.otherwise({ hang: true });
    const run = await send('first', { model: 'local/fake' });
    const queued = await send('second', { model: 'local/fake', chat_id: run.chat_id });
    const [approval] = await service.database.query(
      `insert into approval (id, subject_kind, organization_id, workspace_id, chat_id, run_id, step, position, call_id, tool, effect,
        input, requested_by, status, expires_at, created_at)
      select gen_random_uuid(), 'run_tool_call', organization_id, workspace_id, chat_id, id, 1, 0, 'call', 'bash', 'write', '{}',
        created_by, 'pending', now() + interval '1 hour', now() from run where id = $1 returning id`,
      [run.call_id],
    );
    const nothing = '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f';
    const { client } = mallory;
    const asked: [string, (id: string) => ReturnType<typeof client.get>][] = [
      [run.call_id, id => client.get(`/api/agent/status/${id}`)],
      [run.call_id, id => client.get(`/api/agent/status/${id}?chat_id=${run.chat_id}`)],
      [run.call_id, id => client.get(`/api/agent/status/${id}?chat_id=${nothing}`)],
      [run.call_id, id => client.get(`/api/agent/runs/${id}`)],
      [run.call_id, id => client.get(`/api/agent/runs/${id}/events`)],
      [run.call_id, id => client.get(`/api/agent/runs?parent_call_id=${id}`)],
      [run.call_id, id => client.post(`/api/agent/runs/${id}/rollback`)],
      [run.call_id, id => client.post('/api/agent/stop', { call_id: id })],
      [run.chat_id, id => client.post('/api/agent/stop', { chat_id: id })],
      [run.chat_id, id => client.get(`/api/chats/${id}`)],
      [run.chat_id, id => client.get(`/api/agent/queue?chat_id=${id}`)],
      [run.chat_id, id => client.get(`/api/agent/approvals?chat_id=${id}`)],
      [queued.message_id, id => client.patch(`/api/agent/queue/${id}`, { message: 'x' })],
      [queued.message_id, id => client.delete(`/api/agent/queue/${id}`)],
      [queued.message_id, id => client.post(`/api/agent/queue/${id}/steer`)],
      [approval?.id, id => client.get(`/api/agent/approvals/${id}`)],
      [approval?.id, id => client.post(`/api/agent/approvals/${id}`, { decision: 'allow' })],
    ];
    for (const [id, ask] of asked) {
      const [foreign, unknown] = [await ask(id), await ask(nothing)];
      expect([foreign.status, foreign.body]).toEqual([unknown.status, unknown.body]);
      expect(foreign.status).toBe(404);
    }
    await ada.client.post('/api/agent/stop', { chat_id: run.chat_id, clear_queue: true });
  });
});

describe('the queue of a chat', () => {
  it('is listed, edited and withdrawn from while its messages wait', async () => {
    const first = await send('run echo go; sleep 300');
    await until(first.call_id, 'tool.output');
    const { chat_id } = first;
    const second = await send('list', { chat_id });
    const third = await send('list', { chat_id });
    const { body } = await ada.client.get(`/api/agent/queue?chat_id=${chat_id}`);
    expect(body.items.map((item: Json) => item.message_id)).toEqual([second.message_id, third.message_id]);
    const path = `/api/agent/queue/${second.message_id}`;
    expect((await viewer.client.patch(path, { message: 'x' })).status).toBe(403);
    expect((await stranger.client.delete(path)).status).toBe(404);
    expect((await ada.client.patch(path, { message: 'write edited.txt: yes' })).body.message).toBe(
      'write edited.txt: yes',
    );
    expect((await ada.client.delete(`/api/agent/queue/${third.message_id}`)).body).toEqual({
      message_id: third.message_id,
      withdrawn: true,
    });
    expect((await ada.client.patch(`/api/agent/queue/${first.message_id}`, { message: 'x' })).status).toBe(
      409,
    );
    await ada.client.post('/api/agent/stop', { call_id: first.call_id });
    expect((await ended(second.call_id)).result.response).toContain('edited.txt');
    expect(
      (await ada.client.get(`/api/chats/${chat_id}/messages`)).body.items.filter(
        (item: Json) => item.role === 'user',
      ),
    ).toHaveLength(2);
  });
});

describe('records', () => {
  it('tell everything of a run, and list those of a chat and of a workspace', async () => {
    const run = await send('write a/b.txt: hi\nlist a');
    await ended(run.call_id);
    const { body } = await viewer.client.get(`/api/agent/runs/${run.call_id}`);
    expect(body).toMatchObject({
      status: 'completed',
      attempts: 1,
      created_by: ada.id,
      files_changed: [{ path: 'a/b.txt', kind: 'created', before: null, after: { size: 2, kept: true } }],
    });
    expect(body.steps.map((step: Json) => step.number)).toEqual([1, 2, 3]);
    const list = await ada.client.get(`/api/agent/runs?chat_id=${run.chat_id}`);
    expect(list.body.items.map((item: Json) => item.call_id)).toEqual([run.call_id]);
    const all = await ada.client.get(`/api/agent/runs?workspace_id=${workspace}&status=completed&limit=1`);
    expect(all.body.items).toHaveLength(1);
    expect(all.body.next_cursor).not.toBeNull();
    expect((await stranger.client.get(`/api/agent/runs/${run.call_id}`)).status).toBe(404);
    expect((await ada.client.get('/api/agent/runs')).status).toBe(422);
  });
});

describe('runs that wait for a worker', () => {
  it('begin in turns among organizations, then among people, whatever others have queued', async () => {
    const ground = await startAgents({ RUN_CONCURRENCY: '1' });
    try {
      const { service: small, ada: first, model: script } = ground;
      const other = await small.person('Grace');
      const colleague = await small.person('Mary');
      await small.join(colleague, { organization: first.organizationId, role: 'member' });
      let release = () => {};
      const after = new Promise<void>(resolve => {
        release = resolve;
      });
      script.reply({ text: 'Done.', after });
      script.otherwise({ text: 'Done.' });
      const sendAs = (person: Person, organization_id: string) =>
        new AgentClient(person.client).send('go', { organization_id, model: 'local/fake' });
      const flood: Json[] = [];
      for (let n = 0; n < 25; n++) flood.push(await sendAs(first, first.organizationId));
      const theirs = await sendAs(other, other.organizationId);
      const beside = await sendAs(colleague, first.organizationId);
      release();
      await Promise.all([
        ...flood.map(run => new AgentClient(first.client).ended(run)),
        new AgentClient(other.client).ended(theirs),
        new AgentClient(colleague.client).ended(beside),
      ]);
      const rows = await small.database.query('select id from run order by started_at');
      const order = rows.map(({ id }): string => id);
      expect(order.indexOf(theirs.call_id)).toBeLessThanOrEqual(2);
      expect(order.indexOf(beside.call_id)).toBeLessThanOrEqual(3);
      const own = order.filter((id: string) => flood.some(({ call_id }) => call_id === id));
      expect(own).toEqual(flood.map(({ call_id }) => call_id));
    } finally {
      await ground.stop();
    }
  });
});
