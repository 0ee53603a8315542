import type { EventEmitter } from 'node:events';
import { BullModule, BullRegistrar, WorkerHost } from '@nestjs/bullmq';
import { Global, Module, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { ConnectionOptions, createPostgresBackend, Queue, setDefaultBackendFactory, Worker } from 'bullmq';
import { Config } from '../config/index.js';
import { Log } from '../log/index.js';
import { Metrics, PoolMetrics } from '../metrics/index.js';
import { AcceptedJobs } from './accepted-jobs.js';
import { JobQueue } from './job-queue.js';
import { Outbox } from './outbox.js';
import { QueuePool } from './queue-pool.js';

/** In which the queue counts jobs; those that failed are counted by their rows. */
const STATES = ['waiting', 'active', 'delayed'] as const;

/** Redis where one is configured, else the database itself. */
function queueConnection(config: Config, pool: QueuePool): ConnectionOptions {
  if (config.redisUrl) {
    setDefaultBackendFactory();
    return { url: config.redisUrl, maxRetriesPerRequest: null };
  }
  setDefaultBackendFactory(createPostgresBackend as never);
  return pool.connections as unknown as ConnectionOptions;
}

/** The background queue: processors run where ROLE says so. */
@Global()
@Module({
  imports: [
    DiscoveryModule,
    BullModule.forRootAsync({
      inject: [Config, QueuePool],
      useFactory: (config: Config, pool: QueuePool) => ({
        connection: queueConnection(config, pool),
        extraOptions: { manualRegistration: true },
      }),
      extraOptions: { manualRegistration: true },
    }),
  ],
  providers: [AcceptedJobs, JobQueue, Outbox, QueuePool],
  exports: [AcceptedJobs, JobQueue, QueuePool],
})
export class QueueModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly config: Config,
    private readonly registrar: BullRegistrar,
    private readonly discovery: DiscoveryService,
    private readonly pool: QueuePool,
    private readonly accepted: AcceptedJobs,
    private readonly log: Log,
    metrics: Metrics,
    pools: PoolMetrics,
  ) {
    pools.watch('queue', () => pool.connections);
    metrics.slowGauge(
      {
        name: 'atelier_queue_jobs',
        help: 'Jobs in a queue, of all processes together, by state.',
        labels: ['queue', 'state'],
      },
      () => this.depths(),
    );
  }

  onApplicationBootstrap(): void {
    if (this.config.runsJobs) this.registrar.register();
    for (const part of this.parts()) this.watch(part);
  }

  /** Queues and workers are closed by their module too; their connections come after them all. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.parts().map(part => part.close()));
    await this.pool.connections.end();
  }

  private async depths() {
    const queues = this.parts().filter(part => part instanceof Queue);
    const failed = await this.accepted.failedByQueue();
    const depths = await Promise.all(
      queues.map(async queue => {
        const counts = await queue.getJobCounts(...STATES);
        const depth = (state: string, value = 0) => ({ labels: { queue: queue.name, state }, value });
        return [...STATES.map(state => depth(state, counts[state])), depth('failed', failed.get(queue.name))];
      }),
    );
    return depths.flat();
  }

  private parts(): (Queue | Worker)[] {
    return this.discovery.getProviders().flatMap(({ instance }) => {
      if (instance instanceof Queue) return [instance];
      return this.config.runsJobs && instance instanceof WorkerHost ? [instance.worker] : [];
    });
  }

  /** A lost connection is mended by the queue itself; without a listener it would go to stderr, or end the process. */
  private watch(part: Queue | Worker): void {
    const { name } = part;
    const events: EventEmitter = part;
    if (events.listenerCount('error') > 0) return;
    events.on('error', error =>
      this.log.warn({ err: error, queue: name }, 'a queue has a fault; it goes on'),
    );
  }
}
