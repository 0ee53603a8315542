import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { definedJobs, type FailedJobHandler, type HandledJob, type Job, type JobHandler } from './job.js';

/** The methods that handle jobs, as the processors of their queues name them. */
@Injectable()
export class JobHandlers implements OnApplicationBootstrap {
  private readonly handled = new Map<string, HandledJob>();

  /** `failed` is called before a job fails for good. */
  add<Payload extends object>(
    job: Job<Payload>,
    execute: JobHandler<Payload>,
    failed?: FailedJobHandler<Payload>,
  ): void {
    if (this.handled.has(job.name)) throw new Error(`The job ${job.name} has two handlers; it takes one`);
    this.handled.set(job.name, { job, execute, failed } as unknown as HandledJob);
  }

  onApplicationBootstrap(): void {
    for (const { name, queue } of definedJobs())
      if (!this.handled.has(name))
        throw new Error(
          `The job ${name} has no handler: the processor of the queue ${queue} does not name it`,
        );
  }

  find(name: string): HandledJob | undefined {
    return this.handled.get(name);
  }
}
