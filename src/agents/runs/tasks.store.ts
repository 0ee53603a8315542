import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import type { Spent } from './run-limits.js';
import { eventsAfter, newestEvent } from './run-rows.store.js';
import type { PlannedCall, RunRow } from './run-state.js';

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

/** How many tasks a run has at work, how many its whole tree has had, and whether a budget over it limits its cost. */
interface TaskCounts {
  at_work: number;
  in_all: number;
  limits_cost: boolean;
}

/** Reads the tasks of runs. */
@Injectable()
export class TasksStore {
  constructor(private readonly database: Database) {}

  /** The task that a tool call has started, if it has; also one that was deleted since, by the run's events. */
  async find(runId: string, { step, position, callId }: PlannedCall): Promise<string | undefined> {
    const stepEnd = newestEvent(runId, sql`e.type = 'step.finished' and (e.data ->> 'step')::int = ${step}`);
    const { rows } = await sql<{ id: string }>`
      select id from run where parent_id = ${runId} and parent_step = ${step} and parent_position = ${position}
      union all
      select (e.data ->> 'task_call_id')::uuid from ${eventsAfter(runId, stepEnd)} e
      where e.type = 'tool.output' and e.data ->> 'id' = ${callId} and e.data ->> 'task_call_id' is not null
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

  /** Ids of the tasks of a run that have not ended, oldest first; with `requested`, those that it started through actions. */
  async pending(
    runId: string,
    on: Pick<UnitOfWork, 'tables'> = this.database,
    { requested = false } = {},
  ): Promise<string[]> {
    let query = on.tables().selectFrom('run').select('id').where('parent_id', '=', runId).orderBy('number');
    if (requested) query = query.where('parent_step', 'is', null);
    return (await query.where('status', '=', 'pending').execute()).map(({ id }) => id);
  }

  /** Ids of the runs below one that wait for people. */
  async waitingBelow(unit: UnitOfWork, runId: string): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      with recursive below as (
        select id, state from run where parent_id = ${runId} and status = 'pending'
        union all
        select r.id, r.state from run r join below b on r.parent_id = b.id where r.status = 'pending'
      )
      select id from below where state = 'waiting'`.execute(unit.tables());
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

  /** Counts tasks, for a transaction that has locked the run and those above it. */
  async counts(unit: UnitOfWork, runId: string): Promise<TaskCounts> {
    const { rows } = await sql<TaskCounts>`
      with recursive above as (
        select id, parent_id, budget from run where id = ${runId}
        union all
        select r.id, r.parent_id, r.budget from run r join above a on r.id = a.parent_id
      ), below as (
        select id from run where parent_id = (select id from above where parent_id is null)
        union all
        select r.id from run r join below b on r.parent_id = b.id
      )
      select (select count(*)::int from run where parent_id = ${runId} and status = 'pending' and state <> 'waiting') as at_work,
        (select count(*)::int from below) as in_all,
        (select coalesce(bool_or(budget ? 'cost_usd'), false) from above) as limits_cost`.execute(
      unit.tables(),
    );
    const [counts] = rows;
    if (!counts) throw new Error('Counting gives one row');
    return counts;
  }
}
