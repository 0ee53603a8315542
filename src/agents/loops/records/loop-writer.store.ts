import { Injectable } from '@nestjs/common';
import { type Insertable, type RawBuilder, sql } from 'kysely';
import { type Schema, storable, type UnitOfWork } from '../../../platform/database/index.js';
import { type LeasedRows, Leases } from '../../../platform/leases/index.js';
import { notifyTopic, Topics } from '../../../platform/topics/index.js';
import {
  type CheckResult,
  LOOPS_DUE,
  type LoopEnd,
  type LoopRow,
  loopTopic,
  type NewLoopEvent,
  TRANSITIONS,
  type TransitionName,
  type Verdict,
} from './loop-state.js';

export type NewLoop = Omit<Insertable<Schema['loop']>, 'state' | 'created_at' | 'next_at' | 'last_event'>;

/** What a transition does beside the state. */
interface Change {
  readonly set?: RawBuilder<unknown>;
  readonly where?: RawBuilder<boolean>;
  readonly events?: readonly NewLoopEvent[];
}

/** What an iteration used, by its run and the tasks of that. */
interface Used {
  /** null: the price of a model is not known. */
  readonly usd: number | null;
  readonly seconds: number;
}

export interface EndOptions {
  readonly isOurs?: boolean;
  readonly seconds?: number;
}

/** How an iteration was graded. */
export interface Graded {
  readonly checks: readonly CheckResult[];
  readonly verdict: Verdict | null;
  readonly unmet: readonly string[];
  readonly filesDigest: string;
  readonly seconds: number;
}

/** The one writer of loops, their iterations and their events. */
@Injectable()
export class LoopWriter {
  private readonly rows: LeasedRows;

  constructor(
    private readonly topics: Topics,
    leases: Leases,
  ) {
    this.rows = leases.rows('loop');
  }

  async add(unit: UnitOfWork, row: NewLoop, code: Buffer | null): Promise<void> {
    const { id, organization_id, workspace_id, chat_id } = row;
    const values = {
      ...row,
      state: 'waiting' as const,
      created_at: sql<string>`now()`,
      next_at: sql<string>`now()`,
    };
    await unit
      .tables()
      .insertInto('loop')
      .values({ ...values, last_event: 0 })
      .execute();
    if (code) await unit.tables().insertInto('loop_check').values({ loop_id: id, code }).execute();
    const data = { loop_id: id, organization_id, workspace_id, chat_id };
    await this.append(unit, id, [{ type: 'loop.created', data }]);
    await this.topics.publishWithCommit(unit, LOOPS_DUE);
  }

  /** The run of the next iteration was added; undefined where the loop is not as it was read. */
  async begin(unit: UnitOfWork, { id, iteration }: LoopRow, callId: string): Promise<LoopRow | undefined> {
    const number = iteration + 1;
    const moved = await this.move(unit, id, 'begin', {
      set: sql`iteration = ${number}, call_id = ${callId}, blocked_reason = null, next_at = null, grading_failures = 0`,
      where: sql<boolean>`iteration = ${iteration}`,
      events: [{ type: 'iteration.started', data: { iteration: number, call_id: callId } }],
    });
    if (!moved) return undefined;
    await unit
      .tables()
      .insertInto('loop_iteration')
      .values({ loop_id: id, number, call_id: callId, started_at: sql`now()` })
      .execute();
    return moved;
  }

  postpone(unit: UnitOfWork, id: string, seconds: number): Promise<LoopRow | undefined> {
    return this.move(unit, id, 'postpone', { set: inSeconds(seconds) });
  }

  /** This process takes a loop whose run has ended, once; what the run used counts with that. */
  async grade(
    unit: UnitOfWork,
    { id, iteration, call_id }: LoopRow,
    { usd, seconds }: Used,
    stopReason: string | null,
  ): Promise<LoopRow | undefined> {
    const moved = await this.move(unit, id, 'grade', {
      set: sql`${this.rows.claimed}, spent_usd = spent_usd + ${usd}::float8, spent_seconds = spent_seconds + ${seconds}::float8`,
      events: [
        { type: 'iteration.ended', data: { iteration, call_id, stop_reason: stopReason, cost_usd: usd } },
      ],
    });
    await sql`
      update loop_iteration set ended_at = now(), stop_reason = ${stopReason}, cost_usd = ${usd}::float8
      where loop_id = ${id} and number = ${iteration} and ended_at is null`.execute(unit.tables());
    return moved;
  }

  regrade(unit: UnitOfWork, id: string): Promise<LoopRow | undefined> {
    return this.move(unit, id, 'regrade', { set: sql`${this.rows.claimed}, next_at = null` });
  }

  /** This process has it no more. */
  release(
    unit: UnitOfWork,
    id: string,
    { seconds, hasFailed }: { seconds: number; hasFailed: boolean },
  ): Promise<LoopRow | undefined> {
    return this.move(unit, id, 'release', {
      set: sql`${this.rows.released}, ${inSeconds(seconds)}, grading_failures = grading_failures + ${hasFailed ? 1 : 0}`,
      where: this.rows.isOurs,
    });
  }

  /** What the check and the schema said is kept, so that whoever takes the grading over need not ask again. */
  async checked(unit: UnitOfWork, { id, iteration }: LoopRow, checks: readonly CheckResult[]): Promise<void> {
    await sql`
      update loop_iteration set checks = ${storable(checks)}::jsonb where loop_id = ${id} and number = ${iteration}`.execute(
      unit.tables(),
    );
    await this.append(unit, id, [{ type: 'iteration.checked', data: { iteration, checks } }]);
  }

