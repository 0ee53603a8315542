import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { PoolWatch, poolEnd, SecondConnection } from '#libs/resilient-postgres/index.js';
import { Database } from '../../src/platform/database/index.js';
import { Leases } from '../../src/platform/leases/index.js';
import type { FakeOpenAi } from '../fakes/openai-server.js';
import { type AgentGround, startAgents } from '../harness/agent.js';
import type { Person, TestService } from '../harness/service.js';

const CONNECTIONS = 4;

let ground: AgentGround;
let model: FakeOpenAi;
let service: TestService;
let ada: Person;

beforeAll(async () => {
  ground = await startAgents({
    DATABASE_POOL: `${CONNECTIONS}`,
    OPENAI_COMPATIBLE_MODELS: 'small',
    LOG_LEVEL: 'silent',
  });
  ({ model, service, ada } = ground);
});
afterAll(() => ground.stop());

it('a pool that has ended has no connection that a database server could still end', async () => {
  const pool = new pg.Pool({ connectionString: service.database.url, max: 8 });
  const end = poolEnd(pool);
  const counts = { opened: 0, closed: 0 };
  pool.on('connect', () => counts.opened++);
  pool.on('remove', () => counts.closed++);
  await Promise.all(Array.from({ length: 8 }, () => pool.query('select pg_sleep(0.1)')));
  await end();
  expect(counts.opened).toBeGreaterThan(0);
  expect(counts.closed).toBe(counts.opened);
});

describe('more callers at once than there are connections', () => {
  it('accept one invitation once', async () => {
    const bob = await service.person('Bob');
    const invited = await ada.client.post(`/api/organizations/${ada.organizationId}/invitations`, {
      email: bob.email,
      role: 'member',
    });
    const token = /([\w-]{20,})$/.exec(invited.body.url ?? invited.body.link ?? invited.body.token)?.[1];
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => bob.client.post(`/api/invitations/${token}/accept`, {})),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses[0]).toBe(200);
    expect(new Set(statuses.slice(1))).toEqual(new Set([409]));
    expect((await service.stranger.get('/api/health/ready')).status).toBe(200);
  });

  it('send the first messages of one chat', async () => {
    model.otherwise({ text: 'Done.' });
    const chat_id = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        ada.client.post('/api/agent/message', { chat_id, message: `${n}`, model: 'local/small' }),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.chat_id))).toEqual(new Set([chat_id]));
    expect((await service.stranger.get('/api/health/ready')).status).toBe(200);
  });
});

it('a transaction that asks for a second connection is refused', async () => {
  const database = service.app.get(Database);
  const work = () =>
    database.transaction(() => database.transaction(unit => unit.entities.execute('select 1')));
  await expect(work()).rejects.toThrow(SecondConnection);
});

it('whoever gets no connection in time is asked to try again, and gets one when there is one', async () => {
  const database = service.app.get(Database);
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const held = Array.from({ length: CONNECTIONS }, () => database.transaction(() => over));
  const refused = await ada.client.raw('GET', '/api/workspaces');
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(await refused.json()).toEqual({ detail: expect.any(String) });
  expect((await service.stranger.get('/api/health/ready')).status).toBe(503);
  expect((await service.stranger.get('/api/health')).status).toBe(200);
  end();
  await Promise.all(held);
  expect((await ada.client.get('/api/workspaces')).status).toBe(200);
});

it('a heartbeat does not wait for the connections that other work holds', async () => {
  const database = service.app.get(Database);
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  let holding = 0;
  const held = Array.from({ length: CONNECTIONS }, () =>
    database.transaction(() => {
      holding++;
      return over;
    }),
  );
  while (holding < CONNECTIONS) await sleep(20);
  const { processId } = service.app.get(Leases);
  const last = async () => {
    const asked = 'select seen_at::text from process where id = $1';
    return (await service.database.query<{ seen_at: string }>(asked, [processId]))[0]?.seen_at;
  };
  const before = await last();
  while ((await last()) === before) await sleep(20);
  end();
  await Promise.all(held);
});

it('is not alive any more when all connections were taken for long while a request waits', async () => {
  let release = () => {};
  const held = new Promise<void>(resolve => {
    release = resolve;
  });
  const database = service.app.get(Database, { strict: false });
  let holding = 0;
  const hold = () => {
    holding++;
    return held;
  };
  const holders = Array.from({ length: CONNECTIONS }, () => database.transaction(hold));
  // One that still waits for its connection would count as the request that waits, until it has it.
  while (holding < CONNECTIONS) await sleep(20);
  const waiting = ada.client.get('/api/workspaces');
  const watch = service.app.get(PoolWatch, { strict: false });
  while (watch.pool?.waitingCount === 0) await sleep(20);
  expect((await service.stranger.get('/api/health')).status).toBe(200);
  const now = performance.now.bind(performance);
  const later = jest.spyOn(performance, 'now').mockImplementation(() => now() + 100_000);
  const health = await service.stranger.get('/api/health');
  later.mockRestore();
  release();
  await Promise.all([waiting, ...holders]);
  expect(health).toMatchObject({ status: 503, body: { detail: expect.stringContaining('restart') } });
  expect((await service.stranger.get('/api/health')).status).toBe(200);
});

describe('the watch over the pool', () => {
  it('finds it stuck when somebody waits and nothing moves for long', () => {
    let time = 3_600_000;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => time);
    try {
      const watch = new PoolWatch();
      expect(watch.isStuck).toBe(false);
      watch.asked();
      time += 10_000;
      watch.asked();
      expect(watch.isStuck).toBe(false);
      time += 100_000;
      expect(watch.isStuck).toBe(true);
      watch.moved();
      expect(watch.isStuck).toBe(false);
    } finally {
      // The service of this process goes on by the same clock.
      clock.mockRestore();
    }
  });
});
