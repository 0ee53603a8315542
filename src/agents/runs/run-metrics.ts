import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '../../platform/database/index.js';
import { Metrics } from '../../platform/metrics/index.js';
import { RUN_STATES, type RunState } from './run-state.js';

/** Shows how many runs there are that have not ended. */
@Injectable()
export class RunMetrics {
  constructor(
    metrics: Metrics,
    private readonly database: Database,
  ) {
    metrics.slowGauge(
      {
        name: 'atelier_runs',
        help: 'Runs that have not ended, of all processes together, by state.',
        labels: ['state'],
      },
      () => this.counts(),
    );
  }

  private async counts() {
    const { rows } = await sql<{ state: RunState; count: string }>`
      select state, count(*) as count from run where status = 'pending' group by state`.execute(
      this.database.tables(),
    );
    const counts = new Map(rows.map(({ state, count }) => [state, Number(count)]));
    return RUN_STATES.filter(state => state !== 'done').map(state => ({
      labels: { state },
      value: counts.get(state) ?? 0,
    }));
  }
}
