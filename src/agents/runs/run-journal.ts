import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { StepResult, StepUsage } from '#libs/model-client/index.js';
import {
  enterModelCall,
  enterToolCall,
  freeReservation,
  hardStopOver,
} from '../../identity/billing/index.js';
import { revokeTokensOf } from '../../platform/actions/index.js';
import {
  type Database,
  type Schema,
  storable,
  storableText,
  type UnitOfWork,
} from '../../platform/database/index.js';
import { notifyTopic, type Topics } from '../../platform/topics/index.js';
import { approvalAsked } from '../approvals/index.js';
import { chatTopic, type MessagePart } from '../chats/index.js';
import { type ChatSummary, type Conversation, keepSummary } from '../context/index.js';
import type { ToolResult } from '../tools/index.js';
import { type AskedCall, type RunEventType, withinBounds } from './run-event.js';
import { Steering } from './run-limits.js';
import { endTopic, RUNS_DUE, type RunFault, RunLost, runTopic, transition } from './run-state.js';
import { type NewTask, taskRows } from './tasks.store.js';

export interface NewEvent {
  type: RunEventType;
  data: Record<string, unknown>;
}

const bounded = ({ type, data }: NewEvent): NewEvent => ({ type, data: withinBounds(data) });

/** A tool call as the model asked for it. */
export interface PlannedCall {
  step: number;
  position: number;
  callId: string;
  tool: string;
  input: unknown;
  /** Whether it begins right after its step; others begin when one before them has ended. */
  startsAtOnce: boolean;
}

/** A finished model call. */
export interface FinishedStep {
  number: number;
  startedAt: Date;
  result: StepResult;
  costUsd: number | null;
  calls: PlannedCall[];
  /** Id of the model that answered. */
  model: string;
}

/** How a run ended. */
export type RunEnd =
  | { status: 'completed'; stopReason: string; response: string; json?: { value: unknown } }
  | { status: 'error'; fault: RunFault; response: string | null };

/** The run's row, where this attempt may still write: see {@link RunJournal}. */
const FENCED = sql`fenced`;

/** The next of the runs that wait in the chat may go. */
const NEXT_DUE = sql`next as (
  update run set due = true where id = (
    select r.id from run r, fenced
    where r.chat_id = fenced.chat_id and r.id <> fenced.id and r.status = 'pending' and r.merged_into is null
    order by r.number limit 1) returning id)`;

interface Written {
  steers: number;
  hard_stop: boolean;
  let_go: boolean;
  /** Of the message that was written with it. */
  content?: MessagePart[];
}

/** What one statement does beside its events. */
interface Writing {
  /** To the run's row. */
  change: RawBuilder<unknown>;
  also: RawBuilder<unknown>[];
  /** What `where` goes by. */
  first?: RawBuilder<unknown>;
  where?: RawBuilder<unknown>;
  /** Whether another run may go now. */
  letGo?: RawBuilder<unknown>;
  /** What else it returns. */
  returning?: RawBuilder<unknown>;
  unit?: UnitOfWork;
}

export type Queryable = Kysely<Schema>;

/**
 * Writes down what happens in one attempt at a run. Each method is one statement: the change and its events are committed
 * together, and only while this attempt is the newest and the run has not ended. Those who watch are told after the commit.
 */
export class RunJournal {
  private mayStop = true;

