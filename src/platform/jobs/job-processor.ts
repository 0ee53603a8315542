import { WorkerHost } from '@nestjs/bullmq';
import { Inject } from '@nestjs/common';
import { DelayedError, type Job, UnrecoverableError } from 'bullmq';
import { isOutage } from '../database/index.js';
import { Log } from '../log/index.js';
import { AcceptedJobs, type Attempt } from './accepted-jobs.js';
import { backoffMs, MAX_ATTEMPTS, rowIdOf } from './job-queue.js';

/** So many processes may be lost over a job before it is taken for what ends them. */
const MAX_LOST = 20;
const MAX_REASON = 500;

/**
 * Carries the jobs of a queue out. Each is claimed before, so that one that is delivered twice, as the queue was lost or took
 * a worker for dead, is carried out once.
 */
export abstract class JobProcessor<Payload extends object> extends WorkerHost {
  @Inject(AcceptedJobs) private readonly accepted: AcceptedJobs;
  @Inject(Log) protected readonly log: Log;

  /** One attempt: returns when to try again, and nothing where the job is done. Throws for one that failed. */
  protected abstract perform(payload: Payload, attempt: Attempt): Promise<Date | undefined>;

  /** Called before a job is given up for good. */
  protected async abandon(_payload: Payload): Promise<void> {}

  async process(job: Job<Payload>, token?: string): Promise<void> {
    const id = rowIdOf(job.id);
    const attempt = id === undefined ? undefined : await this.accepted.claim(id);
    // It was carried out, or is being.
    if (id !== undefined && !attempt) return;
    const again = attempt
      ? await this.attempt(job.data, attempt)
      : await this.perform(job.data, withoutRow(job));
    if (!again) return;
    await job.moveToDelayed(again.getTime(), token);
    throw new DelayedError();
  }

  private async attempt(payload: Payload, attempt: Attempt): Promise<Date | undefined> {
    try {
      if (attempt.lost > MAX_LOST)
        throw new UnrecoverableError(`${attempt.lost} processes were lost over it`);
      const again = await this.perform(payload, attempt);
      if (again) await this.accepted.putBack(attempt, again);
      else await this.accepted.finish(attempt);
      return again;
    } catch (error) {
      return this.failed(payload, attempt, error as Error);
    }
  }

  private async failed(payload: Payload, attempt: Attempt, error: Error): Promise<Date> {
    if (attempt.signal.aborted) {
      // Another process goes on with it.
      const now = new Date();
      await this.accepted.putBack(attempt, now);
      return now;
    }
    const reason = error.message.slice(0, MAX_REASON);
    const failures = attempt.failures + 1;
    const isOver = failures >= MAX_ATTEMPTS || error instanceof UnrecoverableError;
    if (!isOver || !(await this.abandoned(payload, attempt))) {
      await this.accepted.fail(attempt, reason, backoffMs(failures));
      throw error;
    }
    await this.accepted.giveUp(attempt, reason);
    this.log.error({ err: error, job_id: attempt.id, failures }, 'a job failed for good');
    throw new UnrecoverableError(reason);
  }

  /** False where that has to be tried again, as the database is away. */
  private async abandoned(payload: Payload, { id }: Attempt): Promise<boolean> {
    try {
      await this.abandon(payload);
    } catch (error) {
      if (isOutage(error)) return false;
      this.log.error({ err: error, job_id: id }, 'what a job was for could not be told of its failure');
    }
    return true;
  }
}

/** A job that a process of an earlier version added. */
function withoutRow({ id = '', name, attemptsMade }: Job): Attempt {
  return { id, name, failures: attemptsMade, lost: 0, signal: new AbortController().signal };
}
