import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database } from '../../platform/database/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { isOfWorkspace, type LoggedChange } from '../changes/index.js';
import type { VersionRow } from './draft.js';

const INDEXED = 200;
const LAST = '\u{10ffff}'.repeat(4);
/** Limits of following moves: to a path or below it, newest first, and in a row. */
const MAX_MOVES = 5000;
const MAX_DEPTH = 50;

export function isAtOrBelow(column: RawBuilder<unknown>, path: string): RawBuilder<boolean> {
  const start = [...`${path}/`].slice(0, INDEXED).join('');
  return sql<boolean>`(md5(${column}) = md5(${path}) and ${column} = ${path}
    or left(${column}, ${sql.lit(INDEXED)}) collate "C" >= ${start}
      and left(${column}, ${sql.lit(INDEXED)}) collate "C" <= ${start + LAST}
      and starts_with(${column}, ${`${path}/`}))`;
}

/**
 * A query for the `seq` of versions that files at `path` or below it have from before they were moved there from elsewhere.
 *
 * A move says where its file was, and that place has the file's versions back to the last deletion there (whatever was
 * there before that is another file) or to the move that brought it there, with which it goes on. Time only goes back, so
 * this ends.
 */
export function versionsBeforeMoves(workspaceId: string, path: string): RawBuilder<{ seq: string }> {
  const arrived = sql`(
    select seq, from_path, change_seq, 1 as depth from file_version
    where workspace_id = ${workspaceId} and kind = 'moved' and ${isAtOrBelow(sql`path`, path)}
      and not ${isAtOrBelow(sql`from_path`, path)}
    order by seq desc limit ${sql.lit(MAX_MOVES)}
  )`;
  // Put so that only the index by path gives this order.
  const atOrigin = sql`v.workspace_id = ${workspaceId} and md5(v.path) between md5(m.from_path) and md5(m.from_path)
    and v.path = m.from_path and v.seq < m.seq`;
  // The deletion that a move is at its origin.
  const isLeaving = sql`v.kind = 'deleted' and v.change_seq is not distinct from m.change_seq`;
  const beginning = sql`(
    select v.seq, v.kind, v.from_path, v.change_seq from file_version v
    where ${atOrigin} and v.kind in ('moved', 'deleted') and not (${isLeaving})
    order by md5(v.path) desc, v.seq desc limit 1
  )`;
  return sql<{ seq: string }>`
    with recursive moves as (
      ${arrived}
      union all
      select b.seq, b.from_path, b.change_seq, m.depth + 1 from moves m, lateral ${beginning} b
      where b.kind = 'moved' and m.depth < ${sql.lit(MAX_DEPTH)} and not ${isAtOrBelow(sql`b.from_path`, path)}
    )
    select v.seq from moves m left join lateral ${beginning} b on true, lateral (
      select v.seq from file_version v
      where ${atOrigin} and v.seq >= coalesce(b.seq, 0) and not (v.kind = 'deleted')
    ) v`;
}

type Version = Pick<VersionRow, 'id' | 'path' | 'blob' | 'unkept' | 'executable' | 'etag' | 'run_id'> & {
  size: number | null;
};

export interface RunFile {
  readonly path: string;
  readonly replaced: boolean;
  /** Null: none was there, or it is trimmed. */
  readonly before: Version | null;
  readonly after: Version;
  readonly head: Version;
}

interface VersionFilter {
  readonly path: string;
  readonly runId?: string;
  readonly before?: string;
  readonly limit: number;
}

@Injectable()
export class VersionReadsStore {
  constructor(private readonly database: Database) {}

  /** Newest first: of a file, of what is below a folder, or (path '') of all; also from before a file was moved there. */
  async list(workspaceId: string, { path, runId, before, limit }: VersionFilter): Promise<VersionRow[]> {
    const page = (where: RawBuilder<unknown>, order = sql`seq desc`) => sql`(
      select * from file_version
      where ${where}
        and ${runId === undefined ? sql`true` : sql`run_id = ${runId}::uuid`}
        and ${before === undefined ? sql`true` : sql`seq < ${before}::bigint`}
      order by ${order} limit ${limit})`;
    const isOf = sql`workspace_id = ${workspaceId}`;
    const pages =
      path === ''
        ? page(isOfWorkspace(workspaceId), sql`workspace_id desc, seq desc`)
        : sql`${page(sql`${isOf} and ${isAtOrBelow(sql`path`, path)}`)}
            union ${page(sql`${isOf} and seq in (${versionsBeforeMoves(workspaceId, path)})`)}`;
    const { rows } = await sql<VersionRow>`
      select * from (${pages}) as versions order by seq desc limit ${limit}`.execute(this.database.tables());
    return rows;
  }

