import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { Database, DatabaseConnection } from '../../../src/platform/database/index.js';
import { HeartbeatPool, LeaseLost, Leases, NamedLeases } from '../../../src/platform/leases/index.js';
import { Log } from '../../../src/platform/log/index.js';
import { defineTopic, Topics } from '../../../src/platform/topics/index.js';
import { TestService } from '../../harness/service.js';

/** What a process has for its leases. */
interface Process {
  readonly leases: Leases;
  readonly named: NamedLeases;
  /** It gives no more heartbeats, and its row stays. */
  stop(): Promise<void>;
}

let service: TestService;
let database: Database;
let here: Process;
const others: Process[] = [];

beforeAll(async () => {
  service = await TestService.start();
  const of = <T>(type: new (...args: never[]) => T) => service.app.get(type, { strict: false });
  database = of(Database);
  here = { leases: of(Leases), named: of(NamedLeases), stop: async () => undefined };
});
afterAll(async () => {
  for (const one of others) await one.stop();
  await service.stop();
});

async function another(): Promise<Process> {
  const log = service.app.get(Log, { strict: false });
  const topics = new Topics(service.app.get(DatabaseConnection, { strict: false }), log);
  const leases = new Leases(database, service.app.get(HeartbeatPool, { strict: false }), topics, log);
  const named = new NamedLeases(database, topics, leases);
  named.onModuleInit();
  await topics.onApplicationBootstrap();
  await leases.onApplicationBootstrap();
  let stopping: Promise<void> | undefined;
  const end = async () => {
    await leases.onApplicationShutdown();
    await topics.onApplicationShutdown();
  };
  const stop = () => (stopping ??= end());
  others.push({ leases, named, stop });
  return { leases, named, stop };
}

const ageOf = (span: string, { leases }: Process) =>
  service.database.query(`update process set seen_at = now() - interval '${span}' where id = $1`, [
    leases.processId,
  ]);

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(50);
}

const isGone = async ({ leases }: Process) =>
  (await service.database.query('select 1 from process where id = $1', [leases.processId])).length === 0;

describe('a lease by name', () => {
  it('is held once, and goes to who waits with a larger fence', async () => {
    const elsewhere = await another();
    const name = randomUUID();
    const { promise: first, resolve: end } = Promise.withResolvers<string>();
    const fences: bigint[] = [];
    let running = 0;
    const work = (process: Process, until: Promise<unknown>) =>
      process.named.hold(name, async ({ fence }) => {
        expect(++running).toBe(1);
        fences.push(BigInt(fence));
        await until;
        running--;
      });
    const all = [work(here, first)];
    await until(async () => fences.length === 1);
    expect(await here.named.claim(name)).toBeUndefined();
    expect(await elsewhere.named.claim(name)).toBeUndefined();
    all.push(work(elsewhere, sleep(10)), work(here, sleep(10)), work(elsewhere, sleep(10)));
    end('done');
    await Promise.all(all);
    expect(fences).toEqual([...fences].sort((a, b) => Number(a - b)));
    expect(new Set(fences).size).toBe(4);
    expect(await service.database.query('select 1 from lease where name = $1', [name])).toEqual([]);
  });

  it('of a process that stood still goes to another, and the first writes no more', async () => {
    const still = await another();
    const name = randomUUID();
    const lease = await still.named.claim(name);
    if (!lease) throw new Error('it is not free');
    const write = () => database.transaction(unit => still.named.require(unit, lease));
    await write();
    await still.stop();
    await ageOf('16 seconds', still);
    await here.named.hold(name, async ({ fence }) => {
      expect(BigInt(fence)).toBeGreaterThan(BigInt(lease.fence));
      await expect(write()).rejects.toThrow(LeaseLost);
      await still.named.release(lease);
      expect(await still.named.claim(name)).toBeUndefined();
    });
    await expect(write()).rejects.toThrow(LeaseLost);
  });

  it('that could not be released is free when the database is back', async () => {
    const name = randomUUID();
    const lease = await here.named.claim(name);
    if (!lease) throw new Error('it is not free');
    await service.database.query('alter table lease rename to away');
    await expect(here.named.release(lease)).rejects.toThrow('does not exist');
    await service.database.query('alter table away rename to lease');
    expect(await here.named.hold(name, async () => 'done')).toBe('done');
  });
});

