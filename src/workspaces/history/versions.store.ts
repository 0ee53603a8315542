import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database, newId, type UnitOfWork } from '../../platform/database/index.js';
import { COALESCE_MS, isOfWorkspace, type LoggedChange, type Writer } from '../changes/index.js';
import type { Draft, Head } from './draft.js';
import type { Left } from './kept-copies.js';

type Queries = Pick<Database, 'tables'>;

/** Rows made in one turn of the event loop. */
const BATCH = 2000;

/** While the history is behind, copies may not pile up. */
const FAR_BEHIND_MS = 60_000;

export interface Progress {
  readonly complete: boolean;
  readonly found_through: string | null;
  readonly bytes: string;
}

/** A condition on `workspace_change c`; no paths: anywhere. */
function isAtOneOf(paths: readonly string[]): RawBuilder<boolean> {
  if (paths.length === 0 || paths.includes('')) return sql<boolean>`true`;
  const there = paths.map(path => sql`c.path = ${path} or starts_with(c.path, ${`${path}/`})`);
  return sql<boolean>`(${sql.join(there, sql` or `)})`;
}

/** Versions of files; their contents are in git. */
@Injectable()
export class VersionsStore {
  constructor(private readonly database: Database) {}

  async newestPending(workspaceId: string): Promise<string | null> {
    const { rows } = await sql<{ seq: string }>`
      select seq from workspace_change where ${isOfWorkspace(workspaceId)} and not captured
      order by workspace_id desc, seq desc limit 1`.execute(this.database.tables());
    return rows[0]?.seq ?? null;
  }

  /** False for a workspace that is gone. */
  async isBehind(workspaceId: string, seq: string | null): Promise<boolean> {
    const { rows } = await sql<{ behind: boolean }>`
      select not exists (select from workspace_history where workspace_id = ${workspaceId} and complete)
        or (select seq from workspace_change
          where ${isOfWorkspace(workspaceId)} and not captured and seq <= ${seq}::bigint
          order by workspace_id, seq limit 1) is not null as behind
      from workspace where id = ${workspaceId}`.execute(this.database.tables());
    return rows[0]?.behind ?? false;
  }

  /**
   * A condition: whether a write at `paths` or below (none: anywhere) could destroy what is not captured. Recent writes
   * of the same writer do not count: they coalesce with what comes, which may be recorded a little later.
   */
  isAtRisk(workspaceId: string, writer: Writer, paths: readonly string[]): RawBuilder<boolean> {
    return sql<boolean>`(not exists (select from workspace_history where workspace_id = ${workspaceId} and complete)
      or (
        select c.seq from workspace_change c where ${isOfWorkspace(workspaceId)} and not c.captured
          and ${isAtOneOf(paths)}
          and not (c.writer_type = ${writer.type} and c.writer_id = ${writer.id} and c.id is null
            and c.created_at > now() - ${COALESCE_MS / 2} * interval '1 millisecond')
        order by workspace_id, c.seq limit 1
      ) is not null)`;
  }

  /**
   * The files at `paths` or below (none: anywhere) as pending changes left them, at most `limit`. `isRecent`: the history is
   * not far behind.
   */
  async pendingAt(
    workspaceId: string,
    paths: readonly string[],
    limit: number,
  ): Promise<{
    number: number;
    isComplete: boolean;
    isRecent: boolean;
    files: (Left & { size: number })[];
  }> {
    const { rows } = await sql<Awaited<ReturnType<VersionsStore['pendingAt']>>>`
      select w.number, exists (select from workspace_history h where h.workspace_id = w.id and h.complete) as "isComplete", coalesce((
          select c.created_at > now() - ${FAR_BEHIND_MS} * interval '1 millisecond' from workspace_change c
          where ${isOfWorkspace(workspaceId)} and not c.captured order by workspace_id, c.seq limit 1
        ), true) as "isRecent",
        coalesce((select jsonb_agg(f) filter (where f.etag is not null) from (
          select path, max(seq)::text as seq, (array_agg(etag order by seq desc))[1] as etag,
            coalesce((array_agg(size order by seq desc))[1], 0)::float8 as size
          from workspace_change c where ${isOfWorkspace(workspaceId)} and not c.captured and ${isAtOneOf(paths)}
          group by path limit ${limit}
        ) f), '[]') as files
      from workspace w where w.id = ${workspaceId}`.execute(this.database.tables());
    return rows[0] ?? { number: 0, isComplete: true, isRecent: true, files: [] };
  }

  /** Serializes capturing until the unit of work ends. Null: the workspace is gone, or (without `waits`) another has the lock. */
  async lock(
    unit: UnitOfWork,
    workspaceId: string,
    waits = true,
  ): Promise<(Progress & { number: number }) | null> {
    const tables = unit.tables();
    const key = sql`hashtextextended(${`history:${workspaceId}`}, 0)`;
    // A plan made while there were few versions would take hours for many; nor may an index lead through all versions of the
    // workspace, to be sorted: see heads().
    const { rows: locks } = await sql<{ held: boolean }>`
      select set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_sort', 'off', true),
        ${waits ? sql`pg_advisory_xact_lock(${key}) is not null` : sql`pg_try_advisory_xact_lock(${key})`} as held`.execute(
      tables,
    );
    if (locks[0]?.held !== true) return null;
    const { rows } = await sql<Progress & { number: number }>`
      with added as (
        insert into workspace_history (workspace_id, tended_at) select id, now() from workspace
        where id = ${workspaceId} and not exists (select from workspace_history where workspace_id = ${workspaceId})
        -- Waits for a deletion that is under way, after which there is nothing to add.
        for key share on conflict do nothing returning *
      )
      select h.complete, h.found_through, h.bytes, w.number from (
        select * from workspace_history where workspace_id = ${workspaceId} union all select * from added
      ) h join workspace w on w.id = h.workspace_id`.execute(tables);
    return rows[0] ?? null;
  }

