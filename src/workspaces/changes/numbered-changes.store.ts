import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '../../platform/database/index.js';
import { Chore } from '../../platform/jobs/index.js';
import { COALESCE_MS } from './change.js';
import { isOfWorkspace, type LoggedChange } from './change-log.store.js';

/** How long the log of changes to files is kept, from which event streams resume. */
export const CHANGE_LOG_DAYS = 30;
const BATCH = 5000;
const PRUNE_INTERVAL_MS = 3_600_000;

export interface LogHead {
  readonly position: number;
  readonly isUnsettled: boolean;
}

/** The log as its readers know it: changes with numbers that rise by one in each workspace, until they are pruned. */
@Injectable()
export class NumberedChangesStore {
  constructor(private readonly database: Database) {}

  /**
   * Numbers changes into which no more writes can merge. Every reader does this first, so that nothing depends on the
   * process that wrote. Returns the milliseconds until there is more to number; null: nothing is open.
   */
  async settle(workspaceId: string): Promise<number | null> {
    const wait = await this.oldestOpen(workspaceId);
    if (wait === null || wait > 0) return wait;
    while ((await this.settleBatch(workspaceId)) === BATCH);
    return this.oldestOpen(workspaceId);
  }

  /** 0 before the first. */
  async last(workspaceId: string): Promise<number> {
    const { rows } = await sql<{ last_change: string }>`
      select last_change from workspace_log where workspace_id = ${workspaceId}`.execute(
      this.database.tables(),
    );
    return Number(rows[0]?.last_change ?? 0);
  }

  async heads(workspaceIds: readonly string[]): Promise<Map<string, LogHead>> {
    const { rows } = await sql<{ id: string; position: number; is_unsettled: boolean }>`
      select w.id, coalesce(l.last_change, 0)::float8 as position,
        (select c.seq from workspace_change c where c.workspace_id between w.id and w.id and c.id is null
          order by c.workspace_id, c.seq limit 1) is not null as is_unsettled
      from unnest(${[...workspaceIds]}::uuid[]) as w (id) left join workspace_log l on l.workspace_id = w.id`.execute(
      this.database.tables(),
    );
    return new Map(
      rows.map(({ id, position, is_unsettled: isUnsettled }) => [id, { position, isUnsettled }]),
    );
  }

  /** Settled changes after number `after`, in order. */
  async after(workspaceId: string, after: number, limit: number): Promise<LoggedChange[]> {
    const { rows } = await sql<LoggedChange>`
      select * from workspace_change where workspace_id = ${workspaceId} and id > ${after}
      order by id limit ${limit}`.execute(this.database.tables());
    return rows;
  }

  /** 0: nothing is pruned. */
  async prunedThrough(workspaceId: string): Promise<number> {
    const { rows } = await sql<{ pruned: number }>`
      select pruned_through::float8 as pruned from workspace_log where workspace_id = ${workspaceId}`.execute(
      this.database.tables(),
    );
    return rows[0]?.pruned ?? 0;
  }

  /** Forgets changes older than CHANGE_LOG_DAYS; streams that wanted them get `reset`. */
  @Chore('prune_change_log', { everyMs: PRUNE_INTERVAL_MS })
  async prune(): Promise<void> {
    await this.numberOldOnes();
    while ((await this.pruneBatch()) === BATCH);
  }

  /** Unwatched changes have no numbers yet; a stream must be able to tell which are missing. */
  private async numberOldOnes(): Promise<void> {
    const { rows } = await sql<{ workspace_id: string }>`
      select distinct workspace_id from workspace_change where id is null and created_at < ${this.cutoff}`.execute(
      this.database.tables(),
    );
    for (const { workspace_id } of rows) await this.settle(workspace_id);
  }

  private async pruneBatch(): Promise<number> {
    const { rows } = await sql<{ pruned: number }>`
      with old as (
        select seq from workspace_change where created_at < ${this.cutoff} and id is not null
        order by created_at limit ${BATCH}
      ), gone as (
        delete from workspace_change c using old where c.seq = old.seq returning c.workspace_id, c.id
      ), noted as (
        update workspace_log l set pruned_through = greatest(l.pruned_through, g.last)
        from (select workspace_id, max(id) as last from gone group by workspace_id) g
        where l.workspace_id = g.workspace_id
      )
      select count(*)::int as pruned from gone`.execute(this.database.tables());
    return rows[0]?.pruned ?? 0;
  }

  private get cutoff() {
    return sql`now() - ${CHANGE_LOG_DAYS} * interval '1 day'`;
  }

  private settleBatch(workspaceId: string): Promise<number> {
    return this.database.transaction(async unit => {
      const within = unit.tables();
      await sql`insert into workspace_log (workspace_id) select id from workspace where id = ${workspaceId}
        on conflict do nothing`.execute(within);
      // The lock on this row serializes numbering.
      await sql`select 1 from workspace_log where workspace_id = ${workspaceId} for update`.execute(within);
      // As an array: a join could scan all of the table, by the statistics of other workspaces.
      const { rows } = await sql`
        with due as (
          select array(
            select seq from workspace_change where ${isOfWorkspace(workspaceId)} and id is null
              and created_at <= now() - ${COALESCE_MS} * interval '1 millisecond'
            order by workspace_id, seq limit ${BATCH}
          ) as seqs
        ), counted as (
          update workspace_log set last_change = last_change + cardinality(due.seqs) from due
          where workspace_id = ${workspaceId} returning last_change - cardinality(due.seqs) as base, due.seqs
        )
        update workspace_change c set id = counted.base + given.n
        from counted, unnest(counted.seqs) with ordinality as given (seq, n) where c.seq = given.seq
        returning 1`.execute(within);
      return rows.length;
    });
  }

  private async oldestOpen(workspaceId: string): Promise<number | null> {
    const { rows } = await sql<{ wait: number | null }>`
      select ceil(extract(epoch from min(created_at) + ${COALESCE_MS} * interval '1 millisecond' - now()) * 1000)::float8 as wait
      from (
        select created_at from workspace_change where ${isOfWorkspace(workspaceId)} and id is null
        order by workspace_id, seq limit ${BATCH}
      ) as oldest`.execute(this.database.tables());
    const wait = rows[0]?.wait ?? null;
    return wait === null ? null : Math.max(0, wait);
  }
}
