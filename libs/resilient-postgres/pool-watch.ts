import type { Pool } from 'pg';

/** How long all connections may be taken, while others wait, until the pool counts as stuck: longer than any query may take. */
const STUCK_MS = 90_000;

/** The counts of a `pg.Pool`. */
export type PoolCounts = Pick<Pool, 'totalCount' | 'idleCount' | 'waitingCount' | 'options'>;

/** Whether the pool still hands out connections. While the database is unreachable it does: callers get an error in time. */
export class PoolWatch {
  /** The pool, once it was opened. */
  pool: PoolCounts | undefined;
  private waitingSince: number | undefined;

  asked(): void {
    this.waitingSince ??= performance.now();
  }

  /** A connection was acquired, released, or could not be made. */
  moved(): void {
    this.waitingSince = undefined;
  }

  get isStuck(): boolean {
    return this.waitingSince !== undefined && performance.now() - this.waitingSince > STUCK_MS;
  }
}