describe('rows that a process holds', () => {
  const rowsOf = async (holder: string, count: number) => {
    await service.database.query(
      'create table if not exists held (id int, holder uuid, recovered int default 0)',
    );
    await service.database.query('truncate held');
    await service.database.query('insert into held select n, $1 from generate_series(1, $2) n', [
      holder,
      count,
    ]);
  };
  const recover = async ({ leases }: Process) => {
    const rows = leases.rows('held');
    await sql`update held set ${rows.claimed}, recovered = recovered + 1 where ${rows.isOrphaned}`.execute(
      database.tables(),
    );
  };

  it('are recovered once, by whichever process notices that it is gone', async () => {
    const processes = [here, await another(), await another()];
    const lost = await another();
    await rowsOf(lost.leases.processId, 1000);
    await service.database.query('insert into held values (0, $1)', [processes[1]?.leases.processId]);
    for (const one of processes) one.leases.recover('test', () => recover(one));
    expect([...(await here.leases.gone([lost.leases.processId]))]).toEqual([]);
    await lost.stop();
    await ageOf('16 seconds', lost);
    const sum = 'select sum(recovered)::int as count, min(recovered) as least from held where id > 0';
    await until(async () => (await service.database.query(sum))[0]?.least === 1);
    expect(await isGone(lost)).toBe(true);
    await Promise.all(processes.map(recover));
    expect(await service.database.query(sum)).toEqual([{ count: 1000, least: 1 }]);
    expect(await service.database.query('select recovered from held where id = 0')).toEqual([
      { recovered: 0 },
    ]);
    for (const one of processes) one.leases.recover('test', async () => undefined);
  });

  it('are not taken for forgotten when they are claimed while a process looks', async () => {
    const { processId } = here.leases;
    const rows = here.leases.rows('held');
    const known = new Set<string>();
    const claim = (id: number) => service.database.query('insert into held values ($1, $2)', [id, processId]);
    for (const id of [2001, 2002]) await claim(id);
    const forgotten = await rows.forgotten(database, id => known.has(id), { among: sql`held.id > 2000` });
    known.add('2003');
    await claim(2003);
    await service.database.query('update held set holder = $1 where id = 2002', [processId]);
    const { rows: deleted } = await sql`delete from held where ${forgotten} returning id`.execute(
      database.tables(),
    );
    expect(deleted).toEqual([{ id: 2001 }]);
  });
});

it('a process of this machine that ended is noticed by its number, whatever process has that now', async () => {
  const [ended, taken, elsewhere, running] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  await service.database.query(
    `insert into process (id, seen_at, machine, pid, started)
     select v.id::uuid, now() + interval '1 hour', coalesce(v.machine, own.machine), v.pid, coalesce(v.started, own.started)
     from process own, (values ($2, null, 4194303, null), ($3, null, $6::int, '1'), ($4, 'other', 4194303, null),
       ($5, null, $6::int, null)) v (id, machine, pid, started) where own.id = $1`,
    [here.leases.processId, ended, taken, elsewhere, running, process.pid],
  );
  const gone = await here.leases.gone([ended, taken, elsewhere, running]);
  expect(gone).toEqual(new Set([ended, taken]));
  await service.database.query('delete from process where id = any($1)', [[elsewhere, running]]);
});

it('a process knows of one that starts before its own next heartbeat', async () => {
  const kind = defineTopic('only-here');
  const alone = async () => here.leases.isAlone(kind);
  await until(alone);
  const [held, seen] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = database.transaction(async unit => {
    const row = [here.leases.processId];
    await unit.entities.execute('select id from process where id = ? for no key update', row);
    held.resolve();
    await seen.promise;
  });
  await held.promise;
  await another();
  await until(async () => !(await alone()));
  seen.resolve();
  await holding;
  await until(alone);
});
