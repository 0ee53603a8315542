import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { accessTopic } from '../../../src/platform/access/index.js';
import { Topics } from '../../../src/platform/topics/index.js';
import type { FakeOpenAi } from '../../fakes/openai-server.js';
import { AgentClient, type AgentGround, messagesOf, startAgents } from '../../harness/agent.js';
import type { Json, StreamEvent } from '../../harness/client.js';
import type { Person, TestService } from '../../harness/service.js';

let ground: AgentGround;
let service: TestService;
let model: FakeOpenAi;
let ada: Person;
let viewer: Person;
let stranger: Person;
let agent: AgentClient;
let workspace_id: string;

beforeAll(async () => {
  ground = await startAgents();
  ({ model, service, ada, agent } = ground);
  viewer = await service.person('Viewer');
  stranger = await service.person('Stranger');
  workspace_id = await service.workspace(ada, { visibility: 'restricted' });
  await service.join(viewer, {
    organization: ada.organizationId,
    role: 'guest',
    workspace: workspace_id,
    workspaceRole: 'viewer',
  });
});
afterAll(() => ground.stop());

/** Something that happens when the test says so. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>(resolve => {
    open = resolve;
  });
  return { open, opened };
}

/** A run whose model answers when the gate is opened. */
async function heldRun(text = 'One.') {
  const { open, opened } = gate();
  const from = model.requests.length;
  model.reply({ text, after: opened });
  const run = await agent.send('first', { workspace_id });
  await model.received(from + 1);
  return { run, open, chat_id: run.chat_id as string, from };
}

const LONG = { name: 'bash', input: { command: 'echo begun; sleep 300; echo late > late.txt' } };

/** A run that is at work on a command that takes long. */
async function busyRun(tools: Json[] = [LONG]) {
  const from = model.requests.length;
  model.reply({ tools });
  const run = await agent.send('work', { workspace_id });
  await agent.until(run, ({ event }) => event === 'tool.output');
  return { run, chat_id: run.chat_id as string, from };
}

/** What the model was shown last, without the instructions. */
const lastPrompt = (): Json[] => messagesOf(model.requests.at(-1) ?? { body: {} }).slice(1);
const contents = (prompt: Json[]) => prompt.map(({ content }) => content);
const said = async (chat: string) =>
  (await ada.client.get(`/api/chats/${chat}/messages`)).body.items.map((item: Json) => item.text);
const queued = async (chat: string): Promise<Json[]> =>
  (await ada.client.get(`/api/agent/queue?chat_id=${chat}`)).body.items;
const receipts = async (run: Json) =>
  (await agent.events(run)).filter(({ event }) => event.startsWith('message.'));

