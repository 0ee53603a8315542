import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Config } from '../../platform/config/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { Chore } from '../../platform/jobs/index.js';
import { Log } from '../../platform/log/index.js';
import { GitStore, type RepositoryOf } from './git-store.js';
import { VersionsStore } from './versions.store.js';

const HOUR_MS = 3_600_000;
const MOST_AT_ONCE = 100;
const NEARLY_FULL = 0.8;
/** A repository beyond its size is halved so many times before what it still has is left alone. */
const MOST_HALVINGS = 6;

interface Commit {
  id: string;
  sha: string;
  through: string;
  committed_at: string;
}

/** Forgets versions: those replaced longer ago than HISTORY_DAYS, and more where a history has grown too large. */
@Injectable()
export class HistoryTrim {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly versions: VersionsStore,
    private readonly git: GitStore,
    private readonly log: Log,
  ) {}

  /** Workspaces whose history lacks something that is no news any more. */
  async behind(): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      (select distinct workspace_id as id from workspace_change
        where not captured and created_at < now() - interval '5 seconds' limit ${MOST_AT_ONCE})
      union
      (select id from workspace w
        where not exists (select from workspace_history h where h.workspace_id = w.id and h.complete)
        order by random() limit ${MOST_AT_ONCE})`.execute(this.database.tables());
    return rows.map(({ id }) => id);
  }

  /** Tends those whose day it is, and those that are nearly full each hour. */
  @Chore('trim_histories', { everyMs: HOUR_MS })
  async due(): Promise<void> {
    if ((await this.git.fault()) !== null) return;
    const { rows } = await sql<RepositoryOf>`
      select w.id, w.number from workspace_history h join workspace w on w.id = h.workspace_id
      where (h.tended_at < now() - interval '1 day'
          or h.bytes > ${Math.floor(this.config.historyWorkspaceBytes * NEARLY_FULL)} and h.tended_at < now() - interval '50 minutes')
        and exists (select from history_commit c where c.workspace_id = w.id)
      order by h.tended_at limit ${MOST_AT_ONCE}`.execute(this.database.tables());
    for (const workspace of rows) {
      try {
        await this.trim(workspace);
      } catch (error) {
        this.log.error({ err: error, workspace_id: workspace.id }, 'a history was not trimmed');
      }
    }
  }

  /** Of one workspace, now. */
  async trim(workspace: RepositoryOf): Promise<void> {
    await this.database.transaction(async unit => {
      if (!(await this.versions.lock(unit, workspace.id))) return;
      const { historyDays, historyWorkspaceBytes } = this.config;
      let oldest = await this.commitBefore(unit, workspace.id, historyDays);
      let bytes = await this.forgetBefore(unit, workspace, oldest);
      for (let n = 0; n < MOST_HALVINGS && bytes > historyWorkspaceBytes; n++) {
        const middle = await this.middleCommit(unit, workspace.id);
        if (!middle || middle.id === oldest?.id) break;
        oldest = middle;
        bytes = await this.forgetBefore(unit, workspace, oldest);
      }
      await sql`
        update workspace_history set bytes = ${bytes}, tended_at = now(),
          kept_since = coalesce(${oldest?.committed_at ?? null}::timestamptz, kept_since)
        where workspace_id = ${workspace.id}`.execute(unit.tables());
    });
  }

  /** What this commit has stays; what was replaced before does not. */
  private async forgetBefore(
    unit: UnitOfWork,
    workspace: RepositoryOf,
    commit: Commit | undefined,
  ): Promise<number> {
    if (commit) {
      const { through, id } = commit;
      await sql`
        delete from file_version v where workspace_id = ${workspace.id} and seq <= ${through}::bigint and (
          kind = 'deleted' or exists (
            select from file_version later where later.workspace_id = v.workspace_id
              and md5(later.path) = md5(v.path) and later.path = v.path
              and later.seq > v.seq and later.seq <= ${through}::bigint))`.execute(unit.tables());
      await sql`delete from history_commit where workspace_id = ${workspace.id} and id < ${id}::bigint`.execute(
        unit.tables(),
      );
    }
    return this.git.forget(workspace, commit?.sha ?? null);
  }

  private async commitBefore(
    unit: UnitOfWork,
    workspaceId: string,
    days: number,
  ): Promise<Commit | undefined> {
    const { rows } = await sql<Commit>`
      select * from history_commit
      where workspace_id = ${workspaceId} and committed_at < now() - ${days} * interval '1 day'
      order by id desc limit 1`.execute(unit.tables());
    return rows[0];
  }

  private async middleCommit(unit: UnitOfWork, workspaceId: string): Promise<Commit | undefined> {
    const { rows } = await sql<Commit>`
      select * from (select *, row_number() over (order by id) as n, count(*) over () as all_of_them
        from history_commit where workspace_id = ${workspaceId}) c
      where n = all_of_them / 2 + 1`.execute(unit.tables());
    return rows[0];
  }
}
