import { type RawBuilder, sql } from 'kysely';
import { storableText } from '#libs/fields/index.js';
import type { StepResult, StepUsage } from '#libs/model-client/index.js';
import { enterModelCall } from '../../identity/billing/index.js';
import { type Row, storable } from '../../platform/database/index.js';
import { notifyTopic } from '../../platform/topics/index.js';
import { keepAttachments, type NewAttachment } from '../attachments/index.js';
import type { RunBudget } from './run-limits.js';
import {
  bounded,
  type Delivery,
  endTopic,
  type NewEvent,
  NO_USAGE,
  type OnApproval,
  type PlannedCall,
  type RunFault,
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

/** Appends events to the log of the run in `run`, whose last_event counts them already. */
export const eventRows = (run: Sql, events: readonly NewEvent[]): Sql => sql`
  insert into run_event (run_id, id, type, data, created_at)
  select r.id, r.last_event - ${events.length} + e.ordinality, e.value ->> 'type', e.value -> 'data', now()
  from ${run} r, jsonb_array_elements(${storable(events.map(bounded))}::jsonb) with ordinality as e`;

/** What a new run needs of its chat. */
export type RunChat = Pick<Row<'chat'>, 'id' | 'organization_id' | 'workspace_id' | 'agent_name' | 'model'>;

/** The model of a run, and those that are asked where it cannot answer. */
export interface RunModels {
  model: string;
  fallback: string[];
}

export interface NewRun {
  actor: Row<'run'>['actor'];
  callId: string;
  messageId: string;
  models: RunModels;
  text: string;
  attachments: readonly NewAttachment[];
  budget: RunBudget | undefined;
  delivery: Delivery;
  onApproval: OnApproval | null;
  responseSchema: unknown;
}

/**
 * The rows of a new run, its message and its events, as parts of a statement, `new_run` and `new_message` among them. `chat`
 * gives the id of its chat, and no row where nothing is to be written; `columns` are those that differ from a queued run's.
 */
export function newRunRows(
  chat: Sql,
  { organization_id, workspace_id, agent_name }: Omit<RunChat, 'id'>,
  run: NewRun,
  events: readonly NewEvent[],
  columns: Record<string, unknown>,
): Sql[] {
  const { actor, callId, messageId, models, budget, delivery, onApproval, responseSchema } = run;
  const content: object[] = [{ type: 'text', text: run.text }, ...run.attachments.map(({ part }) => part)];
  const values = Object.entries({
    id: callId,
    chat_id: sql`chat.id`,
    ...{ organization_id, workspace_id, agent_name, delivery },
    ...{ status: 'pending', state: 'queued', attempt: 0, step_count: 0, last_event: events.length },
    model: models.model,
    fallback_models: models.fallback,
    created_by: actor.id,
    actor: JSON.stringify({ ...actor, surface: undefined }),
    usage: JSON.stringify(NO_USAGE),
    budget: budget ? JSON.stringify(budget) : null,
    on_approval: onApproval,
    response_schema: responseSchema === undefined ? null : storable(responseSchema),
    created_at: sql`now()`,
    ...columns,
  });
  const names = sql.join(values.map(([name]) => sql.ref(name)));
  const rows = [
    sql`new_run as (
      insert into run (${names}) select ${sql.join(values.map(([, value]) => value))} from ${chat} chat returning *)`,
    sql`new_message as (
      insert into message (id, chat_id, run_id, run_number, role, content, created_at)
      select ${messageId}::uuid, chat_id, id, number, 'user', ${storable(content)}::jsonb, now() from new_run returning content)`,
    sql`new_events as (${eventRows(sql`new_run`, events)})`,
  ];
  return run.attachments.length > 0 ? [...rows, keepAttachments(chat, workspace_id, run.attachments)] : rows;
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

/** Adds what a model call used to what the run has used so far; a cost that is not known makes the sum unknown. */
export const addedUsage = (usage: StepUsage, costUsd: number | null): Sql => sql`
  usage = (select jsonb_object_agg(key, case when usage -> key = 'null'::jsonb then value
    when value = 'null'::jsonb then usage -> key else to_jsonb((usage ->> key)::bigint + value::text::bigint) end)
    from jsonb_each(${JSON.stringify(usage)}::jsonb)),
  cost_usd = case when step_count = 0 then coalesce(cost_usd, 0) else cost_usd end + ${costUsd}::float8`;

/** Marks a planned call as started. */
export const startedRow = ({ step, position }: PlannedCall): Sql => sql`started as (
  update tool_call c set state = 'started', started_at = now()
  from fenced where c.run_id = fenced.id and c.step = ${step} and c.position = ${position})`;

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

/** A finished step of the fenced run. */
export function finishing(step: FinishedStep): { change: Sql; also: Sql[] } {
  const { number, result, costUsd, model } = step;
  const { usage, model_used } = result;
  return {
    change: sql`step_count = ${number}, model_used = ${model_used}, ${addedUsage(usage, costUsd)}`,
    also: [...stepRows(step), ...enterModelCall(FENCED, { step: number, model, usage, costUsd })],
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
      insert into run_event (run_id, id, type, data, created_at)
      select id, last_event, ${type}, jsonb_build_object('call_id', id) || ${storable(bounded({ type, data }).data)}::jsonb,
        now() from merged)`;
  return { event: { type, data: { call_id: id, ...data } }, change, also: [merged] };
}
