import { Injectable } from '@nestjs/common';
import { isOutage } from '#libs/resilient-postgres/index.js';
import { Log } from '../log/index.js';
import { backoffMs, type HandledJob } from './job.js';
import { type ClaimedJob, JobStore } from './job.store.js';
import { JobHandlers } from './job-handlers.js';

/** A job over which more processes were lost fails: it probably ended them. */
const MAX_LOST = 20;
const MAX_REASON = 500;

/** Executes jobs. Each is claimed first, so that one that is delivered twice is executed once. */
@Injectable()
export class JobRunner {
  constructor(
    private readonly store: JobStore,
    readonly handlers: JobHandlers,
    private readonly log: Log,
  ) {}

  /**
   * Returns after how many milliseconds the job is to be delivered again; nothing where it is done, has failed for good or runs
   * elsewhere.
   */
  async execute(id: string): Promise<number | undefined> {
    const job = await this.store.claim(id);
    if (!job) return undefined;
    const handled = this.handlers.find(job.name);
    try {
      if (job.lost > MAX_LOST) throw new PermanentFailure(`${job.lost} processes were lost over it`);
      if (!handled) throw new Error(`This version has no handler for ${job.name}`);
      const again = (await handled.execute(payloadOf(handled, job), job)) ?? undefined;
      if (again !== undefined) await this.store.putBack(job, again);
      else await this.store.finish(job);
      return again;
    } catch (error) {
      return this.failed(handled, job, error as Error);
    }
  }

  private async failed(
    handled: HandledJob | undefined,
    job: ClaimedJob,
    error: Error,
  ): Promise<number | undefined> {
    if (job.signal.aborted) {
      // Another process executes it.
      await this.store.putBack(job, 0);
      return 0;
    }
    const reason = error.message.slice(0, MAX_REASON);
    const failures = job.failures + 1;
    const facts = { err: error, job: job.name, job_id: job.id, failures };
    const isOver = handled && (failures >= handled.job.attempts || error instanceof PermanentFailure);
    if (isOver && (await this.hasHandledFailure(handled, job))) {
      await this.store.failForGood(job, reason);
      this.log.error(facts, 'a job failed for good');
      return undefined;
    }
    const delay = backoffMs(failures);
    await this.store.fail(job, reason, delay);
    this.log.warn(facts, 'a job failed; trying again');
    return delay;
  }

  /** False where the database is away, so that it has to be tried again. */
  private async hasHandledFailure({ failed }: HandledJob, { id, payload }: ClaimedJob): Promise<boolean> {
    try {
      await failed?.(payload);
    } catch (error) {
      if (isOutage(error)) return false;
      this.log.error({ err: error, job_id: id }, 'the handler of a failed job failed');
    }
    return true;
  }
}

/** No further attempt can succeed. */
class PermanentFailure extends Error {}

function payloadOf({ job }: HandledJob, { payload }: ClaimedJob): Record<string, string> {
  const missing = job.payload.filter(field => typeof payload[field] !== 'string');
  if (missing.length > 0) throw new PermanentFailure(`Its payload lacks ${missing.join(', ')}`);
  return payload;
}
