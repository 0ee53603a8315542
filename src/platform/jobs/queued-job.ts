import type { JobsOptions } from 'bullmq';

/** A job as its queue gets it. */
export interface QueuedJob {
  readonly id: string;
  readonly queue: string;
  readonly name: string;
  readonly payload: object;
}

/** Of deliveries that fail because the database is away. How a job itself failed is in its row. */
const DELIVERIES = 10;
const BACKOFF_MS = 1000;

/** How BullMQ keeps a job: under the id of its row, by which it knows one that it is given again. */
export const queueOptions = (id: string): JobsOptions => ({
  jobId: id,
  attempts: DELIVERIES,
  backoff: { type: 'exponential', delay: BACKOFF_MS },
  removeOnComplete: true,
  removeOnFail: true,
});