describe('a message that steers', () => {
  it('enters the run in flight when its model has answered, which then goes on', async () => {
    const { run, open, chat_id } = await heldRun();
    const steered = await agent.send('also this', { chat_id, delivery: 'steer' });
    expect(steered).toMatchObject({ delivery: 'steer', into_call_id: run.call_id, queue_position: 1 });
    model.reply({ text: 'Both done.' });
    open();
    const ended = await agent.ended(run);
    expect(ended).toMatchObject({ status: 'completed', result: { response: 'Both done.' } });
    expect(contents(lastPrompt())).toEqual(['first', 'One.', 'also this']);
    expect(await said(chat_id)).toEqual(['first', 'One.', 'also this', 'Both done.']);
    expect(await agent.ended(steered)).toMatchObject({
      status: 'completed',
      result: { response: 'Both done.' },
      injected_into: { call_id: run.call_id, step: 2 },
    });
    const about = { message_id: steered.message_id, call_id: steered.call_id };
    expect((await receipts(run)).map(({ event, data }) => [event, data])).toMatchObject([
      ['message.accepted', { ...about, delivery: 'steer' }],
      ['message.injected', { ...about, step: 2 }],
    ]);
    expect((await agent.events(steered)).map(({ event }) => event)).toEqual([
      'run.queued',
      'message.injected',
      'run.completed',
    ]);
  });

  it('makes a command that takes long give what it has, and keeps the calls behind it from being made', async () => {
    const list = { name: 'list_files', input: {} };
    const { run, chat_id } = await busyRun([LONG, list]);
    model.reply({ text: 'Stopped for you.' });
    const steered = await agent.send('wait, not that', { chat_id, delivery: 'steer' });
    const { result } = await agent.ended(run);
    expect(result.response).toBe('Stopped for you.');
    expect(result.toolOutputs).toMatchObject([
      { is_error: true, output: expect.stringMatching(/^begun\nKilled before its end, since a new message/) },
      { is_error: true, output: expect.stringMatching(/^Not run: a new message/) },
    ]);
    expect(lastPrompt().map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'user']);
    expect(lastPrompt().at(-1).content).toBe('wait, not that');
    expect((await agent.ended(steered)).injected_into).toEqual({ call_id: run.call_id, step: 2 });
    expect((await ada.client.get(`/api/workspaces/${workspace_id}/files/stat?path=late.txt`)).status).toBe(
      404,
    );
  });

  it('lets a command that is about to end do so', async () => {
    const { run, chat_id } = await busyRun([
      { name: 'bash', input: { command: 'echo begun; until [ -e end ]; do sleep 0.02; done; echo whole' } },
    ]);
    model.reply({ text: 'Fine.' });
    await agent.send('and?', { chat_id, delivery: 'steer' });
    writeFileSync(path.join(service.dataDir, 'workspaces', workspace_id, 'end'), '');
    const { result } = await agent.ended(run);
    expect(result.toolOutputs).toMatchObject([{ is_error: false, output: 'begun\nwhole' }]);
    expect(lastPrompt().at(-1).content).toBe('and?');
  });

  it('has a run of its own, the next one, when the one in flight ends before it could enter', async () => {
    const { open, opened } = gate();
    const from = model.requests.length;
    model.reply([{ text: 'One.', after: opened }, { text: 'Steered.' }, { text: 'Queued.' }]);
    const run = await agent.send('first', { workspace_id, budget: { max_steps: 1 } });
    const { chat_id } = run;
    await model.received(from + 1);
    const waiting = await agent.send('later', { chat_id });
    const steered = await agent.send('now', { chat_id, delivery: 'steer' });
    expect((await queued(chat_id)).map(item => [item.message_id, item.position])).toEqual([
      [steered.message_id, 1],
      [waiting.message_id, 2],
    ]);
    open();
    expect((await agent.ended(run)).result.response).toBe('One.');
    expect(await agent.ended(steered)).toMatchObject({
      injected_into: null,
      result: { response: 'Steered.' },
    });
    expect((await agent.ended(waiting)).result.response).toBe('Queued.');
    expect(await said(chat_id)).toEqual(['first', 'One.', 'now', 'Steered.', 'later', 'Queued.']);
  });

  it('goes with others in the order they came, and starts a run where none is in flight', async () => {
    const { run, open, chat_id } = await heldRun();
    const all = [];
    for (const text of ['a', 'b', 'c']) all.push(await agent.send(text, { chat_id, delivery: 'steer' }));
    expect(all.map(({ queue_position }) => queue_position)).toEqual([1, 2, 3]);
    await ada.client.patch(`/api/agent/queue/${all[1]?.message_id}`, { message: 'B' });
    model.reply({ text: 'Read.' });
    open();
    await agent.ended(run);
    expect(contents(lastPrompt())).toEqual(['first', 'One.', 'a', 'B', 'c']);
    model.reply({ text: 'Alone.' });
    const alone = await agent.send('d', { chat_id, delivery: 'steer' });
    expect(alone).toMatchObject({ delivery: 'steer', queue_position: 0 });
    expect(alone).not.toHaveProperty('into_call_id');
    expect((await agent.ended(alone)).result.response).toBe('Alone.');
  });

  it('is an ordinary one again when the run is stopped; the message of a stopped run has its end with it', async () => {
    // It cannot enter before the model answers, which is not before the stop.
    const { run, open, chat_id } = await heldRun();
    model.reply({ text: 'Now this.' });
    const steered = await agent.send('instead', { chat_id, delivery: 'steer' });
    await ada.client.post('/api/agent/stop', { call_id: run.call_id });
    expect((await agent.ended(run)).stop_reason).toBe('stopped');
    open();
    expect(await agent.ended(steered)).toMatchObject({
      injected_into: null,
      result: { response: 'Now this.' },
    });

    const second = await heldRun();
    const entered = await agent.send('go on', { chat_id: second.chat_id, delivery: 'steer' });
    model.reply({ text: 'Going', hangAfter: 1 });
    second.open();
    await agent.until(second.run, ({ event, data }) => event === 'text.delta' && data.step === 2);
    const { body } = await ada.client.post('/api/agent/stop', { call_id: entered.call_id });
    expect(body.stopped).toEqual([second.run.call_id]);
    for (const one of [second.run, entered])
      expect(await agent.ended(one)).toMatchObject({ status: 'completed', stop_reason: 'stopped' });
  });
});

