import { type RawBuilder, sql } from 'kysely';
import { storableText } from '#libs/fields/index.js';
import type { StepResult, StepUsage } from '#libs/model-client/index.js';
import { enterModelCall, hardStopOver } from '../../identity/billing/index.js';
import { type Database, storable, type UnitOfWork } from '../../platform/database/index.js';
import { notifyTopic, type Topics } from '../../platform/topics/index.js';
import type { ContextView } from '../chats/index.js';
import { chatTopic, type MessagePart } from '../chats/index.js';
import type { RunEventTail } from './run-event-tail.js';
import { Steering } from './run-limits.js';
import {
  bounded,
  endTopic,
  type NewEvent,
  type PlannedCall,
  type RunFault,
  RunLost,
  type RunRow,
  runTopic,
  TRANSITIONS,
} from './run-state.js';

type Sql = RawBuilder<unknown>;

/** A transition as SQL: what it sets, and the states in which it can be made. */
export function transition(name: keyof typeof TRANSITIONS): { set: Sql; from: Sql } {
  const { from, to } = TRANSITIONS[name];
  return {
    set: sql`state = ${sql.lit(to)}`,
    from: sql`state in (${sql.join(from.map(state => sql.lit(state)))})`,
  };
}

/** Of events that take more together, each is a row of its own: a page that ends among them does not read all. */
const MAX_ROW_CHARACTERS = 16 * 1024;

/** Appends events to the log of the run in `run`, whose last_event counts them already. */
export function eventRows(run: Sql, events: readonly NewEvent[]): Sql {
  if (events.length === 0) return sql`select from ${run}`;
  const stored = storable(events.map(bounded));
  if (stored.length <= MAX_ROW_CHARACTERS)
    return sql`
      insert into run_event (run_id, id, events, created_at)
      select r.id, r.last_event, ${stored}::jsonb, now() from ${run} r`;
  return sql`
    insert into run_event (run_id, id, events, created_at)
    select r.id, r.last_event - ${events.length} + e.ordinality, jsonb_build_array(e.value), now()
    from ${run} r, jsonb_array_elements(${stored}::jsonb) with ordinality as e`;
}

/** SQL for the events of a row of run_event, each by itself: its number, type and data. */
export const eventsOf = (row: string): Sql =>
  sql.raw(`events_of_row(${row}.id, ${row}.type, ${row}.data, ${row}.events)`);

/** SQL for the number of the newest event `e` of a run for which `such` holds; null where there is none. */
export const newestEvent = (runId: string, such: Sql): Sql => sql`(
  select e.id from run_event row cross join lateral ${eventsOf('row')} e
  where row.run_id = ${runId} and ${such} order by row.id desc, e.id desc limit 1)`;

/** SQL for the events of a run after number `after`, which may be null: none, then. */
export const eventsAfter = (runId: string, after: Sql): Sql => sql`(
  select e.* from run_event row cross join lateral ${eventsOf('row')} e
  where row.run_id = ${runId} and row.id > ${after} and e.id > ${after})`;

/** A finished model call. */
export interface FinishedStep {
  number: number;
  startedAt: Date;
  result: StepResult;
  costUsd: number | null;
  calls: PlannedCall[];
  /** Id of the model that answered. */
  model: string;
  /** How full its window is with the answer. */
  context: ContextView;
}

