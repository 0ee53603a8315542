import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { FakeOpenAi } from '../fakes/openai-server.js';
import { AgentClient, messagesOf, textOf } from '../harness/agent.js';
import type { Json } from '../harness/client.js';
import { createParser } from '../harness/event-stream.js';
import { brokenInvariants } from '../harness/invariants.js';
import { type Person, TestService } from '../harness/service.js';
import { ServiceProcess } from './service-process.js';

const PATIENCE = 240_000;

let model: FakeOpenAi;
let service: TestService;
let ada: Person;
let agent: AgentClient;
let environment: Record<string, string>;
const workers: ServiceProcess[] = [];

beforeAll(async () => {
  model = await FakeOpenAi.start();
  environment = {
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'small',
    MODEL_TIMEOUT_SECONDS: '3',
  };
  service = await TestService.start({ ROLE: 'api', ...environment });
  ada = await service.person();
  agent = new AgentClient(ada.client);
}, PATIENCE);
afterEach(async () => {
  await Promise.all(workers.splice(0).map(worker => worker.stop()));
  expect(await brokenInvariants(service.database)).toEqual({});
});
afterAll(async () => {
  await service.stop();
  await model.stop();
});

async function startWorker(): Promise<ServiceProcess> {
  const worker = await ServiceProcess.start(service, { ROLE: 'worker', ...environment });
  workers.push(worker);
  return worker;
}

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
    const [doomed] = await Promise.all([startWorker(), startWorker()]);
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
  'gives up a run that takes its worker with it every time, and no other run waits for that',
  async () => {
    let carrier: Promise<ServiceProcess> | undefined;
    let deaths = 0;
    let poisonId = '';
    const takeDown = async () => {
      await (await carrier)?.kill();
      // What its sign of life would take eight seconds to tell; and as if it had lost two workers more.
      await service.database.query(`update process set seen_at = seen_at - interval '1 minute'`);
      if (deaths === 1) await service.database.query('update run set lost = 2 where id = $1', [poisonId]);
      carrier = startWorker();
      await carrier;
    };
    model.otherwise(request => {
      if (messagesOf(request)[1].content !== 'poison') return { text: 'Fine.' };
      deaths++;
      void takeDown();
      return { hang: true };
    });
    const place = { model: 'local/small' };
    const poison = await agent.send('poison', place);
    poisonId = poison.call_id;
    const behind = await agent.send('behind', { ...place, chat_id: poison.chat_id });
    const others = await Promise.all(Array.from({ length: 20 }, () => agent.send('other', place)));
    carrier = startWorker();
    for (const other of others) expect((await agent.ended(other)).status).toBe('completed');
    expect(await agent.ended(poison)).toMatchObject({ status: 'error', error: { type: 'worker_lost' } });
    expect(deaths).toBe(3);
    expect((await agent.ended(behind)).result.response).toBe('Fine.');
  },
  PATIENCE,
);

it(
  'ends a run whose provider does not answer, in words one can act on, while others go on',
  async () => {
    await startWorker();
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
      await startWorker();
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