  /** False: it is gone. */
  async keepWorkspace(unit: UnitOfWork, workspaceId: string): Promise<boolean> {
    const { rows } = await sql`select from workspace where id = ${workspaceId} for key share`.execute(
      unit.tables(),
    );
    return rows.length > 0;
  }

  async pending(unit: Queries, workspaceId: string, limit: number): Promise<LoggedChange[]> {
    const { rows } = await sql<LoggedChange>`
      select * from workspace_change where ${isOfWorkspace(workspaceId)} and not captured
      order by workspace_id, seq limit ${limit}`.execute(unit.tables());
    return rows;
  }

  async heads(unit: Queries, workspaceId: string, paths: readonly string[]): Promise<Map<string, Head>> {
    const { rows } = await sql<Head>`
      select v.id, v.path, v.kind, v.etag, v.blob, v.executable
      from jsonb_array_elements_text(${JSON.stringify([...new Set(paths)])}::jsonb) as p(path), lateral (
        select * from file_version v
        -- Put so that only the index by path gives this order: the others lead through all versions of the workspace.
        where v.workspace_id = ${workspaceId} and md5(v.path) between md5(p.path) and md5(p.path) and v.path = p.path
        order by md5(v.path) desc, v.seq desc limit 1
      ) v`.execute(unit.tables());
    return new Map(rows.map(head => [head.path, head]));
  }

  /** Returns those that have not changed since they were read. */
  async markCaptured(unit: UnitOfWork, changes: readonly LoggedChange[]): Promise<Set<string>> {
    const given = JSON.stringify(changes.map(({ seq, kind, etag }) => ({ seq, kind, etag })));
    const { rows } = await sql<{ seq: string }>`
      update workspace_change c set captured = true
      from jsonb_to_recordset(${given}::jsonb) as g(seq bigint, kind text, etag text)
      where c.seq = g.seq and c.kind = g.kind and c.etag is not distinct from g.etag
        and c.captured::int = 0 -- not by the index of those that are not, of which statistics may know none
      returning c.seq`.execute(unit.tables());
    return new Set(rows.map(({ seq }) => seq));
  }

  /** Links each to the one before it of the same path. */
  async add(
    unit: UnitOfWork,
    workspaceId: string,
    drafts: readonly Draft[],
    heads: ReadonlyMap<string, Pick<Head, 'id' | 'kind'>>,
  ): Promise<void> {
    const newest = new Map(heads);
    for (let at = 0; at < drafts.length; at += BATCH)
      await this.addBatch(unit, workspaceId, drafts.slice(at, at + BATCH), newest);
  }

  /** Updates `newest`. */
  private async addBatch(
    unit: UnitOfWork,
    workspaceId: string,
    drafts: readonly Draft[],
    newest: Map<string, Pick<Head, 'id' | 'kind'>>,
  ): Promise<void> {
    const rows = drafts.flatMap(draft => {
      const { path, kind, from, size, etag, change, content, changedAt } = draft;
      const before = newest.get(path);
      const replaced = before !== undefined && before.kind !== 'deleted';
      if (kind === 'deleted' && !replaced) return [];
      const id = newId();
      newest.set(path, { id, kind });
      return {
        id,
        path,
        kind,
        from_path: from,
        size,
        etag,
        replaced,
        revision: change?.etag === etag ? change.revision : null,
        blob: null,
        unkept: null,
        executable: false,
        ...content,
        previous_id: before?.id ?? null,
        change_seq: change?.seq ?? null,
        writer_type: change?.writer_type ?? null,
        writer_id: change?.writer_id ?? null,
        run_id: change?.run_id ?? null,
        changed_at: changedAt,
      };
    });
    await sql`
      insert into file_version (id, workspace_id, path, kind, from_path, size, etag, revision, executable, blob, unkept, replaced,
        previous_id, change_seq, writer_type, writer_id, run_id, changed_at)
      select v.id, ${workspaceId}::uuid, v.path, v.kind, v.from_path, v.size, v.etag, v.revision, v.executable, v.blob, v.unkept,
        v.replaced, v.previous_id, v.change_seq, v.writer_type, v.writer_id, v.run_id, v.changed_at
      from rows from (jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as (id uuid, path text, kind text,
        from_path text, size bigint, etag text, revision text, executable boolean, blob text, unkept text, replaced boolean,
        previous_id uuid, change_seq bigint, writer_type text, writer_id text, run_id uuid, changed_at timestamptz))
        with ordinality as v(id, path, kind, from_path, size, etag, revision, executable, blob, unkept, replaced, previous_id,
          change_seq, writer_type, writer_id, run_id, changed_at, n)
      order by v.n`.execute(unit.tables());
  }

  async addCommit(unit: UnitOfWork, workspaceId: string, sha: string, bytes: number): Promise<void> {
    await sql`
      with noted as (update workspace_history set bytes = bytes + ${bytes} where workspace_id = ${workspaceId})
      insert into history_commit (workspace_id, sha, through, committed_at)
      values (${workspaceId}, ${sha},
        coalesce((select seq from file_version where ${isOfWorkspace(workspaceId)}
          order by workspace_id desc, seq desc limit 1), 0), now())`.execute(unit.tables());
  }

  /** `through`: the last path captured of the files from before; null: all of them. */
  async setFound(unit: UnitOfWork, workspaceId: string, through: string | null): Promise<void> {
    await sql`
      update workspace_history set found_through = ${through}, complete = ${through === null}
      where workspace_id = ${workspaceId}`.execute(unit.tables());
  }
}
