import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { storableText } from '#libs/fields/index.js';
import { storable, type UnitOfWork } from '../../platform/database/index.js';
import { notifyTopic, Topics } from '../../platform/topics/index.js';
import type { AttachmentPart } from '../attachments/index.js';
import { chatTopic, type MessagePart } from '../chats/index.js';
import type { ToolResult } from '../tools/index.js';
import { RunEventTail } from './run-event-tail.js';
import { eventRows, type RunEnd, type RunSums, transition } from './run-rows.store.js';
import {
  bounded,
  endTopic,
  type FinishedStep,
  type NewEvent,
  type PlannedCall,
  type RunRow,
  runTopic,
} from './run-state.js';

type Sql = RawBuilder<unknown>;

/** One attempt at a run, which writes as long as it is the newest. */
export type Attempt = Pick<RunRow, 'id' | 'chat_id' | 'number' | 'attempt'>;

const WRITTEN = [
  'id',
  'chat_id',
  'number',
  'organization_id',
  'workspace_id',
  'created_by',
  'deployment_id',
  'approval_seconds',
  'last_event',
  'steers',
] as const satisfies (keyof RunRow)[];

/** The run as an attempt has written it; its row is locked until the transaction ends. */
export type WrittenRun = Pick<RunRow, (typeof WRITTEN)[number]>;

/** Of a finished call, what its row keeps. */
export interface CallRow {
  readonly output: string;
  readonly isError: boolean;
  readonly seen: ToolResult['seen'];
  readonly images: readonly AttachmentPart[];
}

/** What an attempt changes in its run's row, and in what other rows of runs go with it. */
interface Change {
  readonly set?: Sql;
  /** Nothing is done where this does not hold. */
  readonly where?: Sql;
  /** Common table expressions that read the row as `fenced`. */
  readonly also?: readonly Sql[];
  /** More columns of the answer, and where they are from. */
  readonly select?: Sql;
  readonly from?: Sql;
}

type Unit = Pick<UnitOfWork, 'tables' | 'afterCommit'>;

/** A process that stands still between two statements lets go of what it has locked, so that others go on with the run. */
const RELEASED_SOON = sql`set_config('idle_in_transaction_session_timeout', '20s', true)`;

const WAITING = sql`${transition('wait').set}, waiting_since = now(), due = false, holder = null`;

/**
 * The rows of run, run_event, run_step, tool_call and message that one attempt writes: one statement each, which begins with the
 * fence. That locks the run, and finds it only while the attempt is the newest and the run has not ended: else nothing is done,
 * and the answer is undefined.
 */
@Injectable()
export class RunAttemptStore {
  constructor(
    private readonly topics: Topics,
    private readonly tail: RunEventTail,
  ) {}

  /** Whether anybody may follow the run, or its chat. */
  isWatched({ id, chat_id }: Attempt): boolean {
    return [runTopic(id), chatTopic(chat_id)].some(topic => this.topics.hasSubscribers(topic));
  }

  append(unit: Unit, attempt: Attempt, events: readonly NewEvent[]): Promise<WrittenRun | undefined> {
    return this.change(unit, attempt, events, {});
  }

  /** Locks the run until the transaction ends. */
  async lock(unit: UnitOfWork, { id }: Attempt): Promise<void> {
    await sql`select from run where id = ${id} for update`.execute(unit.tables());
  }

  /** The run waits for people. With `forTasks`, only where it has tasks under way and all of them wait. */
  wait(
    unit: UnitOfWork,
    attempt: Attempt,
    events: readonly NewEvent[],
    { forTasks = false } = {},
  ): Promise<WrittenRun | undefined> {
    const tasks = sql`select from run c where c.parent_id = ${attempt.id} and c.status = 'pending'`;
    const where = sql`exists (${tasks}) and not exists (${tasks} and c.state <> 'waiting')`;
    return this.change(unit, attempt, events, { set: WAITING, ...(forTasks && { where }) });
  }

