import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import { newId, UnitOfWork } from '../database/database.js';
import { Signals } from '../signals/signals.js';

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
 * How every job is kept. One that fails is tried again for some eight minutes: a database or a disk that is away for a
 * while is no reason to forget it, and running twice is harmless by the rule that all jobs follow.
 */
export const JOB_OPTIONS = {
  attempts: 10,
  backoff: { type: 'exponential', delay: 1000 },
  removeOnComplete: true,
  removeOnFail: { age: 86_400 },
};

/** Puts jobs on the queue as part of the transaction that makes them necessary: both happen, or neither. */
@Injectable()
export class JobQueue {
  constructor(
    @Inject(Config) private readonly config: Config,
    @Inject(Signals) private readonly signals: Signals,
  ) {}

  /** `id` must be new for each enqueueing: a job whose id the queue knows already is not added again. */
  async enqueue<P extends object>(unit: UnitOfWork, kind: JobKind<P>, id: string, payload: P): Promise<void> {
    if (this.config.redisUrl) await this.enqueueThroughOutbox(unit, kind, payload);
    else await this.enqueueInPostgres(unit, kind, id, payload);
  }

  /** What BullMQ's own `Queue.add` sends, inside our transaction. Internal to BullMQ: its version is pinned. */
  private async enqueueInPostgres(
    unit: UnitOfWork,
    kind: JobKind<object>,
    id: string,
    payload: object,
  ): Promise<void> {
    await unit.entities.execute(
      'select bullmq.add_job(?, ?, ?, ?::jsonb, ?::jsonb, 0, 0, ?, ?, null, null, null, null, null, false)',
      [
        kind.queue,
        id,
        kind.name,
        JSON.stringify(payload),
        JSON.stringify({ jobId: id, ...JOB_OPTIONS }),
        Date.now(),
        JOB_OPTIONS.attempts,
      ],
    );
  }

  private async enqueueThroughOutbox(
    unit: UnitOfWork,
    kind: JobKind<object>,
    payload: object,
  ): Promise<void> {
    await unit.entities.execute(
      'insert into job_outbox (id, queue, name, payload, created_at) values (?, ?, ?, ?::jsonb, now())',
      [newId(), kind.queue, kind.name, JSON.stringify(payload)],
    );
    await this.signals.notify(unit, OUTBOX_TOPIC);
  }
}
