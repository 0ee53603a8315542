import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import pg from 'pg';
import { Queues } from '../../src/platform/jobs/index.js';
import { type Person, TestService } from '../harness/service.js';
import { RedisProcess } from './redis-process.js';
import { Workers } from './workers.js';

const PATIENCE = 300_000;

describe.each(['PostgreSQL', 'Redis'])('when the queue in %s loses what it has', driver => {
  let redis: RedisProcess | undefined;
  let service: TestService;
  let ada: Person;
  let workspace: string;
  let workers: Workers;
  let queue: Queue;

  beforeAll(async () => {
    redis = driver === 'Redis' ? await RedisProcess.start() : undefined;
    const environment: Record<string, string> = redis ? { REDIS_URL: redis.url } : {};
    service = await TestService.start({ ROLE: 'api', ...environment });
    workers = new Workers({ service, environment });
    ada = await service.person();
    workspace = await service.workspace(ada);
    const written = await ada.client.put(`/api/workspaces/${workspace}/files/content`, {
      path: 'one.txt',
      content: 'one',
    });
    expect(written.status).toBe(200);
    queue = service.app.get(Queues, { strict: false }).queue('operations');
    await service.database.query(`
      create table claim (job_id uuid not null);
      create function note_claim() returns trigger language plpgsql as $$ begin
        insert into claim values (new.id);
        return new;
      end $$;
      create trigger note_claim after update on accepted_job for each row
        when (new.holder is not null and new.holder is distinct from old.holder) execute function note_claim();`);
  }, PATIENCE);

  afterEach(() => workers.stop(), PATIENCE);

  afterAll(async () => {
    await service.stop();
    await redis?.stop();
  }, PATIENCE);

  /** Begins a copy: the operation, and the id of its job. */
  async function begin(): Promise<{ operation: string; job: string }> {
    const { status, body } = await ada.client.post(`/api/workspaces/${workspace}/duplicate`, {
      name: 'Copy',
    });
    expect(status).toBe(200);
    const [row] = await service.database.query(
      "select id from accepted_job where payload ->> 'operation_id' = $1",
      [body.operation_id],
    );
    return { operation: body.operation_id, job: row?.id };
  }

  /** Waits for what cannot be subscribed to. */
  async function until(isSo: () => Promise<boolean>): Promise<void> {
    const end = Date.now() + 200_000;
    while (!(await isSo())) {
      if (Date.now() > end) throw new Error(`it never came to that: ${isSo}`);
      await sleep(100);
    }
  }

  const knows = async (job: string) => (await queue.getJob(job)) !== undefined;
  const rowOf = async (job: string) =>
    (await service.database.query('select * from accepted_job where id = $1', [job]))[0];
  const claimsOf = async (job: string) =>
    (await service.database.query('select 1 from claim where job_id = $1', [job])).length;

  async function lose(): Promise<void> {
    if (redis) {
      const client = new Redis(redis.url);
      await client.flushall();
      await client.quit();
    } else await service.database.query('truncate bullmq.job cascade');
  }

  /** Passes the time after which a queue is given these jobs again; it is short. */
  async function passTime(...jobs: { job: string }[]): Promise<void> {
    const passed = await service.database.query(
      `update accepted_job set look_at = now()
       where id = any($1) and look_at < now() + interval '1 minute' returning id`,
      [jobs.map(({ job }) => job)],
    );
    expect(passed).toHaveLength(jobs.length);
  }

  async function expectOnce({ operation, job }: { operation: string; job: string }): Promise<void> {
    const last = (await ada.client.events(`/api/operations/${operation}/events`)).at(-1);
    expect(last?.data).toMatchObject({ status: 'completed', error: null });
    await until(async () => (await rowOf(job)) === undefined);
    expect(await claimsOf(job)).toBe(1);
  }

  /** Keeps a copy from going on while `work` is under way. */
  async function held(operation: string, work: () => Promise<void>): Promise<void> {
    const client = new pg.Client({ connectionString: service.database.url });
    await client.connect();
    try {
      await client.query('begin');
      await client.query('select 1 from operation where id = $1 for update', [operation]);
      await work();
      await client.query('commit');
    } finally {
      await client.end();
    }
  }

  it(
    'carries out once what waited in it, and nothing that has failed for good',
    async () => {
      const failing = randomUUID();
      await service.database.query(
        `insert into accepted_job (id, queue, name, payload, failures, look_at, created_at)
         values ($1, 'operations', 'duplicate_files', '{"operation_id": "none"}', 9, now(), now())`,
        [failing],
      );
      const first = await workers.start();
      await until(async () => (await rowOf(failing))?.failed_at);
      await first.stop();
      const failed = await rowOf(failing);
      expect(failed).toMatchObject({ failures: 10, holder: null, reason: expect.stringContaining('uuid') });

      const copies = [await begin(), await begin(), await begin()];
      for (const { job } of copies) await until(() => knows(job));
      await lose();
      for (const { job } of copies) expect(await knows(job)).toBe(false);
      await passTime(...copies);
      await workers.start();
      await workers.start();
      for (const copy of copies) await expectOnce(copy);
      expect(await rowOf(failing)).toEqual(failed);
      expect([await claimsOf(failing), await knows(failing)]).toEqual([1, false]);
    },
    PATIENCE,
  );

  it(
    'carries out once what was under way, also where that is delivered again',
    async () => {
      const copy = await begin();
      await held(copy.operation, async () => {
        await workers.start();
        await until(async () => (await rowOf(copy.job))?.holder);
        await lose();
        await workers.start();
        // So often that also the other worker gets it.
        for (let delivery = 0; delivery < 10; delivery++) {
          const again = { jobId: copy.job, removeOnComplete: true };
          await queue.add('duplicate_files', { operation_id: copy.operation }, again);
          await until(async () => !(await knows(copy.job)));
        }
        expect((await ada.client.get(`/api/operations/${copy.operation}`)).body.status).toBe('queued');
      });
      await expectOnce(copy);
    },
    PATIENCE,
  );

  it(
    'lets a worker take over what one that was killed had begun',
    async () => {
      const copy = await begin();
      await held(copy.operation, async () => {
        const first = await workers.start();
        await until(async () => (await rowOf(copy.job))?.holder);
        await first.kill();
        await lose();
      });
      await passTime(copy);
      await workers.start();
      const last = (await ada.client.events(`/api/operations/${copy.operation}/events`)).at(-1);
      expect(last?.data).toMatchObject({ status: 'completed', error: null });
      await until(async () => (await rowOf(copy.job)) === undefined);
      expect(await claimsOf(copy.job)).toBe(2);
    },
    PATIENCE,
  );

  if (driver !== 'Redis') return;

  it(
    'goes on with a Redis that was killed and is empty now',
    async () => {
      const [waiting, running] = [await begin(), await begin()];
      await held(waiting.operation, () =>
        held(running.operation, async () => {
          const worker = await workers.start();
          await until(async () => (await rowOf(running.job))?.holder);
          await redis?.kill();
          redis = await RedisProcess.start(redis?.port);
          expect(worker.errors).toEqual([]);
        }),
      );
      const later = await begin();
      for (const copy of [waiting, running, later]) await expectOnce(copy);
    },
    PATIENCE,
  );

  it(
    'accepts what is to be done while there is no Redis',
    async () => {
      const queued = await begin();
      await until(() => knows(queued.job));
      const port = redis?.port;
      await redis?.kill();
      const accepted = await begin();
      redis = await RedisProcess.start(port);
      await passTime(queued);
      await workers.start();
      await expectOnce(queued);
      await expectOnce(accepted);
    },
    PATIENCE,
  );
});
