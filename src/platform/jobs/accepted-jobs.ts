import { BeforeApplicationShutdown, Injectable, OnModuleInit } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database, type UnitOfWork } from '../database/index.js';
import { type LeasedRows, Leases } from '../leases/index.js';
import { Log } from '../log/index.js';
import { Maintenance } from '../maintenance/index.js';

/** How long the queue has for a job before it is given it again, in case it lost it. */
const LOOK_SECONDS = 30;
const AT_ONCE = 100;
/** A time further away was written while the clock of the database was wrong. */
const MAX_AHEAD_HOURS = 24;
const KEPT_DAYS = 7;
const SWEEP_MS = 3_600_000;
const ADOPT_MS = 60_000;

/** A job as the queue gets it. */
export interface AcceptedJob {
  readonly id: string;
  readonly queue: string;
  readonly name: string;
  readonly payload: object;
}

/** A job that this process carries out, and nobody else meanwhile. */
export interface Attempt {
  readonly id: string;
  /** What kind of job it is. */
  readonly name: string;
  /** Attempts before this one that failed. */
  readonly failures: number;
  /** Attempts before this one that ended with their process. */
  readonly lost: number;
  /** Aborted when this process stops, or is so long out of touch that another may soon take the job over. */
  readonly signal: AbortSignal;
}

/**
 * Every job from the transaction that accepts it until it has been carried out. The queue only says when a job's turn is:
 * what it loses is given to it again, and what it delivers twice is carried out by the one who holds the row.
 */
@Injectable()
export class AcceptedJobs implements OnModuleInit, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  /** What this process carries out, or is about to claim. */
  private readonly carried = new Set<string>();
  /** How attempts ended that the database could not be told of so far. */
  private readonly untold = new Map<string, RawBuilder<unknown>>();
  private readonly rows: LeasedRows;

  constructor(
    private readonly database: Database,
    private readonly leases: Leases,
    private readonly maintenance: Maintenance,
    private readonly log: Log,
  ) {
    this.rows = leases.rows('accepted_job');
  }

  onModuleInit(): void {
    this.maintenance.every(SWEEP_MS, 'remove_failed_jobs', () => this.removeOld());
    this.maintenance.every(ADOPT_MS, 'adopt_outbox', () => this.adoptOutbox());
  }

  beforeApplicationShutdown(): void {
    this.stopping.abort(new Error('The service is stopping'));
  }

  /** Accepts a job; `isQueued` where the queue is given it in the same transaction. */
  async add(unit: UnitOfWork, { id, queue, name, payload }: AcceptedJob, isQueued: boolean): Promise<void> {
    const seconds = isQueued ? LOOK_SECONDS : 0;
    await sql`
      insert into accepted_job (id, queue, name, payload, look_at, created_at)
      values (${id}, ${queue}, ${name}, ${JSON.stringify(payload)}::jsonb, now() + make_interval(secs => ${seconds}), now())`.execute(
      unit.tables(),
    );
  }

  /** Some of the jobs that the queue is to be given, again or for the first time. */
  async takeDue(): Promise<AcceptedJob[]> {
    await this.tellEnds();
    const { rows } = await sql<AcceptedJob>`
      update accepted_job
      set look_at = now() + make_interval(secs => ${LOOK_SECONDS}), ${this.rows.released},
        lost = lost + ${this.rows.isOrphaned}::int
      where id in (
        select id from accepted_job
        where failed_at is null
          and (look_at <= now() or look_at > now() + make_interval(hours => ${MAX_AHEAD_HOURS}))
          and (${this.rows.isFree} or (${this.rows.isOurs} and id <> all(${[...this.carried]}::uuid[])))
        order by look_at limit ${AT_ONCE} for update skip locked)
      returning id, queue, name, payload`.execute(this.database.tables());
    return rows;
  }

  /** Takes a job to carry it out; undefined where that was done, failed for good, or is under way. */
  async claim(id: string): Promise<Attempt | undefined> {
    if (this.carried.has(id)) return undefined;
    this.carried.add(id);
    try {
      await this.leases.requireFresh();
      const { rows } = await sql<Pick<Attempt, 'name' | 'failures' | 'lost'>>`
        update accepted_job
        set ${this.rows.claimed}, lost = lost + (holder is not null)::int
        where id = ${id} and failed_at is null and ${this.rows.isFree}
        returning name, failures, lost`.execute(this.database.tables());
      const [row] = rows;
      if (row) return { id, ...row, signal: AbortSignal.any([this.stopping.signal, this.leases.signal]) };
    } catch (error) {
      this.carried.delete(id);
      throw error;
    }
    this.carried.delete(id);
    return undefined;
  }

  /** The job has been carried out. */
  async finish({ id }: Attempt): Promise<void> {
    await this.end(id, sql`delete from accepted_job where id = ${id} and ${this.rows.isOurs}`);
  }

  /** Puts a job back that is to be carried out at a later time, or go on in another process. */
  async putBack(attempt: Attempt, after: Date): Promise<void> {
    await this.end(attempt.id, this.release(attempt, after.getTime() - Date.now(), sql`reason = reason`));
  }

  /** The attempt failed, and another one follows. */
  async fail(attempt: Attempt, reason: string, retryMs: number): Promise<void> {
    await this.end(
      attempt.id,
      this.release(attempt, retryMs, sql`failures = failures + 1, reason = ${reason}`),
    );
  }

  /** The job failed for good. */
  async giveUp(attempt: Attempt, reason: string): Promise<void> {
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

  /** Notes how an attempt ended; where the database is away, when it is back. */
  private async end(id: string, statement: RawBuilder<unknown>): Promise<void> {
    this.untold.set(id, statement);
    try {
      await this.tellEnd(id, statement);
    } catch (error) {
      this.log.warn({ err: error, job_id: id }, 'the end of a job is noted when the database is back');
    }
  }

  private async tellEnds(): Promise<void> {
    for (const [id, statement] of this.untold) await this.tellEnd(id, statement);
  }

  private async tellEnd(id: string, statement: RawBuilder<unknown>): Promise<void> {
    await statement.execute(this.database.tables());
    this.untold.delete(id);
    this.carried.delete(id);
  }

  private async removeOld(): Promise<void> {
    await sql`delete from accepted_job where failed_at < now() - make_interval(days => ${KEPT_DAYS})`.execute(
      this.database.tables(),
    );
  }

  /** What a process of an earlier version left behind, which kept jobs only until Redis had them. */
  private async adoptOutbox(): Promise<void> {
    await sql`
      with left_behind as (
        delete from job_outbox where created_at < now() - interval '1 minute' returning *
      )
      insert into accepted_job (id, queue, name, payload, look_at, created_at)
      select id, queue, name, payload, now(), created_at from left_behind on conflict do nothing`.execute(
      this.database.tables(),
    );
  }
}