  /** What an iteration was found to be; undefined where this process has its grading no more. */
  async graded(unit: UnitOfWork, loop: LoopRow, graded: Graded): Promise<LoopRow | undefined> {
    const { id, iteration } = loop;
    const { checks, verdict, unmet, filesDigest, seconds } = graded;
    const data = { iteration, unmet, checks, verdict };
    const { rows } = await sql<LoopRow>`
      update loop set spent_seconds = spent_seconds + ${seconds}::float8
      where id = ${id} and state = 'grading' and ${this.rows.isOurs} returning *`.execute(unit.tables());
    if (!rows[0]) return undefined;
    await sql`
      update loop_iteration set checks = ${storable(checks)}::jsonb, verdict = ${verdict && storable(verdict)}::jsonb,
        unmet = ${unmet}::text[], files_digest = ${filesDigest}, graded_at = now()
      where loop_id = ${id} and number = ${iteration}`.execute(unit.tables());
    await this.append(unit, id, [{ type: 'iteration.graded', data }]);
    return rows[0];
  }

  async repeat(unit: UnitOfWork, { id, interval_seconds }: LoopRow): Promise<LoopRow | undefined> {
    return this.move(unit, id, 'repeat', {
      set: sql`${this.rows.released}, ${inSeconds(interval_seconds)}`,
      where: this.rows.isOurs,
      events: [{ type: 'loop.waiting', data: { seconds: interval_seconds } }],
    });
  }

  /** Ends it, once; with `isOurs`, only where this process grades it, which took `seconds`. */
  end(
    unit: UnitOfWork,
    id: string,
    { outcome, reason }: LoopEnd,
    { isOurs = false, seconds = 0 }: EndOptions = {},
  ): Promise<LoopRow | undefined> {
    return this.move(unit, id, 'end', {
      set: sql`${this.rows.released}, outcome = ${outcome}, reason = ${reason}, next_at = null, finished_at = now(),
        spent_seconds = spent_seconds + ${seconds}::float8`,
      where: isOurs ? this.rows.isOurs : undefined,
      events: [{ type: 'loop.finished', data: { outcome, reason } }],
    });
  }

  resume(
    unit: UnitOfWork,
    id: string,
    changes: Pick<LoopRow, 'actor' | 'tools_above' | 'max_iterations' | 'budget' | 'resumed_with'>,
  ): Promise<LoopRow | undefined> {
    const { actor, tools_above, max_iterations, budget, resumed_with } = changes;
    return this.move(unit, id, 'resume', {
      set: sql`actor = ${JSON.stringify(actor)}::jsonb, tools_above = ${JSON.stringify(tools_above)}::jsonb,
        max_iterations = ${max_iterations}, budget = ${JSON.stringify(budget)}::jsonb, resumed_after = iteration,
        resumed_with = ${resumed_with}, outcome = null, reason = null, finished_at = null, blocked_reason = null,
        grading_failures = 0, next_at = now()`,
      events: [{ type: 'loop.resumed', data: { max_iterations, budget } }],
    });
  }

  /** Its agent says that it cannot go on; false where the run is not that of an iteration at work. */
  async block(unit: UnitOfWork, id: string, callId: string, reason: string): Promise<boolean> {
    const { rows } = await sql`
      update loop set blocked_reason = ${reason} where id = ${id} and call_id = ${callId} and state = 'running'
      returning id`.execute(unit.tables());
    return rows.length > 0;
  }

  /** Makes a transition with its events; undefined where the loop is in no state for it, or not as `where` wants it. */
  private async move(
    unit: UnitOfWork,
    id: string,
    name: TransitionName,
    { set = sql`id = id`, where = sql<boolean>`true`, events = [] }: Change,
  ): Promise<LoopRow | undefined> {
    const { from, to } = TRANSITIONS[name];
    const { rows } = await sql<LoopRow>`
      with moved as (
        update loop set state = ${to}, last_event = last_event + ${events.length}, ${set}
        where id = ${id} and state = any(${[...from]}::text[]) and ${where} returning *
      ), told as (${eventRows(events)})
      select moved.*, ${notifyTopic(loopTopic(id))}::text as told from moved`.execute(unit.tables());
    if (rows[0] && to === 'waiting') await this.topics.publishWithCommit(unit, LOOPS_DUE);
    return rows[0];
  }

  private async append(unit: UnitOfWork, id: string, events: readonly NewLoopEvent[]): Promise<void> {
    await sql`
      with moved as (
        update loop set last_event = last_event + ${events.length} where id = ${id} returning id, last_event
      ), told as (${eventRows(events)})
      select ${notifyTopic(loopTopic(id))}::text from moved`.execute(unit.tables());
  }
}

/** Appends events to the log of the loop in `moved`, whose last_event counts them already. */
const eventRows = (events: readonly NewLoopEvent[]): RawBuilder<unknown> => sql`
  insert into loop_event (loop_id, id, type, data, created_at)
  select m.id, m.last_event - ${events.length} + e.ordinality, e.value ->> 'type', e.value -> 'data', now()
  from moved m, jsonb_array_elements(${storable(events)}::jsonb) with ordinality as e`;

const inSeconds = (seconds: number): RawBuilder<unknown> =>
  sql`next_at = now() + make_interval(secs => ${seconds}::float8)`;
