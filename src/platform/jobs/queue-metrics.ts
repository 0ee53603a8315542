import { Injectable } from '@nestjs/common';
import { Metrics } from '../metrics/index.js';
import { JobStore } from './job.store.js';
import { Queues } from './queues.js';

/** States in which BullMQ counts jobs; failed ones are counted by their rows. */
const STATES = ['waiting', 'active', 'delayed'] as const;

/** How many jobs each queue has. */
@Injectable()
export class QueueMetrics {
  constructor(
    private readonly queues: Queues,
    private readonly store: JobStore,
    metrics: Metrics,
  ) {
    metrics.slowGauge(
      {
        name: 'atelier_queue_jobs',
        help: 'Jobs in a queue, of all processes together, by state.',
        labels: ['queue', 'state'],
      },
      () => this.depths(),
    );
  }

  private async depths() {
    const failed = await this.store.failedByQueue();
    const depths = await Promise.all(
      this.queues.all().map(async queue => {
        const counts = await queue.getJobCounts(...STATES);
        const depth = (state: string, value = 0) => ({ labels: { queue: queue.name, state }, value });
        return [...STATES.map(state => depth(state, counts[state])), depth('failed', failed.get(queue.name))];
      }),
    );
    return depths.flat();
  }
}
