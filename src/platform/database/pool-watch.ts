import { Injectable } from '@nestjs/common';

/** How long all connections may be taken, while others wait, until the pool counts as stuck: longer than any query may take. */
const STUCK_MS = 90_000;

/** The counts of a `pg.Pool`. */
export interface PoolCounts {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
  readonly options: { readonly max?: number };
}

/** Whether the pool still gives connections out. A database that is away is no reason: who waits gets an error in time. */
@Injectable()
export class PoolWatch {
  /** The pool, once it was opened. */
  pool: PoolCounts | undefined;
  private waitingSince: number | undefined;

  /** Somebody asks for a connection. */
  asked(): void {
    this.waitingSince ??= performance.now();
  }

  /** A connection was given out, or given back, or could not be made. */
  moved(): void {
    this.waitingSince = undefined;
  }

  get isStuck(): boolean {
    return this.waitingSince !== undefined && performance.now() - this.waitingSince > STUCK_MS;
  }
}