/** The rows of a finished step: itself, its message (`said`) and the calls that it asks for. */
function stepRows(step: FinishedStep): Sql[] {
  const { number, result, costUsd, startedAt, model, calls } = step;
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

/** What a run has used so far. Only the newest attempt adds to it, so it reads this once, with its claim. */
export interface RunSums {
  readonly usage: StepUsage;
  readonly costUsd: number | null;
  readonly steps: number;
}

/** What a run has used with one more model call; a cost that is not known makes the sum unknown. */
export function withUsage(
  { usage, costUsd, steps }: RunSums,
  added: StepUsage,
  addedUsd: number | null,
): RunSums {
  const keys = Object.keys(added) as (keyof StepUsage)[];
  const sum = (key: keyof StepUsage) => {
    const [before, now] = [usage[key], added[key]];
    return before === null || now === null ? (before ?? now) : before + now;
  };
  const usd = steps === 0 ? (costUsd ?? 0) : costUsd;
  return {
    steps,
    usage: Object.fromEntries(keys.map(key => [key, sum(key)])) as unknown as StepUsage,
    costUsd: usd === null || addedUsd === null ? null : usd + addedUsd,
  };
}

export const sumsRow = ({ usage, costUsd }: RunSums): Sql => sql`
  usage = ${JSON.stringify(usage)}::jsonb, cost_usd = ${costUsd}::float8`;

/** Marks planned calls as started. */
export const startedRows = (calls: readonly PlannedCall[]): Sql => sql`started as (
  update tool_call c set state = 'started', started_at = now()
  from fenced where c.run_id = fenced.id
    and (c.step, c.position) in (${sql.join(calls.map(({ step, position }) => sql`(${step}, ${position})`))}))`;

/** How a run ended. */
export type RunEnd =
  | { status: 'completed'; stopReason: string; response: string; json?: { value: unknown } }
  | { status: 'error'; fault: RunFault; response: string | null };

/** The run's row, where this attempt may still write: see `RunJournal`. */
export const FENCED = sql`fenced`;

/** The next of the runs that wait in the chat becomes runnable. */
export const NEXT_RUNNABLE = sql`next as (
  update run set due = true where id = (
    select r.id from run r, fenced
    where r.chat_id = fenced.chat_id and r.id <> fenced.id and r.status = 'pending' and r.merged_into is null
    order by r.number limit 1) returning id)`;

/** A finished step of the fenced run, which has used `sums` with it; `isHeld` where room in a budget may be held for the call. */
export function finishing(step: FinishedStep, sums: RunSums, isHeld: boolean): { change: Sql; also: Sql[] } {
  const { number, result, costUsd, model, context } = step;
  const { usage, model_used } = result;
  return {
    change: sql`step_count = ${number}, model_used = ${model_used}, context = ${storable(context)}::jsonb, ${sumsRow(sums)}`,
    also: [...stepRows(step), ...enterModelCall(FENCED, { step: number, model, usage, costUsd, isHeld })],
  };
}

/** The end of the fenced run `id`, and of those whose messages it took in. */
export function ending(id: string, end: RunEnd): { event: NewEvent; change: Sql; also: Sql[] } {
  const response = end.response && storableText(end.response);
  const json = end.status === 'completed' ? end.json : undefined;
  const said = json ? { response, json: json.value } : { response };
  const [data, stopReason, error] =
    end.status === 'completed'
      ? [{ stop_reason: end.stopReason, ...said }, end.stopReason, null]
      : [{ error: end.fault }, 'error', storable(end.fault)];
  const type = end.status === 'completed' ? 'run.completed' : 'run.failed';
  const change = sql`${transition('end').set}, due = false, holder = null, finished_at = now(), status = ${end.status},
      response = ${response}, stop_reason = ${stopReason}, error = ${error}::jsonb,
      response_json = ${json ? storable(json) : null}::json`;
  const merged = sql`merged as (
      update run r set ${change}, last_event = r.last_event + 1 from fenced
      where r.merged_into = fenced.id and r.status = 'pending' returning r.id, r.last_event,
        ${notifyTopic(runTopic.sql(sql`r.id`))}, ${notifyTopic(endTopic.sql(sql`r.id`))}
    ), merged_events as (
      insert into run_event (run_id, id, events, created_at)
      select id, last_event, jsonb_build_array(jsonb_build_object('type', ${type}::text,
        'data', jsonb_build_object('call_id', id) || ${storable(bounded({ type, data }).data)}::jsonb)), now() from merged)`;
  return { event: { type, data: { call_id: id, ...data } }, change, also: [merged] };
}

interface Written {
  /** The number of the run's last event. */
  last_event: number;
  steers: number;
  /** Undefined where it was not looked at: a model call follows only after another write. */
  hard_stop?: boolean;
  next_id: string | null;
  /** Of the message that was written with it. */
  content?: MessagePart[];
  /** Whether it has recorded the write that it had to. */
  recorded?: boolean;
}

/** What one statement does beside its events. */
interface Writing {
  /** To the run's row. */
  change?: Sql;
  also?: Sql[];
  /** What `where` goes by. */
  first?: Sql;
  where?: Sql;
  /** Whether another run may go now. */
  next?: Sql;
  /** Whether it writes a message. */
  says?: boolean;
  /** Whether a model call may be next, which wants to know of hard stops. */
  precedesModelCall?: boolean;
  /** What publishes with it, see `Topics.publishBy`. */
  told?: Sql;
  /** What records a write to files, see `JoinedWrite`. */
  joined?: Sql;
  unit?: UnitOfWork;
}

/**
 * Statements of one attempt at a run: the change and its events are committed together, and only while this attempt is the
 * newest and the run has not ended. Topics are published after the commit.
 */
export class FencedWriter {
  private mayStop = true;
  private mayHold: boolean;

  /** `steering` learns with each write how many messages wait to enter the run. */
  constructor(
    protected readonly database: Database,
    protected readonly topics: Topics,
    private readonly tail: RunEventTail,
    readonly run: Pick<RunRow, 'id' | 'chat_id' | 'number' | 'attempt'>,
    readonly steering = new Steering(),
  ) {
    // An earlier attempt may have left something.
    this.mayHold = run.attempt !== 1;
  }

  /** Whether room in a budget may be held for a model call. */
  protected get isHeld(): boolean {
    return this.mayHold;
  }

  /** Whether anybody may follow the run, or its chat. */
  isWatched(): boolean {
    const { id, chat_id } = this.run;
    return [runTopic(id), chatTopic(chat_id)].some(topic => this.topics.hasSubscribers(topic));
  }

  /** What the database says of the run. */
  note({ steers, hard_stop }: Pick<Written, 'steers' | 'hard_stop'>): void {
    this.steering.note(steers);
    this.mayStop = hard_stop ?? true;
  }

  /**
   * Whether a hard stop may apply to the run: not where the last write found none. That counts once, for the model call
   * that follows.
   */
  mayBeStopped(): boolean {
    const { mayStop } = this;
    this.mayStop = true;
    this.mayHold ||= mayStop;
    return mayStop;
  }

  protected async record(events: NewEvent[], writing: Writing): Promise<Written> {
    const written = await this.write(events, writing);
    if (!written) throw new RunLost();
    return written;
  }

  /** Undefined where the run is not this attempt's any more, or not as `where` wants it. */
  protected async write(
    events: NewEvent[],
    {
      change,
      first,
      where,
      also = [],
      next = sql`null::uuid`,
      says = false,
      precedesModelCall = true,
      told,
      joined,
      unit,
    }: Writing,
  ): Promise<Written | undefined> {
    const { id, attempt } = this.run;
    const { rows } = await sql<Written>`
      with ${joined ? sql`${joined},` : sql``} ${first ?? sql``} fenced as (
        update run set last_event = last_event + ${events.length} ${change ? sql`, ${change}` : sql``}
        where id = ${id} and attempt = ${attempt} and status = 'pending' ${where ? sql`and ${where}` : sql``}
          ${joined ? sql`and (select count(*) from present) >= 0` : sql``}
        returning id, last_event, organization_id, workspace_id, chat_id, number, created_by, model, steers, deployment_id,
          approval_seconds
      ), ${sql.join([sql`told as (${eventRows(FENCED, events)})`, ...also])}
      select last_event, steers, ${next} as next_id ${precedesModelCall ? sql`, ${hardStopOver(FENCED)} as hard_stop` : sql``}
        ${joined ? sql`, exists (select from step) as recorded` : sql``} ${told ? sql`, ${told} as told` : sql``}
        ${says ? sql`, said.content from fenced, said` : sql`from fenced`}`.execute(
      (unit ?? this.database).tables(),
    );
    const [now] = rows;
    if (!now) return undefined;
    this.note(now);
    const publish = () => {
      if (events.length > 0 && this.isWatched()) this.tail.add(id, now.last_event, events);
      this.topics.publish(runTopic(id));
    };
    if (unit) unit.afterCommit(publish);
    else publish();
    return now;
  }
}