  /** The version at the path from which a file was moved; undefined where it was not moved, or that is not known. */
  async beforeMove({ workspace_id, seq, kind, from_path }: VersionRow): Promise<VersionRow | undefined> {
    if (kind !== 'moved' || from_path === null) return undefined;
    const { rows } = await sql<VersionRow>`
      select v.* from file_version m, file_version v
      where m.seq = ${seq}::bigint
        -- Put so that only the index by path gives this order.
        and v.workspace_id = ${workspace_id} and md5(v.path) between md5(${from_path}) and md5(${from_path})
        and v.path = ${from_path} and v.seq < m.seq
        and not (v.kind = 'deleted' and v.change_seq is not distinct from m.change_seq)
      order by md5(v.path) desc, v.seq desc limit 1`.execute(this.database.tables());
    const [before] = rows;
    return before?.kind === 'deleted' ? undefined : before;
  }

  async require(workspaceId: string, id: string): Promise<VersionRow> {
    const version = await this.find(workspaceId, id);
    if (!version) throw new NotFound('No such version; the history may not go back that far any more');
    return version;
  }

  async find(workspaceId: string, id: string): Promise<VersionRow | undefined> {
    const { rows } = await sql<VersionRow>`
      select * from file_version where workspace_id = ${workspaceId} and id = ${id}::uuid`.execute(
      this.database.tables(),
    );
    return rows[0];
  }

  ofRuns(workspaceId: string, runIds: readonly string[], limit?: number): Promise<RunFile[]> {
    return this.database.transaction(async unit => {
      const tables = unit.tables();
      // A plan made while there were few versions would take hours for many.
      await sql`select set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_sort', 'off', true)`.execute(
        tables,
      );
      const { rows } = await sql<RunFile>`
      with own as (
        select path, min(seq) as first, max(seq) as last from file_version
        -- Put so that the index by run is used, not one by workspace.
        where (workspace_id = ${workspaceId}) is true and run_id = any(${runIds}::uuid[]) group by path order by path limit ${limit ?? null}
      )
      select own.path, first.replaced, to_jsonb(before) as before, to_jsonb(after) as after, to_jsonb(head) as head
      from own join file_version first on first.seq = own.first
        join file_version after on after.seq = own.last
        left join file_version before on before.id = first.previous_id,
        lateral (
          select * from file_version v
          -- Put so that only the index by path gives this order.
          where v.workspace_id = ${workspaceId} and md5(v.path) between md5(own.path) and md5(own.path) and v.path = own.path
          order by md5(v.path) desc, v.seq desc limit 1
        ) head
      order by own.path collate "C"`.execute(tables);
      return rows;
    });
  }

  /** Where there is no history. */
  async loggedOfRuns(
    workspaceId: string,
    runIds: readonly string[],
    limit: number,
  ): Promise<{ path: string; kind: LoggedChange['kind']; size: number | null; etag: string | null }[]> {
    const { rows } = await sql<Awaited<ReturnType<VersionReadsStore['loggedOfRuns']>>[number]>`
      select distinct on (path) path, kind, size::float8 as size, etag from workspace_change
      where run_id = any(${runIds}::uuid[]) and workspace_id = ${workspaceId} and (etag is not null or kind = 'deleted')
      order by path, seq desc limit ${limit}`.execute(this.database.tables());
    return rows;
  }

  /** Links and folders that runs made, the innermost first. */
  async madeByRuns(workspaceId: string, runIds: readonly string[]): Promise<string[]> {
    const { rows } = await sql<{ path: string }>`
      select distinct path, length(path) from workspace_change
      where run_id = any(${runIds}::uuid[]) and workspace_id = ${workspaceId} and etag is null and kind in ('created', 'moved')
      order by length(path) desc`.execute(this.database.tables());
    return rows.map(({ path }) => path);
  }

  /** Whether versions from after `time` are forgotten. */
  async isTrimmedSince(workspaceId: string, time: string): Promise<boolean> {
    const { rows } = await sql<{ lost: boolean }>`
      select kept_since > ${time}::timestamptz as lost from workspace_history
      where workspace_id = ${workspaceId}`.execute(this.database.tables());
    return rows[0]?.lost === true;
  }
}
