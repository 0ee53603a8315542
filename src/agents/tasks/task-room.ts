import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Config } from '../../platform/config/index.js';
import type { UnitOfWork } from '../../platform/database/index.js';
import { Conflict, TooManyRequests } from '../../platform/errors/index.js';
import { holdRunsAbove, type RunRow } from '../runs/index.js';

/** A run that is about to get a task. */
export type HeldRun = Pick<
  RunRow,
  'id' | 'organization_id' | 'workspace_id' | 'agent_name' | 'actor' | 'depth' | 'tools_above' | 'on_approval'
> & {
  /** Whether a budget over it limits its cost. */
  limits_cost: boolean;
};

interface Numbers {
  at_work: number;
  in_all: number;
  limits_cost: boolean;
}

/** How many tasks a run may have, and how deep below one that a person started. */
@Injectable()
export class TaskRoom {
  constructor(private readonly config: Config) {}

  /** Whether a run so many levels down may hand over tasks. */
  reaches(depth: number): boolean {
    return depth < this.config.runTaskDepth;
  }

  /**
   * The run, held with those above it until the transaction ends, so that starts come one after the other and the run is
   * not stopped meanwhile. Throws Conflict where it has ended, is too deep down or has had all its tasks. With `atOnce`,
   * throws TooManyRequests where as many are at work as may be; without, they wait their turn elsewhere.
   */
  async hold(unit: UnitOfWork, runId: string, { atOnce = false } = {}): Promise<HeldRun> {
    await holdRunsAbove(unit, runId);
    const { rows } = await sql<Omit<HeldRun, 'limits_cost'>>`
      select id, organization_id, workspace_id, agent_name, actor, depth, tools_above, on_approval from run
      where id = ${runId} and status = 'pending' and merged_into is null for update`.execute(unit.tables());
    const [run] = rows;
    if (!run) throw new Conflict('The run has ended, so it can start nothing more');
    const { runTaskDepth, runTasksAtOnce, runMaxTasks } = this.config;
    if (!this.reaches(run.depth))
      throw new Conflict(
        `Tasks are handed on ${runTaskDepth} levels deep at most; do this one yourself, or leave it to who gave you yours`,
      );
    const { at_work, in_all, limits_cost } = await this.numbers(unit, runId);
    if (in_all >= runMaxTasks)
      throw new Conflict(`A run may start ${runMaxTasks} tasks in all, and these were; do the rest yourself`);
    if (atOnce && at_work >= runTasksAtOnce)
      throw new TooManyRequests(
        `A run has ${runTasksAtOnce} tasks at work at most; wait for the end of one (run_status_get), then try again`,
      );
    return { ...run, limits_cost };
  }

  /** Those at work are the run's own; in all, those of the whole tree count. */
  private async numbers(unit: UnitOfWork, runId: string): Promise<Numbers> {
    const { rows } = await sql<Numbers>`
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
    const [numbers] = rows;
    if (!numbers) throw new Error('Counting gives one row');
    return numbers;
  }
}
