import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type Row, type UnitOfWork } from '../../platform/database/index.js';
import type { RepositoryOf } from './git-store.js';

const BATCH = 100;

export type Commit = Pick<Row<'history_commit'>, 'id' | 'sha' | 'through' | 'committed_at'>;

/** Which histories are behind or due to be trimmed, and what trimming deletes. */
@Injectable()
export class HistoryTrimStore {
  constructor(private readonly database: Database) {}

  /**
   * Workspaces with changes that should be in the history by now, without `except`: read as one step of the index for each,
   * however many changes they have.
   */
  async behind(settledMs: number, except: readonly string[], limit: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      with recursive oldest as (
        (select workspace_id, created_at from workspace_change where not captured
          order by workspace_id, seq limit 1)
        union all
        select next.* from oldest, lateral (
          select workspace_id, created_at from workspace_change where not captured and workspace_id > oldest.workspace_id
          order by workspace_id, seq limit 1
        ) next
      )
      select workspace_id as id from oldest
      where created_at < now() - ${settledMs} * interval '1 millisecond'
        and workspace_id <> all(${[...except]}::uuid[])
      order by created_at limit ${limit}`.execute(this.database.tables());
    return rows.map(({ id }) => id);
  }

  /** Workspaces whose files from before the history are not all in it. */
  async incomplete(): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select id from workspace w
      where not exists (select from workspace_history h where h.workspace_id = w.id and h.complete)
      order by random() limit ${BATCH}`.execute(this.database.tables());
    return rows.map(({ id }) => id);
  }

  /** Those not trimmed for a day; those with more than `bytes` each hour. */
  async due(bytes: number): Promise<RepositoryOf[]> {
    const { rows } = await sql<RepositoryOf>`
      select w.id, w.number from workspace_history h join workspace w on w.id = h.workspace_id
      where (h.tended_at < now() - interval '1 day'
          or h.bytes > ${bytes} and h.tended_at < now() - interval '50 minutes')
        and exists (select from history_commit c where c.workspace_id = w.id)
      order by h.tended_at limit ${BATCH}`.execute(this.database.tables());
    return rows;
  }

  /** Deletes versions that were replaced by those of this commit, and the commits before it. */
  async deleteBefore(unit: UnitOfWork, workspaceId: string, { id, through }: Commit): Promise<void> {
    await sql`
      delete from file_version v where workspace_id = ${workspaceId} and seq <= ${through}::bigint and (
        kind = 'deleted' or exists (
          select from file_version later where later.workspace_id = v.workspace_id
            and md5(later.path) = md5(v.path) and later.path = v.path
            and later.seq > v.seq and later.seq <= ${through}::bigint))`.execute(unit.tables());
    await sql`delete from history_commit where workspace_id = ${workspaceId} and id < ${id}::bigint`.execute(
      unit.tables(),
    );
  }

  async setTrimmed(unit: UnitOfWork, workspaceId: string, bytes: number, oldest?: Commit): Promise<void> {
    await sql`
      update workspace_history set bytes = ${bytes}, tended_at = now(),
        kept_since = coalesce(${oldest?.committed_at ?? null}::timestamptz, kept_since)
      where workspace_id = ${workspaceId}`.execute(unit.tables());
  }

  async commitBefore(unit: UnitOfWork, workspaceId: string, days: number): Promise<Commit | undefined> {
    const { rows } = await sql<Commit>`
      select * from history_commit
      where workspace_id = ${workspaceId} and committed_at < now() - ${days} * interval '1 day'
      order by id desc limit 1`.execute(unit.tables());
    return rows[0];
  }

  async middleCommit(unit: UnitOfWork, workspaceId: string): Promise<Commit | undefined> {
    const { rows } = await sql<Commit>`
      select * from (select *, row_number() over (order by id) as n, count(*) over () as all_of_them
        from history_commit where workspace_id = ${workspaceId}) c
      where n = all_of_them / 2 + 1`.execute(unit.tables());
    return rows[0];
  }
}
