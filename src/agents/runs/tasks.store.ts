import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type Row } from '../../platform/database/index.js';
import type { Run } from './run.entity.js';
import type { Spent } from './run-limits.js';

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
  Row<Run>,
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
