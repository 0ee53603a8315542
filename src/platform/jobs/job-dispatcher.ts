import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Leases } from '../leases/index.js';
import { DueTimers } from '../schedule/index.js';
import { JobStore } from './job.store.js';
import { JOBS_TOPIC } from './jobs.js';
import { Queues } from './queues.js';

/** Gives jobs to their queues: those that were just committed, and those that a queue may have lost. */
@Injectable()
export class JobDispatcher implements OnApplicationBootstrap {
  constructor(
    private readonly store: JobStore,
    private readonly queues: Queues,
    private readonly leases: Leases,
    private readonly timers: DueTimers,
  ) {}

  onApplicationBootstrap(): void {
    const timer = this.timers.start({
      topic: JOBS_TOPIC,
      take: () => this.dispatch(),
      next: () => this.store.untilNext(),
      failure: 'dispatching jobs failed; trying again',
    });
    this.leases.recover('job', async () => timer.wake());
  }

  private async dispatch(): Promise<number> {
    const jobs = await this.store.takeDue();
    await Promise.all(jobs.map(job => this.queues.add(job)));
    return jobs.length;
  }
}
