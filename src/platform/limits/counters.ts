import { Injectable } from '@nestjs/common';
import { CompiledQuery } from 'kysely';
import { RateLimiterPostgres } from 'rate-limiter-flexible';
import { Database } from '../database/index.js';
import { Chore } from '../jobs/index.js';

const FIVE_MINUTES_MS = 300_000;
const HOUR_MS = 3_600_000;

/** Tables of counts. What is counted in `rate_count` may be lost with a crash of the database. */
type CounterTable = 'attempt_count' | 'rate_count';

interface CounterOptions {
  readonly table: CounterTable;
  /** What keys begin with. */
  readonly prefix: string;
  /** How long a count lasts, from the first one on. */
  readonly seconds: number;
}

interface Statement {
  readonly text: string;
  readonly values: unknown[];
}

/** Counts that all processes share; each change or look is one statement. */
@Injectable()
export class Counters {
  constructor(private readonly database: Database) {}

  of({ table, prefix, seconds }: CounterOptions): RateLimiterPostgres {
    return new RateLimiterPostgres({
      storeClient: { query: (statement: Statement) => this.query(statement) },
      storeType: 'pool',
      tableName: table,
      tableCreated: true,
      clearExpiredByTimeout: false,
      keyPrefix: prefix,
      duration: seconds,
      // Callers compare counts with limits of their own.
      points: 0,
    });
  }

  @Chore('rate_limits', { everyMs: FIVE_MINUTES_MS })
  deleteExpiredRates(): Promise<void> {
    return this.deleteExpired('rate_count');
  }

  @Chore('remove_attempt_counts', { everyMs: HOUR_MS })
  deleteExpiredAttempts(): Promise<void> {
    return this.deleteExpired('attempt_count');
  }

  private async deleteExpired(table: CounterTable): Promise<void> {
    const tables = this.database.tables();
    await tables.deleteFrom(table).where('expire', '<=', String(Date.now())).execute();
  }

  private async query({ text, values }: Statement) {
    const { rows } = await this.database.tables().executeQuery(CompiledQuery.raw(text, values));
    return { rows, rowCount: rows.length };
  }
}
