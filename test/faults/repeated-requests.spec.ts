import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { Client, type Json } from '../harness/client.js';
import { FaultyProxy } from '../harness/faulty-proxy.js';
import { type Person, TestService } from '../harness/service.js';
import { freePort } from './redis-process.js';
import { Workers } from './workers.js';

const PATIENCE = 120_000;
/** The advisory lock that chats of this test wait for. */
const LOCK = 4_711;

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

/** Sends a message to a process whose statement then stands still in the database; `work` goes on before it is let go. */
async function standingStill(
  chat_id: string,
  work: (parts: {
    kill: () => Promise<void>;
    letGo: () => Promise<void>;
    repeat: () => Promise<Json>;
  }) => Promise<void>,
): Promise<void> {
  const lock = new pg.Client({ connectionString: service.database.url });
  await lock.connect();
  try {
    await lock.query('select pg_advisory_lock($1)', [LOCK]);
    await lock.query(`
      create or replace function stand_still() returns trigger language plpgsql as $$ begin
        perform pg_advisory_xact_lock_shared(${LOCK});
        return new;
      end $$;
      create or replace trigger stand_still before insert on chat for each row execute function stand_still();`);
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
    await until(async () => {
      const waits = 'select 1 from pg_locks where objid = $1 and not granted';
      return (await service.database.query(waits, [LOCK])).length > 0;
    });
    await work({
      kill: async () => {
        await subject.kill();
        await unanswered;
      },
      letGo: async () => void (await lock.query('select pg_advisory_unlock($1)', [LOCK])),
      repeat: async () => ada.client.with({ 'idempotency-key': chat_id }).post('/api/agent/message', message),
    });
  } finally {
    await lock.end();
    await service.database.query('drop trigger stand_still on chat');
    proxy.pass();
  }
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000;
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
