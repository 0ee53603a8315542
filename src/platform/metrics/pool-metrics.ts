import { Injectable } from '@nestjs/common';
import { type PoolCounts, PoolWatch } from '../database/pool-watch.js';
import { QueuePool } from '../queue/queue-pool.js';
import { Metrics } from './metrics.js';

/** Shows how much of the database connections is in use. */
@Injectable()
export class PoolMetrics {
  constructor(metrics: Metrics, watch: PoolWatch, queue: QueuePool) {
    const pools = () =>
      Object.entries({ requests: watch.pool, queue: queue.connections }).flatMap(([pool, counts]) =>
        counts ? [{ pool, ...sizesOf(counts) }] : [],
      );
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
}

const sizesOf = ({ totalCount, idleCount, waitingCount, options }: PoolCounts) => ({
  idle: idleCount,
  used: totalCount - idleCount,
  waiting: waitingCount,
  size: options.max ?? 0,
});
