import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '../../platform/database/index.js';
import type { VersionRow } from './draft.js';
import { GitStore } from './git-store.js';
import { HistoryCapture } from './history-capture.js';
import type { FileChangeView, FileStateView } from './run-files.dto.js';

/** A version, as far as it matters to what a run did. */
type Version = Pick<VersionRow, 'id' | 'path' | 'blob' | 'unkept' | 'executable' | 'etag' | 'run_id'> & {
  size: number | null;
};

/** What a run, or a run with its tasks, made of one path. */
export interface RunFile {
  readonly path: string;
  /** Whether a file was there before. */
  readonly replaced: boolean;
  /** Null: none was there, or it is forgotten. */
  readonly before: Version | null;
  readonly after: Version;
  /** The newest version, whoever made it. */
  readonly head: Version;
}

/** Which files runs changed. */
@Injectable()
export class RunFiles {
  constructor(
    private readonly database: Database,
    private readonly capture: HistoryCapture,
    private readonly git: GitStore,
  ) {}

  /** Files that runs changed, by path, with how they were before and after them: at most `limit`. */
  async changed(workspaceId: string, runIds: readonly string[], limit: number): Promise<FileChangeView[]> {
    if ((await this.git.fault()) !== null) return this.logged(workspaceId, runIds, limit);
    await this.capture.upToDate(workspaceId);
    const files = await this.of(workspaceId, runIds, limit);
    return files.flatMap(({ path, replaced, before, after }) => {
      const isGone = after.unkept === 'deleted';
      if (!replaced && isGone) return [];
      const kind = isGone ? 'deleted' : replaced ? 'modified' : 'created';
      return { path, kind, before: replaced ? stateOf(before) : null, after: isGone ? null : stateOf(after) };
    });
  }

  /** The same, with all there is to know. */
  async of(workspaceId: string, runIds: readonly string[], limit?: number): Promise<RunFile[]> {
    return this.database.transaction(async unit => {
      const tables = unit.tables();
      // A plan made while there were few versions would take hours for many.
      await sql`set local plan_cache_mode = force_custom_plan`.execute(tables);
      const { rows } = await sql<RunFile>`
      with own as (
        select path, min(seq) as first, max(seq) as last from file_version
        where workspace_id = ${workspaceId} and run_id = any(${runIds}::uuid[]) group by path order by path limit ${limit ?? null}
      )
      select own.path, first.replaced, to_jsonb(before) as before, to_jsonb(after) as after, to_jsonb(head) as head
      from own join file_version first on first.seq = own.first
        join file_version after on after.seq = own.last
        left join file_version before on before.id = first.previous_id,
        lateral (
          select * from file_version v
          where v.workspace_id = ${workspaceId} and md5(v.path) = md5(own.path) and v.path = own.path
          order by v.seq + 0 desc limit 1
        ) head
      order by own.path collate "C"`.execute(tables);
      return rows;
    });
  }

  /** Where there is no history there is still the log, which knows no before. */
  private async logged(
    workspaceId: string,
    runIds: readonly string[],
    limit: number,
  ): Promise<FileChangeView[]> {
    const { rows } = await sql<{ path: string; kind: string; size: number | null; etag: string | null }>`
      select distinct on (path) path, kind, size::float8 as size, etag from workspace_change
      where run_id = any(${runIds}::uuid[]) and workspace_id = ${workspaceId} and (etag is not null or kind = 'deleted')
      order by path, seq desc limit ${limit}`.execute(this.database.tables());
    return rows.map(({ path, kind, size, etag }) => ({
      path,
      kind: kind === 'moved' ? 'created' : kind,
      before: null,
      after: kind === 'deleted' ? null : { version: null, size, etag, kept: false },
    }));
  }
}

function stateOf(version: Version | null): FileStateView {
  if (!version) return { version: null, size: null, etag: null, kept: false };
  const { id, size, etag, unkept } = version;
  return { version: id, size, etag, kept: unkept === null };
}
