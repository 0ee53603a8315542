import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import { AgentClient, messagesOf, textOf } from '../../harness/agent.js';
import type { StreamEvent } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

const DEMO = { model: 'atelier/demo' };

let model: FakeOpenAi;
let service: TestService;
let ada: Person;
let agent: AgentClient;
let workspace_id: string;

beforeAll(async () => {
  model = await FakeOpenAi.start();
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'small,verse',
  });
  ada = await service.person();
  agent = new AgentClient(ada.client);
  workspace_id = await service.workspace(ada);
});
afterAll(async () => {
  await service.stop();
  await model.stop();
});

/** Replies that wait until they are let go. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>(resolve => {
    open = resolve;
  });
  return { open, opened };
}

describe('sending', () => {
  it('makes a chat on the first send and goes on in it', async () => {
    const first = await agent.send('write notes.txt: hello', { workspace_id, title: 'Notes', ...DEMO });
    expect(first).toEqual({
      call_id: expect.any(String),
      chat_id: expect.any(String),
      message_id: expect.any(String),
      status: 'pending',
      delivery: 'queue',
      queue_position: 0,
    });
    await agent.ended(first);
    const second = await agent.run('read notes.txt', { chat_id: first.chat_id, ...DEMO });
    expect(second.chat_id).toBe(first.chat_id);
    expect(second.result.toolOutputs).toMatchObject([{ tool: 'read_file', output: '1\thello' }]);
    const { body: chat } = await ada.client.get(`/api/chats/${first.chat_id}`);
    expect(chat).toMatchObject({ title: 'Notes', workspace_id, run: { status: 'completed' } });
  });

  it('does several lines in order and tells what each tool gave back', async () => {
    const run = await agent.run('write a.txt: one two\nlist\nrun echo out; echo err >&2; exit 3', {
      workspace_id,
      ...DEMO,
    });
    expect(run).toMatchObject({ status: 'completed', state: 'done', stop_reason: 'end_turn', error: null });
    expect(run.result.response).toContain('atelier/demo');
    expect(run.result.toolOutputs).toMatchObject([
      { tool: 'write_file', input: { path: 'a.txt', content: 'one two' }, is_error: false },
      { tool: 'list_files', output: expect.stringContaining('a.txt (7 bytes)'), is_error: false },
      { tool: 'bash', output: expect.stringContaining('Exit code 3.'), is_error: true },
    ]);
    for (const { duration_ms } of run.result.toolOutputs) expect(duration_ms).toBeGreaterThanOrEqual(0);
    expect(run.cost_usd).toBe(0);
    expect(run.usage.input_tokens).toBeGreaterThan(0);
    expect(Date.parse(run.finished_at)).toBeGreaterThanOrEqual(Date.parse(run.started_at));
  });

  it('has neither files nor sandbox in a chat without a workspace', async () => {
    const run = await agent.run('list', DEMO);
    expect(run.result.response).toContain('the tool list_files is not offered here');
  });

  it.each([
    ['model', { model: 'nobody/nothing' }],
    ['message', { message: ' ' }],
    ['agent_name', { agent_name: 'reviewer' }],
    ['delivery', { delivery: 'teleport' }],
  ])('names %s when it is wrong', async (field, input) => {
    const { status, body } = await ada.client.post('/api/agent/message', { message: 'list', ...input });
    expect(status).toBe(422);
    expect(body.detail).toMatch(new RegExp(`^${field}`));
  });

  it('refuses to change the place of a chat', async () => {
    const { body: chat } = await ada.client.post('/api/agent', { workspace_id });
    const elsewhere = { workspace_id: await service.workspace(ada), chat_id: chat.id };
    const { status, body } = await ada.client.post('/api/agent/message', { message: 'list', ...elsewhere });
    expect([status, body.detail]).toEqual([422, 'workspace_id is not that of the chat']);
    const same = { workspace_id: workspace_id.toUpperCase(), chat_id: chat.id.toUpperCase() };
    expect((await agent.run('list', { ...same, ...DEMO })).status).toBe('completed');
  });

  it('takes a key with the scope agent:run only, for a new chat as for an old one', async () => {
    const chatter = await service.key(ada, { scopes: ['chats:read', 'chats:write'] });
    const { status, body } = await chatter.post('/api/agent/message', { message: 'list', workspace_id });
    expect([status, body.detail]).toEqual([403, 'This key lacks the scope agent:run']);
  });

  it('makes one chat of two first sends at once, and runs them one after the other', async () => {
    const chat_id = randomUUID();
    const held = gate();
    model.reply({ text: 'First.', after: held.opened });
    model.reply({ text: 'Second.' });
    const sent = await Promise.all([1, 2].map(n => agent.send(`go ${n}`, { chat_id, workspace_id })));
    expect(sent.map(({ queue_position }) => queue_position).sort()).toEqual([0, 1]);
    held.open();
    const runs = await Promise.all(sent.map(one => agent.ended(one)));
    const [first, second] = runs.sort((a, b) => (a.started_at < b.started_at ? -1 : 1));
    expect(second.started_at >= first.finished_at).toBe(true);
    expect((await ada.client.get(`/api/chats/${chat_id}/messages`)).body.items).toHaveLength(4);
  });
});

describe('status', () => {
  it('returns at the end of the run when it waits, and not at the end of the wait', async () => {
    const held = gate();
    model.reply({ text: 'Done.', after: held.opened });
    const sent = await agent.send('go');
    const waiting = ada.client.get(`/api/agent/status/${sent.call_id}?wait=60&chat_id=${sent.chat_id}`);
    const started = Date.now();
    held.open();
    const { body } = await waiting;
    expect(body).toMatchObject({ status: 'completed', result: { response: 'Done.', toolOutputs: [] } });
    expect(Date.now() - started).toBeLessThan(55_000);
  });

  it('tells how a run stands when the wait is over', async () => {
    const held = gate();
    model.reply({ text: 'Done.', after: held.opened });
    const sent = await agent.send('go');
    await agent.until(sent, ({ event }) => event === 'step.started');
    const { body } = await ada.client.get(`/api/agent/status/${sent.call_id}?wait=1`);
    expect(body).toMatchObject({ status: 'pending', state: 'running', stop_reason: null, finished_at: null });
    expect(body).not.toHaveProperty('result');
    held.open();
    await agent.ended(sent);
  });

  it('is not there for another chat, an unknown run or a stranger', async () => {
    const sent = await agent.send('list', DEMO);
    const stranger = await service.person('Mallory');
    const url = `/api/agent/status/${sent.call_id}`;
    expect((await ada.client.get(`${url}?chat_id=${randomUUID()}`)).status).toBe(404);
    expect((await ada.client.get(`/api/agent/status/${randomUUID()}`)).status).toBe(404);
    expect((await stranger.client.get(url)).status).toBe(404);
    expect((await stranger.client.get(`/api/agent/runs/${sent.call_id}/events`)).status).toBe(404);
    expect((await ada.client.get(`${url}?chat_id=${sent.chat_id.toUpperCase()}`)).status).toBe(200);
    expect((await ada.client.get(`${url}?wait=61`)).status).toBe(422);
  });
});

describe('events', () => {
  const words = Array.from({ length: 300 }, (_, n) => `word${n}`).join(' ');
  const numbers = (events: StreamEvent[]) => events.map(({ id }) => id);

  it('begin with the queueing, end with the run, and count without a gap', async () => {
    model.reply([{ text: 'Looking. ', tool: { name: 'list_files', input: {} } }, { text: words }]);
    const sent = await agent.send('go', { workspace_id });
    const events = await agent.events(sent);
    expect(numbers(events)).toEqual(events.map((_, index) => index + 1));
    expect(events.filter(({ event }) => event !== 'text.delta').map(({ event }) => event)).toEqual([
      'run.queued',
      'run.started',
      'step.started',
      'step.finished',
      'tool.started',
      'tool.finished',
      'step.started',
      'step.finished',
      'run.completed',
    ]);
    expect(textOf(events)).toBe(`Looking. ${words}`);
    expect(events.at(-1)?.data).toMatchObject({ call_id: sent.call_id, response: words });
  });

  it('give the same text to who comes late, and to who reconnects again and again', async () => {
    const held = gate();
    model.reply([
      { text: words, tool: { name: 'list_files', input: {} } },
      { text: ' End.', after: held.opened },
    ]);
    const sent = await agent.send('go', { workspace_id });
    const url = `/api/agent/runs/${sent.call_id}/events`;
    const seen: StreamEvent[] = [];
    for (let connection = 0; connection < 10; connection++) {
      if (connection === 5) held.open();
      const headers = { 'last-event-id': String(seen.at(-1)?.id ?? 0) };
      seen.push(...(await ada.client.events(url, { headers, until: () => true })).slice(0, 1));
    }
    seen.push(...(await agent.events(sent, `?after=${seen.at(-1)?.id}`)));
    const whole = await agent.events(sent);
    expect(seen).toEqual(whole);
    expect(textOf(whole)).toBe(`${words} End.`);
  });

  it('end at once after the last one, which is sent again', async () => {
    const sent = await agent.send('list', DEMO);
    const events = await agent.events(sent);
    const end = events.slice(-1);
    expect(end).toEqual([expect.objectContaining({ event: 'run.completed' })]);
    expect(await agent.events(sent, `?after=${end[0]?.id}`)).toEqual(end);
    expect(await agent.events(sent, '?after=1000000')).toEqual(end);
    // The stream of the chat goes on.
    const chat = `/api/chats/${sent.chat_id}/events?after=${end[0]?.id}`;
    const more = ada.client.events(chat, { until: ({ event }) => event === 'run.started' });
    await agent.send('list', { ...DEMO, chat_id: sent.chat_id });
    expect((await more).at(0)?.data).not.toMatchObject({ call_id: sent.call_id });
  });

  it('end for everyone who watches when the chat is deleted', async () => {
    const held = gate();
    model.reply({ text: 'Too late.', after: held.opened });
    const sent = await agent.send('go');
    await agent.until(sent, ({ event }) => event === 'step.started');
    const watching = await ada.client.raw('GET', `/api/agent/runs/${sent.call_id}/events`);
    const waiting = ada.client.get(`/api/agent/status/${sent.call_id}?wait=60`);
    expect((await ada.client.delete(`/api/chats/${sent.chat_id}`)).status).toBe(200);
    expect(await watching.text()).not.toContain('run.completed');
    expect((await waiting).status).toBe(404);
    held.open();
  });

  it('stop the command of a run whose chat is deleted', async () => {
    model.reply({ tool: { name: 'bash', input: { command: 'echo begun; sleep 300' } } });
    const sent = await agent.send('go', { workspace_id });
    await agent.until(sent, ({ event }) => event === 'tool.output');
    await ada.client.delete(`/api/chats/${sent.chat_id}`);
    // A second command waits for nothing of the first: the sandbox is free and the run has left the queue.
    const after = await agent.run('run pgrep -x sleep || echo none', { workspace_id, ...DEMO });
    expect(after.result.toolOutputs[0].output).toContain('none');
  });
});

describe('several messages in one chat', () => {
  it('run in order, each with the history before it', async () => {
    const held = gate();
    model.reply([{ text: 'One.', after: held.opened }, { text: 'Two.' }, { text: 'Three.' }]);
    const from = model.requests.length;
    const first = await agent.send('first');
    const { chat_id } = first;
    const second = await agent.send('second', { chat_id });
    const third = await agent.send('third', { chat_id });
    expect([second.queue_position, third.queue_position]).toEqual([1, 2]);
    const { status, body } = await ada.client.post('/api/agent/message', {
      message: 'fourth',
      chat_id,
      delivery: 'reject',
    });
    expect([status, body.detail]).toEqual([409, 'A run is in flight in this chat']);
    held.open();
    await agent.ended(third);
    const prompts = model.requests.slice(from).map(request => messagesOf(request).slice(1));
    expect(prompts.map(prompt => prompt.map(({ content }) => content))).toEqual([
      ['first'],
      ['first', 'One.', 'second'],
      ['first', 'One.', 'second', 'Two.', 'third'],
    ]);
    const accepted = await ada.client.post('/api/agent/message', {
      message: 'list',
      chat_id,
      delivery: 'reject',
      ...DEMO,
    });
    expect(accepted.body.delivery).toBe('reject');
  });

  it('go on after one that failed', async () => {
    model.reply([{ status: 401 }, { text: 'Fine.' }]);
    const first = await agent.send('first');
    const second = await agent.send('second', { chat_id: first.chat_id });
    expect((await agent.ended(first)).error.type).toBe('model_auth');
    expect((await agent.ended(second)).result.response).toBe('Fine.');
  });

  it('tell the model in later turns what the tools gave back', async () => {
    model.reply([
      { reasoning: 'Hm.', tool: { name: 'bash', input: { command: 'echo forty-two' }, id: 'c1' } },
      { text: 'It is 42.' },
      { text: 'As said.' },
    ]);
    const first = await agent.run('what is it?', { workspace_id });
    const from = model.requests.length;
    await agent.run('sure?', { chat_id: first.chat_id });
    const [prompt] = model.requests.slice(from).map(messagesOf);
    expect(prompt?.slice(1)).toMatchObject([
      { role: 'user', content: 'what is it?' },
      { role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'bash' } }] },
      { role: 'tool', tool_call_id: 'c1', content: 'forty-two' },
      { role: 'assistant', content: 'It is 42.' },
      { role: 'user', content: 'sure?' },
    ]);
  });
});

describe('many runs', () => {
  it('go on at once in one process', async () => {
    const held = gate();
    const from = model.requests.length;
    model.reply(Array.from({ length: 12 }, () => ({ text: 'Done.', after: held.opened })));
    const sent = await Promise.all(Array.from({ length: 12 }, () => agent.send('go')));
    await model.received(from + 12);
    held.open();
    const runs = await Promise.all(sent.map(one => agent.ended(one)));
    expect(runs.every(({ status }) => status === 'completed')).toBe(true);
  });
});

it('answers as the subagent that the chat names', async () => {
  const folder = path.join(service.dataDir, 'workspaces', workspace_id);
  mkdirSync(path.join(folder, '.agents'), { recursive: true });
  writeFileSync(path.join(folder, '.agents/poet.md'), '---\nmodel: local/verse\n---\nAnswer in rhyme.');
  model.reply({ text: 'A rhyme.' });
  const from = model.requests.length;
  const run = await agent.run('go', { workspace_id, agent_name: 'poet' });
  expect(run).toMatchObject({ model: 'local/verse', result: { response: 'A rhyme.' } });
  const request = model.requests[from];
  expect(request?.body.model).toBe('verse');
  expect(request && messagesOf(request)[0].content).toContain('Answer in rhyme.');
});
