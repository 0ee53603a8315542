import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { UnitOfWork } from '../database/index.js';
import { Leases } from '../leases/index.js';
import { DueTimers } from '../schedule/index.js';
import { defineTopic, Topics } from '../topics/index.js';
import type { Job } from './job.js';
import { JobStore } from './job.store.js';
import { Queues } from './queues.js';

/** Published for the dispatcher when there are new jobs. */
export const JOBS_TOPIC = defineTopic('outbox')();

/** Enqueues jobs as part of the transaction that makes them necessary: both happen, or neither. */
@Injectable()
export class Jobs {
  constructor(
    private readonly topics: Topics,
    private readonly store: JobStore,
  ) {}

  /** `id` must be a new one each time. */
  async enqueue<P extends object>(unit: UnitOfWork, job: Job<P>, id: string, payload: P): Promise<void> {
    await this.store.add(unit, { id, queue: job.queue, name: job.name, payload });
    await this.topics.publishOnCommit(unit, JOBS_TOPIC);
  }
}

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
