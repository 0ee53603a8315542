import { WorkerHost } from '@nestjs/bullmq';
import { type Job as BullJob, DelayedError, type WorkerOptions } from 'bullmq';
import type { FailedJobHandler, Job, JobHandler } from './job.js';
import { JobRunner } from './job-runner.js';

/**
 * How long a worker without jobs waits for a notification of the queue before it looks: what changes a queue notifies it, a lost
 * connection wakes it, and it sleeps no longer than until the next delayed job.
 */
const IDLE_SECONDS = 30;

type Options = Pick<WorkerOptions, 'concurrency' | 'lockDuration' | 'stalledInterval' | 'maxStalledCount'>;

/** Options of `@Processor` for a queue. */
export const workerOptions = (options: Options): Options & { drainDelay: number } => ({
  drainDelay: IDLE_SECONDS,
  ...options,
});

/** Options of a queue whose jobs wait in the process, which is fair to organizations as the queue is not. */
export const fairWorkerOptions = (concurrency = 200): Options & { drainDelay: number } =>
  workerOptions({ concurrency, lockDuration: 10_000, stalledInterval: 10_000, maxStalledCount: 100 });

/**
 * The worker of a queue. Subclasses have `@Processor(queue, workerOptions({ … }))`, and name in their constructor which method
 * handles each job of the queue.
 */
export abstract class JobProcessor extends WorkerHost {
  constructor(private readonly runner: JobRunner) {
    super();
  }

  /** Executes a job of this queue by `execute`. `failed` is called before it fails for good. */
  protected handle<Payload extends object>(
    job: Job<Payload>,
    execute: JobHandler<Payload>,
    failed?: FailedJobHandler<Payload>,
  ): void {
    this.runner.handlers.add(job, execute, failed);
  }

  override async process(job: BullJob, token?: string): Promise<void> {
    const again = job.id === undefined ? undefined : await this.runner.execute(job.id);
    if (again === undefined) return;
    await job.moveToDelayed(Date.now() + again, token);
    throw new DelayedError();
  }
}
