import { BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database, type UnitOfWork } from '../database/index.js';
import { type LeasedRows, Leases } from '../leases/index.js';
import { Log } from '../log/index.js';
import { Chore } from './chores.js';
import type { Attempt } from './job.js';
import type { QueuedJob } from './queued-job.js';

/** How long the queue has for a job before it is given it again, in case it lost it. */
const LOOK_SECONDS = 30;
const AT_ONCE = 100;
/** A time further away was written while the clock of the database was wrong. */
const MAX_AHEAD_HOURS = 24;
const KEPT_DAYS = 7;
const HOUR_MS = 3_600_000;

/** A job that this process has claimed. */
export interface ClaimedJob extends Attempt {
  readonly name: string;
  readonly payload: Record<string, string>;
}

/**
 * Every job from the transaction that enqueues it until it is done. BullMQ only decides when a job runs: what it loses is
 * enqueued again, and what it delivers twice is executed by the process that claims the row.
 */
@Injectable()
export class JobStore implements BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  /** What this process executes, or is about to claim. */
  private readonly executing = new Set<string>();
  /** The ends of attempts that are not in the database yet. */
  private readonly unsaved = new Map<string, RawBuilder<unknown>>();
  private readonly rows: LeasedRows;

  constructor(
    private readonly database: Database,
    private readonly leases: Leases,
    private readonly log: Log,
  ) {
    this.rows = leases.rows('accepted_job');
  }

  beforeApplicationShutdown(): void {
    this.stopping.abort(new Error('The service is stopping'));
  }

  async add(unit: UnitOfWork, { id, queue, name, payload }: QueuedJob): Promise<void> {
    await sql`
      insert into accepted_job (id, queue, name, payload, look_at, created_at)
      values (${id}, ${queue}, ${name}, ${JSON.stringify(payload)}::jsonb, now(), now())`.execute(
      unit.tables(),
    );
  }

  /** Some of the jobs that the queue is to be given, again or for the first time. */
  async takeDue(): Promise<QueuedJob[]> {
    await this.saveEnds();
    const isDue = sql<boolean>`failed_at is null
      and (look_at <= now() or look_at > now() + make_interval(hours => ${MAX_AHEAD_HOURS}))`;
    const forgotten = await this.rows.forgotten(this.database, id => this.executing.has(id), {
      among: isDue,
    });
    const { rows } = await sql<QueuedJob>`
      update accepted_job
      set look_at = now() + make_interval(secs => ${LOOK_SECONDS}), ${this.rows.released},
        lost = lost + ${this.rows.isOrphaned}::int
      where id in (
        select id from accepted_job
        where ${isDue} and (${this.rows.isFree} or ${forgotten})
        order by look_at limit ${AT_ONCE} for update skip locked)
      returning id, queue, name, payload`.execute(this.database.tables());
    return rows;
  }

  /** Milliseconds until one is due; undefined where none waits. */
  async untilNext(): Promise<number | undefined> {
    const { rows } = await sql<{ ms: number | null }>`
      select extract(epoch from min(look_at) - now())::float8 * 1000 as ms from accepted_job
      where failed_at is null and ${this.rows.isFree}`.execute(this.database.tables());
    return rows[0]?.ms ?? undefined;
  }

  /** Undefined where the job is done, has failed for good, or is being executed. */
  async claim(id: string): Promise<ClaimedJob | undefined> {
    if (this.executing.has(id)) return undefined;
    this.executing.add(id);
    try {
      await this.leases.requireFresh();
      const { rows } = await sql<Omit<ClaimedJob, 'id' | 'signal'>>`
        update accepted_job
        set ${this.rows.claimed}, lost = lost + (holder is not null)::int
        where id = ${id} and failed_at is null and ${this.rows.isFree}
        returning name, payload, failures, lost`.execute(this.database.tables());
      const [row] = rows;
      if (row) return { id, ...row, signal: AbortSignal.any([this.stopping.signal, this.leases.signal]) };
    } catch (error) {
      this.executing.delete(id);
      throw error;
    }
    this.executing.delete(id);
    return undefined;
  }

  async finish({ id }: Attempt): Promise<void> {
    await this.end(id, sql`delete from accepted_job where id = ${id} and ${this.rows.isOurs}`);
  }

  /** Puts a job back that is to be executed later, or in another process. */
  async putBack(attempt: Attempt, afterMs: number): Promise<void> {
    await this.end(attempt.id, this.release(attempt, afterMs, sql`reason = reason`));
  }

  /** The attempt failed, and another one follows. */
  async fail(attempt: Attempt, reason: string, retryMs: number): Promise<void> {
    await this.end(
      attempt.id,
      this.release(attempt, retryMs, sql`failures = failures + 1, reason = ${reason}`),
    );
  }

  /** The job failed for good. */
  async failForGood(attempt: Attempt, reason: string): Promise<void> {
    const given = sql`failures = failures + 1, reason = ${reason}, failed_at = now()`;
    await this.end(attempt.id, this.release(attempt, 0, given));
  }

  /** How many of each queue failed for good. */
  async failedByQueue(): Promise<Map<string, number>> {
    const { rows } = await sql<{ queue: string; count: number }>`
      select queue, count(*)::int as count from accepted_job where failed_at is not null group by queue`.execute(
      this.database.tables(),
    );
    return new Map(rows.map(({ queue, count }) => [queue, count]));
  }

  private release({ id }: Attempt, afterMs: number, also: RawBuilder<unknown>): RawBuilder<unknown> {
    const seconds = Math.max(0, afterMs) / 1000 + LOOK_SECONDS;
    return sql`
      update accepted_job set ${this.rows.released}, look_at = now() + make_interval(secs => ${seconds}), ${also}
      where id = ${id} and ${this.rows.isOurs}`;
  }

  /** Saves how an attempt ended; where the database is away, when it is back. */
  private async end(id: string, statement: RawBuilder<unknown>): Promise<void> {
    this.unsaved.set(id, statement);
    try {
      await this.saveEnd(id, statement);
    } catch (error) {
      this.log.warn({ err: error, job_id: id }, 'saving the end of a job failed; trying again');
    }
  }

  private async saveEnds(): Promise<void> {
    for (const [id, statement] of this.unsaved) await this.saveEnd(id, statement);
  }

  private async saveEnd(id: string, statement: RawBuilder<unknown>): Promise<void> {
    await statement.execute(this.database.tables());
    this.unsaved.delete(id);
    this.executing.delete(id);
  }

  @Chore('remove_failed_jobs', { everyMs: HOUR_MS })
  async removeOld(): Promise<void> {
    await sql`delete from accepted_job where failed_at < now() - make_interval(days => ${KEPT_DAYS})`.execute(
      this.database.tables(),
    );
  }
}
