import { Injectable } from '@nestjs/common';
import { CompiledQuery } from 'kysely';
import { RateLimiterPostgres } from 'rate-limiter-flexible';
import { Database } from '../database/index.js';
import { Chore } from '../jobs/index.js';
import { CounterOptions, CounterTable, FIVE_MINUTES_MS, HOUR_MS, Statement } from './rate-limits.js';

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