  /** No message waits any more to enter the run. */
  takeSteers(
    unit: UnitOfWork,
    attempt: Attempt,
    events: readonly NewEvent[],
  ): Promise<WrittenRun | undefined> {
    return this.change(unit, attempt, events, { set: sql`steers = 0` });
  }

  /** The run has used so much. */
  spend(
    unit: UnitOfWork,
    attempt: Attempt,
    events: readonly NewEvent[],
    sums: RunSums,
  ): Promise<WrittenRun | undefined> {
    return this.change(unit, attempt, events, { set: spent(sums) });
  }

  /**
   * The model has answered, and the run has used `sums` with that. The content of its message comes back as it is stored.
   */
  finishStep(
    unit: UnitOfWork,
    attempt: Attempt,
    events: readonly NewEvent[],
    step: FinishedStep,
    sums: RunSums,
  ): Promise<(WrittenRun & { content: MessagePart[] }) | undefined> {
    return this.change(unit, attempt, events, {
      set: stepped(step, sums),
      also: stepRows(step),
      select: sql`said.content`,
      from: sql`said`,
    });
  }

  /**
   * Ends the run, and those whose messages it took in. With `last`, its last step ends with it, and nothing is done where a
   * message waits to enter the run, or it has started tasks that end with it.
   */
  async end(
    unit: UnitOfWork,
    attempt: Attempt,
    events: readonly NewEvent[],
    end: RunEnd,
    last?: { readonly step: FinishedStep; readonly sums: RunSums },
  ): Promise<WrittenRun | undefined> {
    const { id } = attempt;
    const response = end.response && storableText(end.response);
    const json = end.status === 'completed' ? end.json : undefined;
    const said = json ? { response, json: json.value } : { response };
    const [data, stopReason, error] =
      end.status === 'completed'
        ? [{ stop_reason: end.stopReason, ...said }, end.stopReason, null]
        : [{ error: end.fault }, 'error', storable(end.fault)];
    const type = end.status === 'completed' ? 'run.completed' : 'run.failed';
    const set = sql`${transition('end').set}, due = false, holder = null, finished_at = now(), status = ${end.status},
        response = ${response}, stop_reason = ${stopReason}, error = ${error}::jsonb,
        response_json = ${json ? storable(json) : null}::json`;
    const merged = sql`merged as (
        update run r set ${set}, last_event = r.last_event + 1 from fenced
        where r.merged_into = fenced.id and r.status = 'pending' returning r.id, r.last_event,
          ${notifyTopic(runTopic.sql(sql`r.id`))}, ${notifyTopic(endTopic.sql(sql`r.id`))}
      ), merged_events as (
        insert into run_event (run_id, id, events, created_at)
        select id, last_event, jsonb_build_array(jsonb_build_object('type', ${type}::text,
          'data', jsonb_build_object('call_id', id) || ${storable(bounded({ type, data }).data)}::jsonb)), now() from merged)`;
    const change = last
      ? {
          set: sql`${stepped(last.step, last.sums)}, ${set}`,
          where: sql`steers = 0 and requested_tasks = 0`,
          also: [merged, ...stepRows(last.step)],
        }
      : { set, also: [merged] };
    const written = await this.change(
      unit,
      attempt,
      [...events, { type, data: { call_id: id, ...data } }],
      change,
    );
    if (written) this.topics.publishAfterCommit(unit, endTopic(id));
    return written;
  }

  /** Planned calls are made now. */
  startCalls(
    unit: Unit,
    attempt: Attempt,
    events: readonly NewEvent[],
    calls: readonly PlannedCall[],
  ): Promise<WrittenRun | undefined> {
    return this.change(unit, attempt, events, { also: startedRows(calls) });
  }

