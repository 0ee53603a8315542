import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { Client, type Json } from '../harness/client.js';
import { FaultyProxy } from '../harness/faulty-proxy.js';
import { freePort } from '../harness/free-port.js';
import { type Person, TestService } from '../harness/service.js';
import { Standstill } from './standstill.js';
import { Workers } from './workers.js';

const PATIENCE = 300_000;

let service: TestService;
let ada: Person;
let workspace_id: string;
let proxy: FaultyProxy;
let processes: Workers;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person();
  workspace_id = await service.workspace(ada);
  proxy = await FaultyProxy.start(service.database.url);
  processes = new Workers({ service, environment: {} });
}, PATIENCE);
afterEach(() => processes.stop(), PATIENCE);
afterAll(async () => {
  await proxy.stop();
  await service.stop();
}, PATIENCE);

/** Sends a message to a process whose commit then stands still in the database; `work` goes on before it is let go. */
async function standingStill(
  chat_id: string,
  work: (parts: {
    kill: () => Promise<void>;
    letGo: () => Promise<void>;
    repeat: () => Promise<Json>;
  }) => Promise<void>,
): Promise<void> {
  const still = await Standstill.begin(service, { table: 'chat', event: 'after insert', inCommit: true });
  try {
    const port = await freePort();
    const subject = await processes.start({
      ROLE: 'api',
      PORT: `${port}`,
      DATABASE_URL: proxy.through(service.database.url),
    });
    const headers = { ...ada.client.headers, 'idempotency-key': chat_id };
    const message = { message: 'list', workspace_id, chat_id, model: 'atelier/demo' };
    const unanswered = new Client(`http://127.0.0.1:${port}`, headers)
      .post('/api/agent/message', message)
      .catch(() => undefined);
    await still.reached();
    await work({
      kill: async () => {
        await subject.kill();
        await unanswered;
      },
      letGo: () => still.letGo(),
      repeat: async () => {
        for (;;) {
          const answer = await ada.client
            .with({ 'idempotency-key': chat_id })
            .post('/api/agent/message', message);
          // Until the process is known to be gone.
          if (answer.status !== 409) return answer;
          await sleep(Number(answer.headers.get('retry-after')) * 1000);
        }
      },
    });
  } finally {
    await still.end();
    proxy.pass();
  }
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 200_000;
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error(`it never came to that: ${isSo}`);
    await sleep(50);
  }
}

const runsOf = (chat: string) => service.database.query('select id from run where chat_id = $1', [chat]);

async function expectOne(chat: string, answers: Json[]): Promise<void> {
  const [run, ...others] = await runsOf(chat);
  expect(others).toEqual([]);
  for (const { status, body } of answers)
    expect([status, body.chat_id, body.call_id]).toEqual([200, chat, run?.id]);
  expect(answers[1]?.body).toEqual(answers[0]?.body);
}

it(
  'a message whose process was killed after the commit and before the answer is answered to its repetition',
  async () => {
    const chat = randomUUID();
    await standingStill(chat, async ({ kill, letGo, repeat }) => {
      proxy.deafen();
      await letGo();
      await until(async () => (await runsOf(chat)).length > 0);
      await kill();
      await expectOne(chat, [await repeat(), await repeat()]);
    });
  },
  PATIENCE,
);

it(
  'a message whose process was killed while the database still worked on it is answered to its repetition',
  async () => {
    const chat = randomUUID();
    await standingStill(chat, async ({ kill, letGo, repeat }) => {
      await kill();
      const repeated = repeat();
      await sleep(500);
      await letGo();
      await expectOne(chat, [await repeated, await repeat()]);
    });
  },
  PATIENCE,
);
