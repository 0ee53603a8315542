import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../config/index.js';
import { UnitOfWork } from '../database/index.js';
import { Leases } from '../leases/index.js';
import { DueTimers } from '../schedule/index.js';
import { defineTopic, Topics } from '../topics/index.js';
import type { Job } from './job.js';
import { type EnqueuedJob, JobStore } from './job.store.js';
import { Queues, queueOptions } from './queues.js';

/** Published for the dispatcher when there are new jobs, where the queue is not in the database. */
export const JOBS_TOPIC = defineTopic('outbox')();

/** Enqueues jobs as part of the transaction that makes them necessary: both happen, or neither. */
@Injectable()
export class Jobs {
  constructor(
    private readonly config: Config,
    private readonly topics: Topics,
    private readonly store: JobStore,
  ) {}

  /** `id` must be a new one each time. */
  async enqueue<P extends object>(unit: UnitOfWork, job: Job<P>, id: string, payload: P): Promise<void> {
    const enqueued: EnqueuedJob = { id, queue: job.queue.name, name: job.name, payload };
    const isInDatabase = !this.config.redisUrl;
    await this.store.add(unit, enqueued, isInDatabase);
    if (isInDatabase) await this.addInPostgres(unit, enqueued);
    else await this.topics.publishOnCommit(unit, JOBS_TOPIC);
  }

  /** What BullMQ's own `Queue.add` sends, inside our transaction. Internal to BullMQ: its version is pinned. */
  private async addInPostgres(unit: UnitOfWork, { id, queue, name, payload }: EnqueuedJob): Promise<void> {
    const options = queueOptions(id);
    await unit.entities.execute(
      'select bullmq.add_job(?, ?, ?, ?::jsonb, ?::jsonb, 0, 0, ?, ?, null, null, null, null, null, false)',
      [
        queue,
        options.jobId,
        name,
        JSON.stringify(payload),
        JSON.stringify(options),
        Date.now(),
        options.attempts,
      ],
    );
  }
}

/**
 * Adds jobs to the queues: those that were just committed, where the queues are in Redis, and those that a queue may have lost.
 */
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
