import { Injectable } from '@nestjs/common';
import { type PoolCounts, PoolWatch } from '#libs/resilient-postgres/index.js';
import { Metrics } from './metrics.js';

/** Shows how much of the database connections is in use. */
@Injectable()
export class PoolMetrics {
  private readonly pools = new Map<string, () => PoolCounts | undefined>();

  constructor(metrics: Metrics, watch: PoolWatch) {
    this.watch('requests', () => watch.pool);
    const pools = () => this.sizes();
    metrics.gauge(
      {
        name: 'atelier_database_pool_connections',
        help: 'Connections to the database that are open, by pool and by whether they are in use.',
        labels: ['pool', 'state'],
      },
      () =>
        pools().flatMap(({ pool, idle, used }) => [
          { labels: { pool, state: 'idle' }, value: idle },
          { labels: { pool, state: 'used' }, value: used },
        ]),
    );
    metrics.gauge(
      { name: 'atelier_database_pool_size', help: 'Connections that a pool may open.', labels: ['pool'] },
      () => pools().map(({ pool, size }) => ({ labels: { pool }, value: size })),
    );
    metrics.gauge(
      {
        name: 'atelier_database_pool_waiting',
        help: 'Who waits for a connection of a pool.',
        labels: ['pool'],
      },
      () => pools().map(({ pool, waiting }) => ({ labels: { pool }, value: waiting })),
    );
  }

  /** Shows a pool too; `counts` gives undefined as long as there is none. */
  watch(pool: string, counts: () => PoolCounts | undefined): void {
    this.pools.set(pool, counts);
  }

  private sizes() {
    return [...this.pools].flatMap(([pool, counts]) => {
      const current = counts();
      return current ? [{ pool, ...sizesOf(current) }] : [];
    });
  }
}

const sizesOf = ({ totalCount, idleCount, waitingCount, options }: PoolCounts) => ({
  idle: idleCount,
  used: totalCount - idleCount,
  waiting: waitingCount,
  size: options.max ?? 0,
});