describe('a message that interrupts', () => {
  it('stops the run in flight, keeps what it did, and runs at once, ahead of what waits', async () => {
    const { run, chat_id } = await busyRun();
    const waiting = await agent.send('later', { chat_id });
    model.reply([{ text: 'At once.' }, { text: 'Later.' }]);
    const urgent = await agent.send('drop that', { chat_id, delivery: 'interrupt' });
    expect(urgent.queue_position).toBe(0);
    expect(await agent.ended(run)).toMatchObject({ status: 'completed', stop_reason: 'stopped' });
    expect((await agent.ended(urgent)).result.response).toBe('At once.');
    expect((await agent.ended(waiting)).result.response).toBe('Later.');
    expect((await said(chat_id)).filter(Boolean)).toEqual([
      'work',
      'drop that',
      'At once.',
      'later',
      'Later.',
    ]);
    expect((await receipts(run)).map(({ data }) => [data.message_id, data.delivery])).toEqual([
      [waiting.message_id, 'queue'],
      [urgent.message_id, 'interrupt'],
    ]);
  });

  it('of several at once each runs once', async () => {
    const { chat_id } = await busyRun();
    model.reply(Array.from({ length: 3 }, () => ({ text: 'Done.' })));
    const sent = await Promise.all(
      [1, 2, 3].map(n => agent.send(`urgent ${n}`, { chat_id, delivery: 'interrupt' })),
    );
    const ends = await Promise.all(sent.map(one => agent.ended(one)));
    expect(ends.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
    expect(ends.filter(({ stop_reason }) => stop_reason === 'end_turn').length).toBeGreaterThan(0);
    const attempts = await service.database.query('select attempt from run where chat_id = $1', [chat_id]);
    expect(attempts.every(({ attempt }) => attempt <= 2)).toBe(true);
    // Whatever of the scripted answers was not asked for.
    model.clear();
  });
});

describe('the queue', () => {
  it('is put in another order, and runs in that', async () => {
    const { run, open, chat_id } = await heldRun();
    const [a, b, c] = [
      await agent.send('a', { chat_id }),
      await agent.send('b', { chat_id }),
      await agent.send('c', { chat_id }),
    ];
    const patch = (message: Json, body: Json) =>
      ada.client.patch(`/api/agent/queue/${message.message_id}`, body);
    expect((await patch(c, { position: 1, message: 'C' })).body).toMatchObject({ position: 1, message: 'C' });
    expect((await patch(a, { position: 99 })).body.position).toBe(3);
    expect((await queued(chat_id)).map(({ message, position }) => [message, position])).toEqual([
      ['C', 1],
      ['b', 2],
      ['a', 3],
    ]);
    expect((await patch(run, { position: 2 })).status).toBe(409);
    expect((await patch(run, { message: 'x' })).status).toBe(409);
    expect((await patch(b, {})).status).toBe(422);
    expect((await patch(b, { position: 0 })).status).toBe(422);
    model.reply(['C', 'b', 'a'].map(text => ({ text: `Did ${text}.` })));
    open();
    await agent.ended(a);
    expect(await said(chat_id)).toEqual(['first', 'One.', 'C', 'Did C.', 'b', 'Did b.', 'a', 'Did a.']);
    for (const one of [a, b, c]) expect((await agent.ended(one)).status).toBe('completed');
  });

  it('keeps every message, once, when many change it at the same instant', async () => {
    const { open, chat_id } = await heldRun();
    const sent = await Promise.all(
      Array.from({ length: 8 }, (_, n) => agent.send(`m${n}`, { chat_id, model: 'atelier/demo' })),
    );
    const answers = await Promise.all([
      ...sent.map((one, n) =>
        ada.client.patch(`/api/agent/queue/${one.message_id}`, { position: ((n * 5) % 8) + 1 }),
      ),
      ada.client.post(`/api/agent/queue/${sent[3]?.message_id}/steer`, {}),
      ada.client.delete(`/api/agent/queue/${sent[6]?.message_id}`),
    ]);
    expect(answers.map(({ status }) => status).filter(status => status >= 500)).toEqual([]);
    const items = await queued(chat_id);
    expect(items.map(({ position }) => position)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(new Set(items.map(({ message_id }) => message_id)).size).toBe(7);
    model.reply({ text: 'Steered.' });
    open();
    const ends = await Promise.all(sent.map(one => agent.ended(one)));
    expect(ends.map(({ status }) => status)).toEqual(sent.map(() => 'completed'));
    expect(ends[6]?.stop_reason).toBe('withdrawn');
    expect((await said(chat_id)).filter((text: string) => /^m\d$/.test(text)).sort()).toEqual([
      'm0',
      'm1',
      'm2',
      'm3',
      'm4',
      'm5',
      'm7',
    ]);
  });

  it('lets nobody speak with the authority of another, nor a key with more than it has', async () => {
    const bea = await service.person('Bea');
    const role = { organization: ada.organizationId, role: 'guest' as const, workspace: workspace_id };
    await service.join(bea, { ...role, workspaceRole: 'editor' });
    const beas = new AgentClient(bea.client);
    const narrow = await service.key(ada, { scopes: ['agent:run', 'chats:read', 'chats:write'] });
    const wide = await service.key(ada);
    const { run, open, chat_id } = await heldRun();
    const waiting = await agent.send('of Ada', { chat_id });
    const hers = await beas.send('of Bea', { chat_id });
    const steer = { chat_id, message: 'now do this', delivery: 'steer' };
    const change = (client: typeof ada.client, { message_id }: Json, fields: Json) =>
      client.patch(`/api/agent/queue/${message_id}`, fields);
    for (const client of [bea.client, narrow]) {
      expect((await client.post('/api/agent/message', steer)).status).toBe(403);
      expect((await client.post(`/api/agent/queue/${waiting.message_id}/steer`, {})).status).toBe(403);
      expect((await change(client, waiting, { message: 'other words' })).status).toBe(403);
    }
    expect((await bea.client.post(`/api/agent/queue/${hers.message_id}/steer`, {})).status).toBe(403);
    expect((await change(bea.client, waiting, { position: 2 })).status).toBe(200);
    expect((await change(bea.client, hers, { message: 'of Bea, again' })).status).toBe(200);
    expect((await change(wide, waiting, { message: 'of Ada, again' })).status).toBe(200);
    // What Ada has let enter her run is no longer Bea's to change.
    expect((await ada.client.post(`/api/agent/queue/${hers.message_id}/steer`, {})).status).toBe(200);
    expect((await change(bea.client, hers, { message: 'now do this' })).status).toBe(403);
    model.reply([{ text: 'Two.' }, { text: 'Three.' }]);
    open();
    for (const one of [run, waiting]) await agent.ended(one);
    expect(await said(chat_id)).toEqual([
      'first',
      'One.',
      'of Bea, again',
      'Two.',
      'of Ada, again',
      'Three.',
    ]);
  });

  it('lets a waiting message enter the run in flight; one withdrawn is told of and gone', async () => {
    const { run, open, chat_id } = await heldRun();
    const [plain, promoted] = [await agent.send('plain', { chat_id }), await agent.send('up', { chat_id })];
    const promote = (client = ada.client, id = promoted.message_id) =>
      client.post(`/api/agent/queue/${id}/steer`, {});
    expect((await promote(viewer.client)).status).toBe(403);
    expect((await promote(stranger.client)).status).toBe(404);
    expect((await promote(ada.client, run.message_id)).status).toBe(409);
    expect(await promote()).toMatchObject({ status: 200, body: { delivery: 'steer', position: 1 } });
    expect((await ada.client.delete(`/api/agent/queue/${plain.message_id}`)).status).toBe(200);
    model.reply({ text: 'Up.' });
    open();
    await agent.ended(run);
    expect((await promote()).status).toBe(409);
    expect((await ada.client.delete(`/api/agent/queue/${promoted.message_id}`)).status).toBe(409);
    expect(await said(chat_id)).toEqual(['first', 'One.', 'up', 'Up.']);
    expect(await agent.ended(plain)).toMatchObject({ status: 'completed', stop_reason: 'withdrawn' });
    expect((await receipts(run)).map(({ event, data }) => [event, data.message_id])).toEqual([
      ['message.accepted', plain.message_id],
      ['message.accepted', promoted.message_id],
      ['message.accepted', promoted.message_id],
      ['message.withdrawn', plain.message_id],
      ['message.injected', promoted.message_id],
    ]);
  });

  it('with a steering message that is withdrawn lets the run end as if it had not been', async () => {
    const { run, open, chat_id } = await heldRun();
    const steered = await agent.send('never mind', { chat_id, delivery: 'steer' });
    await ada.client.delete(`/api/agent/queue/${steered.message_id}`);
    open();
    expect((await agent.ended(run)).result.response).toBe('One.');
    expect(await said(chat_id)).toEqual(['first', 'One.']);
  });
});

describe('the stream of a chat', () => {
  const stream = (chat: string, seen: (event: StreamEvent) => boolean, after = 0) =>
    ada.client.events(`/api/chats/${chat}/events?after=${after}`, { until: seen });
  const isEndOf = (run: Json) => (event: StreamEvent) =>
    event.event === 'run.completed' && event.data.call_id === run.call_id;

  it('shows every run and every receipt under numbers that rise by one, the same however it is read', async () => {
    const { run, open, chat_id } = await heldRun();
    const watching = stream(
      chat_id,
      ({ event, data }) => event === 'run.completed' && data.response === 'End.',
    );
    const queuedRun = await agent.send('queued', { chat_id });
    const gone = await agent.send('gone', { chat_id });
    await agent.send('steered', { chat_id, delivery: 'steer' });
    await ada.client.delete(`/api/agent/queue/${gone.message_id}`);
    model.reply([{ text: 'Two.' }, { text: 'Three.' }, { text: 'End.' }]);
    open();
    await agent.ended(queuedRun);
    const last = await agent.run('last', { chat_id });
    const live = await watching;
    expect(live.map(({ id }) => id)).toEqual(live.map((_, index) => index + 1));
    expect(live.every(({ data }) => typeof data.call_id === 'string')).toBe(true);
    expect(live.filter(({ event }) => /^(message|run)\./.test(event)).map(({ event }) => event)).toEqual([
      'run.queued',
      'run.started',
      'message.accepted',
      'message.accepted',
      'message.accepted',
      'message.withdrawn',
      'message.injected',
      'run.completed',
      'run.queued',
      'run.started',
      'run.completed',
      'run.queued',
      'run.completed',
      'run.queued',
      'run.started',
      'run.completed',
    ]);
    const late = await stream(chat_id, isEndOf(last));
    expect(late).toEqual(live);
    const pieces: StreamEvent[] = [];
    while (pieces.length < live.length)
      pieces.push(...(await stream(chat_id, () => true, pieces.at(-1)?.id)));
    expect(pieces).toEqual(live);
    expect(run.chat_id).toBe(chat_id);
  });

  it('waits for what comes next in a chat in which nothing happens, and ends with the chat', async () => {
    const { body: chat } = await ada.client.post('/api/agent', {});
    const first = stream(chat.id, ({ event }) => event === 'run.completed');
    model.reply([{ text: 'One.' }, { text: 'Two.' }]);
    await agent.run('one', { chat_id: chat.id });
    const seen = await first;
    const rest = stream(chat.id, ({ event }) => event === 'run.completed', seen.at(-1)?.id);
    await agent.run('two', { chat_id: chat.id });
    expect((await rest).at(-1)?.data.response).toBe('Two.');
    const whole = await ada.client.events(`/api/chats/${chat.id}/events`, {
      until: ({ event, data }) => {
        if (event === 'run.completed' && data.response === 'Two.')
          void ada.client.delete(`/api/chats/${chat.id}`);
        return false;
      },
    });
    expect(whole.filter(({ event }) => event === 'run.completed')).toHaveLength(2);
  });

  it('is for those who see the chat', async () => {
    const { run, open, chat_id } = await heldRun();
    open();
    await agent.ended(run);
    expect((await stranger.client.get(`/api/chats/${chat_id}/events`)).status).toBe(404);
    const seen = await viewer.client.events(`/api/chats/${chat_id}/events`, { until: isEndOf(run) });
    expect(seen.length).toBeGreaterThan(5);
  });

  it('ends, as that of a run does, when its reader loses the workspace, the key or the session', async () => {
    const { run, open, chat_id } = await heldRun();
    const reader = async (lose: (person: Person, key: string) => Promise<unknown>, asKey = false) => {
      const person = await service.person('Reader');
      const role = { organization: ada.organizationId, role: 'guest' as const, workspace: workspace_id };
      await service.join(person, { ...role, workspaceRole: 'viewer' });
      const key = asKey ? (await person.client.post('/api/keys', { name: 'reads' })).body : undefined;
      const client = key ? service.stranger.with({ 'x-api-key': key.api_key }) : person.client;
      // Both streams are over before the run is: nothing but the loss can have ended them.
      const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const streams = [`/api/chats/${chat_id}/events`, `/api/agent/runs/${run.call_id}/events`].map(
        (path, index) =>
          client.events(path, {
            until: () => {
              begun[index]?.resolve();
              return false;
            },
          }),
      );
      await Promise.all(begun.map(({ promise }) => promise));
      await lose(person, key?.id);
      for (const seen of await Promise.all(streams))
        expect(seen.some(({ event }) => event === 'run.completed')).toBe(false);
    };
    await reader(({ id }) => ada.client.delete(`/api/workspaces/${workspace_id}/members/${id}`));
    await reader(({ client }, key) => client.delete(`/api/keys/${key}`), true);
    await reader(({ client, refreshToken }) =>
      client.post('/api/auth/logout', { refresh_token: refreshToken }),
    );
    open();
    await agent.ended(run);
  });

  it('of a run ends with its chat', async () => {
    const { run, open, chat_id } = await heldRun();
    const seen = await ada.client.events(`/api/agent/runs/${run.call_id}/events`, {
      until: ({ event }) => {
        if (event === 'step.started') void ada.client.delete(`/api/chats/${chat_id}`);
        return false;
      },
    });
    expect(seen.at(-1)?.event).not.toBe('run.completed');
    open();
  });

  it('waits for a client that reads slowly, and holds little for it', async () => {
    const script = 'for i in $(seq 20); do head -c 1000000 /dev/zero | tr "\\0" x; sleep 0.05; done';
    const sockets: Socket[] = [];
    service.app.getHttpServer().on('connection', (socket: Socket) => sockets.push(socket));
    model.reply([{ tool: { name: 'bash', input: { command: script } } }, { text: 'Said.' }]);
    const run = await agent.send('talk', { workspace_id });
    const { hostname, port } = new URL(service.url);
    const slow = connect(Number(port), hostname).on('error', () => undefined);
    const [[name, value] = []] = Object.entries(ada.client.headers);
    slow.write(`GET /api/chats/${run.chat_id}/events HTTP/1.1\r\nHost: x\r\n${name}: ${value}\r\n\r\n`);
    await once(slow, 'data');
    slow.pause();
    const served = sockets.find(socket => socket.remotePort === slow.localPort);
    await agent.ended(run);
    const total = await service.database.query(
      'select sum(length(events::text))::int as bytes from run_event where run_id = $1',
      [run.call_id],
    );
    expect(total[0]?.bytes).toBeGreaterThan(1_000_000);
    expect(served?.writableLength).toBeLessThan(10_000_000);
    slow.destroy();
  });
});

describe('a run whose sender', () => {
  it('had a key that is revoked ends at once, and says so', async () => {
    const created = await ada.client.post('/api/keys', { name: 'short-lived' });
    const program = new AgentClient(service.stranger.with({ 'x-api-key': created.body.api_key }));
    model.reply({ tool: LONG });
    const run = await program.send('work', { workspace_id });
    await agent.until(run, ({ event }) => event === 'tool.output');
    await ada.client.delete(`/api/keys/${created.body.id}`);
    expect(await agent.ended(run)).toMatchObject({
      status: 'error',
      error: { type: 'authority_lost', message: expect.stringContaining('has been revoked') },
    });
  });

  it('was removed ends, also if it waits; other runs of the chat go on', async () => {
    const bea = await service.person('Bea');
    const role = { organization: ada.organizationId, role: 'guest' as const, workspace: workspace_id };
    await service.join(bea, { ...role, workspaceRole: 'editor' });
    const { open, opened } = gate();
    const from = model.requests.length;
    model.reply([{ text: 'Slow.', after: opened }, { text: 'Hers.' }]);
    const beas = new AgentClient(bea.client);
    const run = await beas.send('work', { workspace_id });
    const waiting = await beas.send('more', { chat_id: run.chat_id });
    const adas = await agent.send('mine', { chat_id: run.chat_id });
    await model.received(from + 1);
    const waited = bea.client.get(`/api/agent/status/${run.call_id}?wait=60`);
    const { status } = await ada.client.delete(`/api/workspaces/${workspace_id}/members/${bea.id}`);
    expect(status).toBe(200);
    expect((await waited).status).toBe(404);
    for (const one of [run, waiting])
      expect((await agent.ended(one)).error).toEqual({
        type: 'authority_lost',
        message: 'Bea, who started this run, has no access to its chat any more',
      });
    expect((await agent.ended(adas)).status).toBe('completed');
    open();
  });

  it('got a lower role is refused what it lacks from then on', async () => {
    const cleo = await service.person('Cleo');
    const role = { organization: ada.organizationId, role: 'guest' as const, workspace: workspace_id };
    await service.join(cleo, { ...role, workspaceRole: 'editor' });
    const { open, opened } = gate();
    const from = model.requests.length;
    const write = (path: string) => ({ name: 'write_file', input: { path, content: 'Hers.' } });
    model.reply([
      { tool: write('before.txt') },
      { tool: write('after.txt'), after: opened },
      { text: 'Done.' },
    ]);
    const run = await new AgentClient(cleo.client).send('work', { workspace_id });
    await model.received(from + 2);
    const told = new Promise<void>(resolve => {
      service.app.get(Topics).subscribe(accessTopic(cleo.id), () => resolve());
    });
    const member = `/api/workspaces/${workspace_id}/members/${cleo.id}`;
    expect((await ada.client.put(member, { role: 'viewer' })).status).toBe(200);
    await told;
    open();
    const { result } = await agent.ended(run);
    const outputs = result?.toolOutputs as { is_error: boolean; output: string }[];
    expect(outputs.map(({ is_error }) => is_error)).toEqual([false, true]);
    expect(outputs[1]?.output).toMatch(/viewer|editor/);
  });
});
