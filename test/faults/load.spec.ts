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
