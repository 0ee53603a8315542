import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { Actor } from '../../platform/access/index.js';
import { Database, storable, type UnitOfWork } from '../../platform/database/index.js';
import type { RunBudget, Spent } from './run-limits.js';
import { NO_USAGE, type OnApproval, type RunRow } from './run-state.js';

/** A tool call by its place in its run. */
export interface CallPlace {
  readonly step: number;
  readonly position: number;
}

/** One that may have begun, with the model's id of it. */
interface StartedCall extends CallPlace {
  readonly callId: string;
}

/** A run that was handed over as a task. */
export type TaskRow = Pick<
  RunRow,
  | 'id'
  | 'chat_id'
  | 'agent_name'
  | 'status'
  | 'state'
  | 'stop_reason'
  | 'model'
  | 'step_count'
  | 'cost_usd'
  | 'created_at'
  | 'finished_at'
> & { tool_call_id: string | null; title: string };

/** Questions about the tasks of runs. */
@Injectable()
export class TasksStore {
  constructor(private readonly database: Database) {}

  /** The task that a tool call has started, if it has; also one that was deleted since, which the run's events tell. */
  async find(runId: string, { step, position, callId }: StartedCall): Promise<string | undefined> {
    const { rows } = await sql<{ id: string }>`
      select id from run where parent_id = ${runId} and parent_step = ${step} and parent_position = ${position}
      union all
      select (data ->> 'task_call_id')::uuid from run_event
      where run_id = ${runId} and type = 'tool.output' and data ->> 'id' = ${callId} and data ->> 'task_call_id' is not null
        and id > (select max(s.id) from run_event s
          where s.run_id = ${runId} and s.type = 'step.finished' and (s.data ->> 'step')::int = ${step})
      limit 1`.execute(this.database.tables());
    return rows[0]?.id;
  }

  /** The tasks of a run, in the order of their calls. */
  async list(runId: string): Promise<TaskRow[]> {
    const { rows } = await sql<TaskRow>`
      select r.id, r.chat_id, r.agent_name, r.status, r.state, r.stop_reason, r.model, r.step_count, r.cost_usd,
        r.created_at, r.finished_at, t.call_id as tool_call_id, c.title
      from run r join chat c on c.id = r.chat_id
      left join tool_call t on t.run_id = r.parent_id and t.step = r.parent_step and t.position = r.parent_position
      where r.parent_id = ${runId} order by r.parent_step, r.parent_position, r.number`.execute(
      this.database.tables(),
    );
    return rows;
  }

  /** Ids of the tasks that a run started through actions and that have not ended, oldest first. */
  async requested(runId: string): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select id from run where parent_id = ${runId} and parent_step is null and status = 'pending' order by number`.execute(
      this.database.tables(),
    );
    return rows.map(({ id }) => id);
  }

  /** A run, its tasks, those below them, and so on; whether all have ended. */
  async family(runId: string): Promise<{ ids: string[]; ended: boolean }> {
    const { rows } = await sql<{ id: string; status: string }>`
      with recursive family as (
        select id, status from run where id = ${runId}
        union all
        select r.id, r.status from run r join family f on r.parent_id = f.id
      )
      select id, status from family`.execute(this.database.tables());
    return { ids: rows.map(({ id }) => id), ended: rows.every(({ status }) => status !== 'pending') };
  }

  /** What each task of a run has used so far, together with the tasks below it. */
  async spent(runId: string): Promise<Map<string, Spent>> {
    const { rows } = await sql<{ task: string; steps: string; usd: number | null }>`
      with recursive below as (
        select id, id as task, step_count, cost_usd from run where parent_id = ${runId}
        union all
        select r.id, b.task, r.step_count, r.cost_usd from run r join below b on r.parent_id = b.id
      )
      select task, sum(step_count) as steps,
        case when bool_or(step_count > 0 and cost_usd is null) then null else coalesce(sum(cost_usd), 0) end as usd
      from below group by task`.execute(this.database.tables());
    return new Map(rows.map(({ task, steps, usd }) => [task, { steps: Number(steps), usd }]));
  }
}

/**
 * Holds the runs above one until the transaction ends, the uppermost first: before it is ended or let go on from outside, and
 * before what it asks is decided. Whoever ends a run holds it before its tasks.
 */
export async function holdRunsAbove(unit: UnitOfWork, runId: string): Promise<void> {
  await sql`
    with recursive above as (
      select parent_id as id from run where id = ${runId} and parent_id is not null
      union all
      select r.parent_id from run r join above a on r.id = a.id where r.parent_id is not null
    )
    select from run where id in (select id from above) order by depth for update`.execute(unit.tables());
}

/** A task that is about to be handed over: a run with a chat of its own. */
export interface NewTask {
  readonly id: string;
  readonly chatId: string;
  readonly messageId: string;
  /** The tool call whose result it is; null for one that was started through an action. */
  readonly place: CallPlace | null;
  readonly title: string;
  readonly agentName: string | null;
  readonly model: string;
  readonly actor: Actor;
  readonly onApproval: OnApproval | null;
  readonly depth: number;
  readonly toolsAbove: readonly (readonly string[])[];
  /** Its first message, and its first event, as JSON. */
  readonly content: string;
  readonly queued: string;
  /** What only a message that an action sends can ask for. */
  readonly more?: TaskRequest;
}

export interface TaskRequest {
  readonly budget: RunBudget | undefined;
  readonly fallback: readonly string[];
  readonly responseSchema: unknown;
}

/** The rows of a new task, as parts of one statement; `parent` is the row of the run that hands it over. None where its chat is there. */
export function taskRows(parent: RawBuilder<unknown>, task: NewTask): RawBuilder<unknown>[] {
  const { id, chatId, messageId, place, title, agentName, model, actor, depth, toolsAbove } = task;
  const { budget, fallback = [], responseSchema } = task.more ?? {};
  return [
    sql`opened as (
      insert into chat (id, title, organization_id, workspace_id, agent_name, model, pinned, archived, created_by, created_at,
        updated_at, last_message_at, task_of)
      select ${chatId}::uuid, ${title}, organization_id, workspace_id, ${agentName}, null, false, false, created_by, now(), now(), now(), id
      from ${parent} on conflict (id) do nothing returning id)`,
    sql`handed as (
      insert into run (id, chat_id, organization_id, workspace_id, status, state, agent_name, model, created_by, actor, attempt,
        step_count, last_event, usage, created_at, parent_id, parent_step, parent_position, depth, tools_above, on_approval,
        budget, fallback_models, response_schema)
      select ${id}, opened.id, p.organization_id, p.workspace_id, 'pending', 'queued', ${agentName}, ${model}, p.created_by,
        ${JSON.stringify(actor)}::jsonb, 0, 0, 1, ${JSON.stringify(NO_USAGE)}::jsonb, now(), p.id, ${place?.step ?? null}::int,
        ${place?.position ?? null}::int, ${depth}::int, ${JSON.stringify(toolsAbove)}::jsonb, ${task.onApproval},
        ${budget ? JSON.stringify(budget) : null}::jsonb, ${[...fallback]}::text[],
        ${responseSchema === undefined ? null : storable(responseSchema)}::json
      from ${parent} p, opened returning id, number, chat_id)`,
    sql`asked as (
      insert into message (id, chat_id, run_id, run_number, role, content, created_at)
      select ${messageId}, chat_id, id, number, 'user', ${task.content}::jsonb, now() from handed)`,
    sql`announced as (
      insert into run_event (run_id, id, type, data, created_at)
      select id, 1, 'run.queued', ${task.queued}::jsonb, now() from handed)`,
  ];
}