  /**
   * `steering` is told how many messages wait to enter the run, with each thing that is written down; `conversation`, what
   * is written down of it.
   */
  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
    readonly run: { id: string; chatId: string; number: string; attempt: number },
    readonly steering = new Steering(),
    private readonly conversation?: Conversation,
  ) {}

  /** Whether anybody may follow the run, or its chat. */
  isWatched(): boolean {
    return [runTopic(this.run.id), chatTopic(this.run.chatId)].some(topic =>
      this.topics.hasSubscribers(topic),
    );
  }

  /** What the database says of the run. */
  note({ steers, hard_stop }: Pick<Written, 'steers' | 'hard_stop'>): void {
    this.steering.note(steers);
    this.mayStop = hard_stop;
  }

  /**
   * Whether a hard stop may stand over the run: not where what was written down last found none. That counts once, for
   * the model call that follows.
   */
  mayBeStopped(): boolean {
    const { mayStop } = this;
    this.mayStop = true;
    return mayStop;
  }

  async tell(events: NewEvent[], unit?: UnitOfWork): Promise<void> {
    await this.record(events, { unit });
  }

  /** The model has answered: its message, its usage and the calls it asks for. */
  async finishStep(step: FinishedStep, events: NewEvent[], unit?: UnitOfWork): Promise<void> {
    const { number, model, calls } = step;
    const { content } = await this.record(events, {
      ...this.finishing(step),
      returning: sql`, said.content`,
      unit,
    });
    if (unit || !content) this.conversation?.forget();
    else this.conversation?.answered({ step: number, model, content, calls });
  }

  private finishing(step: FinishedStep): Writing {
    const { number, result, costUsd, startedAt, model } = step;
    const change = sql`step_count = ${number}, model_used = ${result.model_used}, ${this.added(result.usage, costUsd)}`;
    const also = [
      this.stepRow(step, startedAt),
      this.messageRow(step),
      ...enterModelCall(FENCED, { step: number, model, usage: result.usage, costUsd }),
    ];
    if (step.calls.length > 0) also.push(this.callRows(step.calls));
    return { change, also };
  }

  /** Older messages have a summary from now on; what it cost counts like any other model call, once. */
  async compacted(summary: ChatSummary, events: NewEvent[]): Promise<void> {
    const { usage, costUsd, model } = summary;
    const also = [keepSummary(FENCED, summary)];
    const isPaid = usage && model !== null;
    if (isPaid) also.push(...enterModelCall(FENCED, { step: null, model, usage, costUsd }));
    await this.record(events, { change: isPaid ? this.added(usage, costUsd) : undefined, also });
    this.conversation?.forget();
  }

  /** A call that was planned is made now. */
  async startCall(call: PlannedCall, events: NewEvent[]): Promise<void> {
    await this.record(events, { also: [this.startedRow(call)] });
  }

  /** People are asked about calls, none of which has been made: the run waits, and nobody carries it meanwhile. */
  async wait(asked: AskedCall[], events: NewEvent[], unit: UnitOfWork): Promise<void> {
    const rows = asked.map(({ approvalId, call, name, effect, expiresAt }) => {
      const { step, position, callId, input } = call;
      return {
        id: approvalId,
        step,
        position,
        call_id: callId,
        tool: name,
        effect,
        input,
        expires_at: expiresAt,
      };
    });
    const change = sql`${transition('wait').set}, waiting_since = now(), due = false, holder = null`;
    const questions = sql`questions as (
      insert into approval (id, subject_kind, organization_id, workspace_id, chat_id, run_id, step, position, call_id, tool, effect,
        input, requested_by, status, expires_at, created_at)
      select a.id, 'run_tool_call', organization_id, workspace_id, chat_id, fenced.id, a.step, a.position, a.call_id, a.tool,
        a.effect, a.input, created_by, 'pending', a.expires_at, now()
      from fenced, jsonb_to_recordset(${storable(rows)}::jsonb) as a(id uuid, step int, position int, call_id text, tool text,
        effect text, input jsonb, expires_at timestamptz)
      on conflict (run_id, step, position) where run_id is not null do nothing)`;
    await this.record(events, { change, also: [questions], unit });
    unit.afterCommit(() => this.topics.publish(approvalAsked));
  }

  /**
   * Nothing of the run goes on but tasks that wait for people: it waits with them, and nobody carries it meanwhile. False,
   * and nothing is done, where one of them may go on by now.
   */
  waitForTasks(): Promise<boolean> {
    const { id } = this.run;
    const change = sql`${transition('wait').set}, waiting_since = now(), due = false, holder = null`;
    const tasks = sql`select from run c where c.parent_id = ${id} and c.status = 'pending'`;
    const where = sql`exists (${tasks}) and not exists (${tasks} and c.state <> 'waiting')`;
    return this.database.transaction(async unit => {
      // Whoever lets a task go on holds the run above it first: so they see each other, whoever comes second.
      await sql`select from run where id = ${id} for update`.execute(unit.tables());
      return (await this.write([], { change, where, unit })) !== undefined;
    });
  }

  /** A call has given its result; `next`, where there is one, counts as started from now on. */
  async finishCall(
    call: PlannedCall,
    { output, isError, hasRun = false }: ToolResult & { hasRun?: boolean },
    events: NewEvent[],
    next?: PlannedCall,
  ): Promise<void> {
    const finished = sql`finished as (
      update tool_call c set state = 'finished', output = ${storableText(output)}, is_error = ${isError}, finished_at = now()
      from fenced where c.run_id = fenced.id and c.step = ${call.step} and c.position = ${call.position}
      returning c.step, c.position, c.started_at)`;
    const also = [finished];
    if (hasRun) also.push(enterToolCall(FENCED, sql`finished`));
    if (next) also.push(this.startedRow(next));
    await this.record(events, { also });
    this.conversation?.finished(call, output, isError);
  }

  /** A call hands over a task, whose run is pending from now on; it is told with the call's output. */
  async startTask({ callId }: PlannedCall, task: NewTask, unit: UnitOfWork): Promise<void> {
    const text = `${task.agentName}: ${task.title}\n`;
    const data = { id: callId, text, task_call_id: task.id };
    await this.record([{ type: 'tool.output', data }], { also: taskRows(FENCED, task), unit });
  }

  /** Messages that waited have entered the run. */
  async takeIn(events: NewEvent[], unit: UnitOfWork): Promise<void> {
    await this.record(events, { change: sql`steers = 0`, unit });
    this.conversation?.forget();
  }

  /** Writes the end of the run, and of those whose messages it took in, once; `unit` is the transaction that also lets the chat's next run go. */
  async end(unit: UnitOfWork, end: RunEnd): Promise<void> {
    const { event, change, also } = this.ending(end);
    await this.record([event], { change, also: [freeReservation(FENCED), ...also], unit });
    unit.afterCommit(() => this.topics.publish(endTopic(this.run.id)));
  }

  /**
   * The last step and the end in one: the tokens of the run are void, and the chat's next run may go. False, and nothing is
   * done, where a message waits to enter the run, or it has started tasks that end with it; `unit` holds the chat.
   */
  async finish(unit: UnitOfWork, step: FinishedStep, events: NewEvent[], end: RunEnd): Promise<boolean> {
    const { event, change, also } = this.ending(end);
    const finished = this.finishing(step);
    const done = await this.write([...events, event], {
      change: sql`${finished.change}, ${change}`,
      where: sql`steers = 0 and requested_tasks = 0`,
      also: [...finished.also, ...also, revokeTokensOf(FENCED), NEXT_DUE],
      letGo: sql`exists (select from next)`,
      unit,
    });
    if (!done) return false;
    unit.afterCommit(() => this.topics.publish(endTopic(this.run.id), ...(done.let_go ? [RUNS_DUE] : [])));
    return true;
  }

  /**
   * As {@link finish}, in a statement of its own, for a run that nothing waits behind. False, and nothing is done, where
   * that is not certain: then the chat has to be held first.
   */
  async finishAlone(step: FinishedStep, events: NewEvent[], end: RunEnd): Promise<boolean> {
    const { event, change } = this.ending(end);
    const finished = this.finishing(step);
    const done = await this.write([...events, event], {
      change: sql`${finished.change}, ${change}`,
      first: this.chatHeldAlone(),
      where: sql`steers = 0 and requested_tasks = 0 and exists (select from held)`,
      also: [...finished.also, revokeTokensOf(FENCED)],
    });
    if (done) this.topics.publish(endTopic(this.run.id));
    return done !== undefined;
  }

  /**
   * The chat, held, if nothing waits in it. What comes to wait changes the chat's row first, so where it is not the version
   * that the statement began with, what the statement sees of the queue may be old.
   */
  private chatHeldAlone(): RawBuilder<unknown> {
    const { id, chatId } = this.run;
    return sql`held as (
      select c.id from chat c
      where c.id = ${chatId} and c.xmin = (select seen.xmin from chat seen where seen.id = ${chatId})
        and not exists (select from run r where r.chat_id = ${chatId} and r.id <> ${id} and r.status = 'pending')
      for update of c skip locked),`;
  }

  private ending(end: RunEnd): { event: NewEvent } & Writing {
    const { id } = this.run;
    const response = end.response && storableText(end.response);
    const ended = sql`${transition('end').set}, due = false, holder = null, finished_at = now(), status = ${end.status}, response = ${response}`;
    const json = end.status === 'completed' ? end.json : undefined;
    const said = json ? { response, json: json.value } : { response };
    const [data, stopReason, error] =
      end.status === 'completed'
        ? [{ stop_reason: end.stopReason, ...said }, end.stopReason, null]
        : [{ error: end.fault }, 'error', storable(end.fault)];
    const type = end.status === 'completed' ? 'run.completed' : 'run.failed';
    const change = sql`${ended}, stop_reason = ${stopReason}, error = ${error}::jsonb, response_json = ${json ? storable(json) : null}::json`;
    const merged = sql`merged as (
      update run r set ${change}, last_event = r.last_event + 1 from fenced
      where r.merged_into = fenced.id and r.status = 'pending' returning r.id, r.last_event,
        ${notifyTopic(runTopic.sql(sql`r.id`))}, ${notifyTopic(endTopic.sql(sql`r.id`))}
    ), merged_told as (
      insert into run_event (run_id, id, type, data, created_at)
      select id, last_event, ${type}, jsonb_build_object('call_id', id) || ${storable(withinBounds(data))}::jsonb, now() from merged)`;
    return { event: { type, data: { call_id: id, ...data } }, change, also: [merged] };
  }

  private async record(events: NewEvent[], writing: Partial<Writing>): Promise<Written> {
    const written = await this.write(events, writing);
    if (!written) throw new RunLost();
    return written;
  }

  /** Undefined where the run is not this attempt's any more, or not as `where` wants it. */
  private async write(
    events: NewEvent[],
    { change, first, where, also = [], letGo = sql`false`, returning, unit }: Partial<Writing>,
  ): Promise<Written | undefined> {
    const { id, attempt } = this.run;
    const { rows } = await sql<Written>`
      with ${first ?? sql``} fenced as (
        update run set last_event = last_event + ${events.length} ${change ? sql`, ${change}` : sql``}
        where id = ${id} and attempt = ${attempt} and status = 'pending' ${where ? sql`and ${where}` : sql``}
        returning id, last_event, organization_id, workspace_id, chat_id, created_by, model, steers
      ), told as (
        insert into run_event (run_id, id, type, data, created_at)
        select fenced.id, fenced.last_event - ${events.length} + e.ordinality, e.value ->> 'type', e.value -> 'data', now()
        from fenced, jsonb_array_elements(${storable(events.map(bounded))}::jsonb) with ordinality as e
      ) ${sql.join(
        also.map(part => sql`, ${part}`),
        sql``,
      )}
      select steers, ${hardStopOver(FENCED)} as hard_stop, ${letGo} as let_go ${returning ? sql`${returning} from fenced, said` : sql`from fenced`}`.execute(
      (unit ?? this.database).tables(),
    );
    const [now] = rows;
    if (!now) return undefined;
    this.note(now);
    const tell = () => this.topics.publish(runTopic(id));
    if (unit) unit.afterCommit(tell);
    else tell();
    return now;
  }

  /** What a model call used, added to what the run has used so far; a cost that is not known makes the sum unknown. */
  private added(usage: StepUsage, costUsd: number | null): RawBuilder<unknown> {
    return sql`usage = (select jsonb_object_agg(key, case when usage -> key = 'null'::jsonb then value
      when value = 'null'::jsonb then usage -> key else to_jsonb((usage ->> key)::bigint + value::text::bigint) end)
      from jsonb_each(${JSON.stringify(usage)}::jsonb)),
      cost_usd = case when step_count = 0 then coalesce(cost_usd, 0) else cost_usd end + ${costUsd}::float8`;
  }

  private stepRow({ number, result, costUsd }: FinishedStep, startedAt: Date): RawBuilder<unknown> {
    return sql`stepped as (
      insert into run_step (run_id, number, finish_reason, model_used, usage, cost_usd, started_at, finished_at)
      select id, ${number}, ${result.finish_reason}, ${result.model_used}, ${JSON.stringify(result.usage)}::jsonb, ${costUsd}::float8,
        ${startedAt.toISOString()}::timestamptz, now() from fenced)`;
  }

  private messageRow({ number, result: { content }, model }: FinishedStep): RawBuilder<unknown> {
    return sql`said as (
      insert into message (id, chat_id, run_id, run_number, role, step, model, content, created_at)
      select gen_random_uuid(), ${this.run.chatId}, id, ${this.run.number}::bigint, 'assistant', ${number}, ${model},
        ${storable(content)}::jsonb, now()
      from fenced returning content)`;
  }

  private callRows(calls: PlannedCall[]): RawBuilder<unknown> {
    return sql`planned as (
      insert into tool_call (run_id, step, position, call_id, tool, input, is_error, state, started_at)
      select fenced.id, c.step, c.position, c."callId", c.tool, c.input, false,
        case when c."startsAtOnce" then 'started' else 'planned' end, case when c."startsAtOnce" then now() end
      from fenced, jsonb_to_recordset(${storable(calls)}::jsonb)
        as c(step int, position int, "callId" text, tool text, input jsonb, "startsAtOnce" boolean))`;
  }

  private startedRow({ step, position }: PlannedCall): RawBuilder<unknown> {
    return sql`started as (
      update tool_call c set state = 'started', started_at = now()
      from fenced where c.run_id = fenced.id and c.step = ${step} and c.position = ${position})`;
  }
}