  /** A call has given its result, after so many seconds; the calls of `next` are made now. */
  finishCall(
    unit: UnitOfWork,
    attempt: Attempt,
    events: readonly NewEvent[],
    { step, position }: PlannedCall,
    { output, isError, seen = [], images }: CallRow,
    next: readonly PlannedCall[],
  ): Promise<(WrittenRun & { seconds: number | null }) | undefined> {
    const finished = sql`finished as (
      update tool_call c set state = 'finished', output = ${storableText(output)}, is_error = ${isError},
        files = ${seen.length > 0 ? JSON.stringify(seen) : null}::jsonb,
        images = ${images.length > 0 ? JSON.stringify(images) : null}::jsonb, finished_at = now()
      from fenced where c.run_id = fenced.id and c.step = ${step} and c.position = ${position}
      returning extract(epoch from now() - c.started_at)::float8 as seconds)`;
    return this.change(unit, attempt, events, {
      also: [finished, ...startedRows(next)],
      select: sql`(select seconds from finished) as seconds`,
    });
  }

  private async change<More extends object>(
    unit: Unit,
    attempt: Attempt,
    events: readonly NewEvent[],
    { set, where, also = [], select, from }: Change,
  ): Promise<(WrittenRun & More) | undefined> {
    const { id } = attempt;
    const { rows } = await sql<WrittenRun & More>`
      with fenced as (
        update run set last_event = last_event + ${events.length} ${set ? sql`, ${set}` : sql``}
        where id = ${id} and attempt = ${attempt.attempt} and status = 'pending' ${where ? sql`and ${where}` : sql``}
        returning ${sql.join(WRITTEN.map(column => sql.ref(column)))}
      ), ${sql.join([sql`told as (${eventRows(sql`fenced`, events)})`, ...also])}
      select fenced.*, ${RELEASED_SOON} ${select ? sql`, ${select}` : sql``} from fenced ${from ? sql`, ${from}` : sql``}`.execute(
      unit.tables(),
    );
    const [run] = rows;
    if (run)
      unit.afterCommit(() => {
        if (events.length > 0 && this.isWatched(attempt)) this.tail.add(id, run.last_event, events);
        this.topics.publish(runTopic(id));
      });
    return run;
  }
}

const spent = ({ usage, costUsd }: RunSums): Sql => sql`
  usage = ${JSON.stringify(usage)}::jsonb, cost_usd = ${costUsd}::float8`;

const stepped = ({ number, result, context }: FinishedStep, sums: RunSums): Sql => sql`
  step_count = ${number}, model_used = ${result.model_used}, context = ${storable(context)}::jsonb, ${spent(sums)}`;

/** The rows of a finished step: itself, its message (`said`) and the calls that it asks for. */
function stepRows({ number, result, costUsd, startedAt, model, calls }: FinishedStep): Sql[] {
  const { finish_reason, model_used, usage, content } = result;
  const rows = [
    sql`stepped as (
      insert into run_step (run_id, number, finish_reason, model_used, usage, cost_usd, started_at, finished_at)
      select id, ${number}, ${finish_reason}, ${model_used}, ${JSON.stringify(usage)}::jsonb, ${costUsd}::float8,
        ${startedAt.toISOString()}::timestamptz, now() from fenced)`,
    sql`said as (
      insert into message (id, chat_id, run_id, run_number, role, step, model, content, created_at)
      select gen_random_uuid(), chat_id, id, number, 'assistant', ${number}, ${model}, ${storable(content)}::jsonb, now()
      from fenced returning content)`,
  ];
  if (calls.length === 0) return rows;
  return [
    ...rows,
    sql`planned as (
      insert into tool_call (run_id, step, position, call_id, tool, input, is_error, state, started_at)
      select fenced.id, c.step, c.position, c."callId", c.tool, c.input, false,
        case when c."startsAtOnce" then 'started' else 'planned' end, case when c."startsAtOnce" then now() end
      from fenced, jsonb_to_recordset(${storable(calls)}::jsonb)
        as c(step int, position int, "callId" text, tool text, input jsonb, "startsAtOnce" boolean))`,
  ];
}

/** Marks planned calls as started. */
const startedRows = (calls: readonly PlannedCall[]): Sql[] =>
  calls.length === 0
    ? []
    : [
        sql`started as (
          update tool_call c set state = 'started', started_at = now() from fenced where c.run_id = fenced.id
            and (c.step, c.position) in (${sql.join(calls.map(({ step, position }) => sql`(${step}, ${position})`))}))`,
      ];
