import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { FakeOpenAi } from '../fakes/openai-server.js';
import { type AgentClient, type AgentGround, messagesOf, startAgents, textOf } from '../harness/agent.js';
import type { Json } from '../harness/client.js';
import { createParser } from '../harness/event-stream.js';
import { brokenInvariants } from '../harness/invariants.js';
import type { Person, TestService } from '../harness/service.js';
import { Workers } from './workers.js';

const PATIENCE = 300_000;

let ground: AgentGround;
let model: FakeOpenAi;
let service: TestService;
let ada: Person;
let agent: AgentClient;
let workers: Workers;

beforeAll(async () => {
  ground = await startAgents({ ROLE: 'api', OPENAI_COMPATIBLE_MODELS: 'small' });
  ({ model, service, ada, agent } = ground);
  workers = new Workers(ground);
}, PATIENCE);
afterEach(async () => {
  await workers.stop();
  expect(await brokenInvariants(service.database)).toEqual({});
});
afterAll(() => ground.stop());

/** How many of the runs stand how. */
async function statuses(runs: Json[]): Promise<Record<string, number>> {
  const rows = await service.database.query(
    'select status, count(*)::int as n from run where id = any($1) group by status',
    [runs.map(({ call_id }) => call_id)],
  );
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}

it(
  'ends five hundred runs that wait in fifty chats, each once and in its order, though a worker is killed meanwhile',
  async () => {
    model.otherwise(request => ({ text: `Heard ${messagesOf(request).at(-1)?.content}.` }));
    const chats = await Promise.all(
      Array.from({ length: 50 }, async () => (await ada.client.post('/api/agent', {})).body.id),
    );
    const sent = await Promise.all(
      chats.map(async chat_id => {
        const ofChat: Json[] = [];
        for (let n = 0; n < 10; n++) ofChat.push(await agent.send(`${n}`, { chat_id, model: 'local/small' }));
        return ofChat;
      }),
    );
    const from = model.requests.length;
    const [doomed] = await Promise.all([workers.start(), workers.start()]);
    await model.received(from + 100);
    await doomed?.kill();
    for (const ofChat of sent) await agent.ended(ofChat.at(-1));
    expect(await statuses(sent.flat())).toEqual({ completed: 500 });
    for (const chat_id of chats) {
      const { body } = await ada.client.get(`/api/chats/${chat_id}/messages?limit=100`);
      expect(body.items.map(({ text }: Json) => text)).toEqual(
        Array.from({ length: 10 }, (_, n) => [`${n}`, `Heard ${n}.`]).flat(),
      );
    }
  },
  PATIENCE,
);

it(
  'gives up a run that takes its worker with it every time, but none that was beside it; others do not wait for that',
  async () => {
    const place = { model: 'local/small' };
    let letGo = () => {};
    const gone = new Promise<void>(resolve => {
      letGo = resolve;
    });
    model.otherwise(request => {
      const said = messagesOf(request).at(-1)?.content;
      if (said === 'poison') return { hang: true };
      return said === 'beside' ? { text: 'Fine.', after: gone } : { text: 'Fine.' };
    });
    const poison = await agent.send('poison', place);
    const behind = await agent.send('behind', { ...place, chat_id: poison.chat_id });
    const beside = await Promise.all(Array.from({ length: 3 }, () => agent.send('beside', place)));
    for (let deaths = 0; deaths < 5; deaths++) {
      const from = model.requests.length;
      const carrier = await workers.start();
      await model.received(from + (deaths < 2 ? 1 + beside.length : 1));
      expect((await agent.run('other', place)).result.response).toBe('Fine.');
      await carrier.kill();
      // What others find after fifteen seconds without a sign of life.
      await service.database.query('delete from process where id = (select holder from run where id = $1)', [
        poison.call_id,
      ]);
    }
    letGo();
    await workers.start();
    expect(await agent.ended(poison)).toMatchObject({ status: 'error', error: { type: 'worker_lost' } });
    for (const one of [...beside, behind]) expect((await agent.ended(one)).result.response).toBe('Fine.');
    expect(
      await service.database.query('select distinct lost from run where id = any($1)', [
        beside.map(({ call_id }) => call_id),
      ]),
    ).toEqual([{ lost: 2 }]);
  },
  PATIENCE,
);

it(
  'ends a run whose provider does not answer, in words one can act on, while others go on',
  async () => {
    await workers.start({ MODEL_TIMEOUT_SECONDS: '5' });
    model.otherwise(request =>
      messagesOf(request)[1].content === 'hang' ? { hang: true } : { text: 'Fine.' },
    );
    const hanging = await Promise.all(
      Array.from({ length: 10 }, () => agent.send('hang', { model: 'local/small' })),
    );
    expect((await agent.run('other', { model: 'local/small' })).result.response).toBe('Fine.');
    for (const one of hanging) {
      const { status, error } = await agent.ended(one);
      expect([status, error.type]).toEqual(['error', 'model_timeout']);
      expect(error.message).toMatch(/second/);
    }
  },
  PATIENCE,
);

describe('a watcher who reads one byte a second', () => {
  it(
    'holds nobody up, and misses nothing',
    async () => {
      await workers.start();
      const text = Array.from({ length: 80 }, (_, n) => `${n}`.padEnd(100_000, '.')).join(' ');
      let go = () => {};
      const after = new Promise<void>(resolve => {
        go = resolve;
      });
      model.reply({ text, after });
      const sent = await agent.send('go', { model: 'local/small' });
      const slow = await watch(sent.call_id);
      go();
      const [ended, events] = await Promise.all([agent.ended(sent), agent.events(sent)]);
      expect(ended.result.response).toBe(text);
      expect(textOf(events)).toBe(text);
      for (let seconds = 0; seconds < 2; seconds++) {
        slow.read(1);
        await sleep(1000);
      }
      const parse = createParser();
      const seen: Json[] = [];
      slow.on('data', (chunk: Buffer) => {
        seen.push(...parse(chunk));
      });
      slow.resume();
      await once(slow, 'end');
      expect(seen.at(-1)?.event).toBe('run.completed');
      expect(textOf(seen)).toBe(text);
    },
    PATIENCE,
  );
});

/** A connection that asks for the events of a run and reads nothing of the answer by itself. */
async function watch(callId: string): Promise<Socket> {
  const { hostname, port } = new URL(service.url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.pause();
  await once(socket, 'connect');
  socket.write(
    `GET /api/agent/runs/${callId}/events HTTP/1.0\r\nhost: ${hostname}\r\nauthorization: ${ada.client.headers.authorization}\r\n\r\n`,
  );
  return socket;
}
