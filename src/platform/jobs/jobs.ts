import { Injectable } from '@nestjs/common';
import { UnitOfWork } from '../database/index.js';
import { defineTopic, Topics } from '../topics/index.js';
import type { Job } from './job.js';
import { JobStore } from './job.store.js';

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
