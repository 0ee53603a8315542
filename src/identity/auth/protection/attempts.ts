import { Injectable, OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '../../../platform/database/index.js';
import { Maintenance } from '../../../platform/maintenance/index.js';

interface AttemptRow {
  key: string;
  count: number;
  last_at: string;
  expires_at: string;
}

/** How often something was tried; the ages are the database's, so that no two clocks are compared. */
export interface AttemptCount {
  count: number;
  /** Since the last time. */
  secondsAgo: number;
  /** Until it counts as never tried. */
  secondsLeft: number;
}

const SWEEP_MS = 3_600_000;

const count = {
  count: sql<number>`count`,
  secondsAgo: sql<number>`extract(epoch from now() - last_at)::float8`,
  secondsLeft: sql<number>`extract(epoch from expires_at - now())::float8`,
};

/** Counts of what strangers try, each over a span of time that begins with the first; the same for all processes. */
@Injectable()
export class Attempts implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly maintenance: Maintenance,
  ) {}

  onModuleInit(): void {
    this.maintenance.every(SWEEP_MS, 'remove_attempt_counts', () => this.removeOld());
  }

  /** Counts one more, atomically. */
  async add(key: string, spanSeconds: number): Promise<AttemptCount> {
    const expires_at = sql<string>`now() + make_interval(secs => ${spanSeconds})`;
    const isOver = sql<boolean>`attempt_count.expires_at <= now()`;
    return this.tables
      .insertInto('attempt_count')
      .values({ key, count: 1, last_at: sql<string>`now()`, expires_at })
      .onConflict(conflict =>
        conflict.column('key').doUpdateSet({
          count: sql<number>`case when ${isOver} then 1 else attempt_count.count + 1 end`,
          last_at: sql<string>`now()`,
          expires_at: sql<string>`case when ${isOver} then excluded.expires_at else attempt_count.expires_at end`,
        }),
      )
      .returning([
        sql<number>`attempt_count.count`.as('count'),
        count.secondsAgo.as('secondsAgo'),
        count.secondsLeft.as('secondsLeft'),
      ])
      .executeTakeFirstOrThrow();
  }

  /** The count that has not run out; undefined for none. */
  find(key: string): Promise<AttemptCount | undefined> {
    return this.tables
      .selectFrom('attempt_count')
      .select([
        count.count.as('count'),
        count.secondsAgo.as('secondsAgo'),
        count.secondsLeft.as('secondsLeft'),
      ])
      .where('key', '=', key)
      .where('expires_at', '>', sql<string>`now()`)
      .executeTakeFirst();
  }

  async forget(key: string): Promise<void> {
    await this.tables.deleteFrom('attempt_count').where('key', '=', key).execute();
  }

  private async removeOld(): Promise<void> {
    await this.tables.deleteFrom('attempt_count').where('expires_at', '<=', sql<string>`now()`).execute();
  }

  private get tables() {
    return this.database.tables<{ attempt_count: AttemptRow }>();
  }
}
