import { Injectable } from '@nestjs/common';
import { Config } from '../config/index.js';
import { UnitOfWork } from '../database/index.js';
import { Signals } from '../topics/index.js';
import { type AcceptedJob, AcceptedJobs } from './accepted-jobs.js';

/** A kind of background job, as a value: where it waits, what it is called and what it carries. */
export interface JobKind<Payload extends object> {
  readonly queue: string;
  readonly name: string;
  /** Only here for the type of the payload, which is ids. */
  readonly payload?: Payload;
}

export function defineJob<Payload extends object>(queue: string, name: string): JobKind<Payload> {
  return { queue, name };
}

export const OUTBOX_TOPIC = 'outbox';

/**
 * A job that fails is tried again for some eight minutes: a database or a disk that is away for a while is no reason to
 * forget it.
 */
export const MAX_ATTEMPTS = 10;
const BACKOFF_MS = 1000;
/** How long after so many failures the next attempt comes. */
export const backoffMs = (failures: number): number => BACKOFF_MS * 2 ** Math.min(failures - 1, MAX_ATTEMPTS);

/** What the queue keeps nothing of, its row tells ({@link AcceptedJobs}): whether a job is over, and how it failed. */
const JOB_OPTIONS = {
  attempts: MAX_ATTEMPTS,
  backoff: { type: 'exponential', delay: BACKOFF_MS },
  removeOnComplete: true,
  removeOnFail: true,
};

/** Sets the jobs that have a row apart from those that processes of an earlier version added. */
const PREFIX = 'job-';

/** How the queue keeps a job: under an id by which it knows one that it is given again. */
export const queueOptions = (id: string) => ({ jobId: `${PREFIX}${id}`, ...JOB_OPTIONS });

/** The id of the row of a job; undefined where it has none. */
export const rowIdOf = (jobId: string | undefined): string | undefined =>
  jobId?.startsWith(PREFIX) ? jobId.slice(PREFIX.length) : undefined;

/** Puts jobs on the queue as part of the transaction that makes them necessary: both happen, or neither. */
@Injectable()
export class JobQueue {
  constructor(
    private readonly config: Config,
    private readonly signals: Signals,
    private readonly accepted: AcceptedJobs,
  ) {}

  /** `id` must be a new one for each enqueueing. */
  async enqueue<P extends object>(
    unit: UnitOfWork,
    { queue, name }: JobKind<P>,
    id: string,
    payload: P,
  ): Promise<void> {
    const job: AcceptedJob = { id, queue, name, payload };
    const isInDatabase = !this.config.redisUrl;
    await this.accepted.add(unit, job, isInDatabase);
    if (isInDatabase) await this.addInPostgres(unit, job);
    else await this.signals.notify(unit, OUTBOX_TOPIC);
  }

  /** What BullMQ's own `Queue.add` sends, inside our transaction. Internal to BullMQ: its version is pinned. */
  private async addInPostgres(unit: UnitOfWork, { id, queue, name, payload }: AcceptedJob): Promise<void> {
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
