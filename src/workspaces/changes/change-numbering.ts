import { sql } from 'kysely';
import type { Database } from '../../platform/database/index.js';
import { isOfWorkspace } from './of-workspace.js';

/** Writes to one path by one writer within this time are one change. */
export const MELTING_MS = 1000;
const AT_ONCE = 5000;

/** Gives changes the numbers by which readers know them. */
export class ChangeNumbering {
  constructor(private readonly database: Database) {}

  /** As `ChangeLog.settle`. */
  async settle(workspaceId: string): Promise<number | null> {
    const wait = await this.oldestOpen(workspaceId);
    if (wait === null || wait > 0) return wait;
    while ((await this.settleSome(workspaceId)) === AT_ONCE);
    return this.oldestOpen(workspaceId);
  }

  private settleSome(workspaceId: string): Promise<number> {
    return this.database.transaction(async unit => {
      const within = unit.tables();
      await sql`insert into workspace_log (workspace_id) select id from workspace where id = ${workspaceId}
        on conflict do nothing`.execute(within);
      // Only with this row held are ids given out.
      await sql`select 1 from workspace_log where workspace_id = ${workspaceId} for update`.execute(within);
      // As an array, so that what statistics say of other workspaces does not make it a join with all of the table.
      const { rows } = await sql`
        with due as (
          select array(
            select seq from workspace_change where ${isOfWorkspace(workspaceId)} and id is null
              and created_at <= now() - ${MELTING_MS} * interval '1 millisecond'
            order by workspace_id, seq limit ${AT_ONCE}
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
      select ceil(extract(epoch from min(created_at) + ${MELTING_MS} * interval '1 millisecond' - now()) * 1000)::float8 as wait
      from (
        select created_at from workspace_change where ${isOfWorkspace(workspaceId)} and id is null
        order by workspace_id, seq limit ${AT_ONCE}
      ) as oldest`.execute(this.database.tables());
    const wait = rows[0]?.wait ?? null;
    return wait === null ? null : Math.max(0, wait);
  }
}
