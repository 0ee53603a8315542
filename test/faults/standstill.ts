import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { TestService } from '../harness/service.js';

const PATIENCE = 200_000;
const LOCK = 4_711;

interface Where {
  readonly table: string;
  readonly event: string;
  readonly when?: string;
  readonly inCommit?: boolean;
}

/** Statements that stand still in the middle of a database's work until they are let go, by a trigger that waits. */
export class Standstill {
  private constructor(
    private readonly lock: pg.Client,
    private readonly table: string,
  ) {}

  /**
   * `event` is what the trigger is for, as in `create trigger`: `before insert`; `when` its condition. With `inCommit`, what
   * stands still is the commit of such a statement, and `event` an `after` one.
   */
  static async begin(
    { database }: TestService,
    { table, event, when = 'true', inCommit = false }: Where,
  ): Promise<Standstill> {
    const [made, isLate] = inCommit
      ? ['create constraint trigger', 'deferrable initially deferred']
      : ['create or replace trigger', ''];
    const lock = new pg.Client({ connectionString: database.url });
    await lock.connect();
    await lock.query('select pg_advisory_lock($1)', [LOCK]);
    await lock.query(`
      create or replace function stand_still() returns trigger language plpgsql as $$ begin
        perform pg_advisory_xact_lock_shared(${LOCK});
        return new;
      end $$;
      ${made} stand_still ${event} on ${table} ${isLate} for each row when (${when})
        execute function stand_still();`);
    return new Standstill(lock, table);
  }

  /** Resolves when a statement stands still. */
  async reached(): Promise<void> {
    for (const end = Date.now() + PATIENCE; (await this.waiting()).length === 0; await sleep(50))
      if (Date.now() > end) throw new Error(`nothing came to stand still at ${this.table}`);
  }

  async letGo(): Promise<void> {
    await this.lock.query('select pg_advisory_unlock($1)', [LOCK]);
  }

  /** Ends the connections of what stands still, so that its work is undone. */
  async undo(): Promise<void> {
    for (const pid of await this.waiting()) await this.lock.query('select pg_terminate_backend($1)', [pid]);
  }

  async end(): Promise<void> {
    await this.letGo();
    await this.lock.query(`drop trigger stand_still on ${this.table}`);
    await this.lock.end();
  }

  private async waiting(): Promise<number[]> {
    // Other tests have databases of the same server, and the same number for their locks.
    const { rows } = await this.lock.query(
      `select pid from pg_locks where locktype = 'advisory' and objid = $1 and not granted
       and database = (select oid from pg_database where datname = current_database())`,
      [LOCK],
    );
    return rows.map(({ pid }) => pid);
  }
}
