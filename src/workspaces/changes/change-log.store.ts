import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database, type Row } from '../../platform/database/index.js';
import { defineTopic, Topics } from '../../platform/topics/index.js';
import { WorkspaceFolders } from '../core/index.js';
import type { Intent } from './intent.js';
import { type Writer, withRevisions } from './writer.js';

export const CHANGE_KINDS = ['created', 'modified', 'deleted', 'moved'] as const;

export interface Change {
  readonly path: string;
  readonly kind: (typeof CHANGE_KINDS)[number];
  readonly from?: string | null;
  /** Bytes of a file; null for a folder, a link, or what is gone. */
  readonly size?: number | null;
  readonly etag?: string | null;
  /** Identifies the content of an agent's instruction file; see {@link withRevisions}. */
  readonly revision?: string;
}

/** A row of the log: `seq` orders changes of all workspaces; `id` numbers those of one, once no write can merge into it. */
export type LoggedChange = Row<'workspace_change'> & { readonly writer_type: Writer['type'] };

interface Since {
  readonly from_seq: string;
  readonly started_at: string;
  /** Changes up to this one are of what was there already, where that is known. */
  readonly settled_seq?: string;
}

interface Found extends Change {
  readonly isSameTag?: boolean;
}

interface Newest {
  readonly seq: string;
  readonly path: string;
  readonly isGone: boolean;
  readonly etag: string | null;
}

/** Writes of one writer to one path within this time are one change. */
export const COALESCE_MS = 1000;
const BATCH = 5000;

export const changesTopic = defineTopic('changes');

/** Saves what is about to be overwritten. */
export interface Keeper {
  /** A condition on the database: whether `writer`, at these paths (none: anywhere), could overwrite what is not saved yet. */
  risk(workspaceId: string, writer: Writer, paths: readonly string[]): Promise<RawBuilder<boolean> | boolean>;
  /** Saves what is at these paths or below (none: all). */
  keep(workspaceId: string, paths: readonly string[]): Promise<void>;
}

/**
 * A condition: rows of one workspace. With `order by workspace_id, seq` only an index of both gives the order, whatever
 * statistics say: the primary key leads through the rows of all workspaces.
 */
export function isOfWorkspace(workspaceId: string): RawBuilder<boolean> {
  return sql<boolean>`workspace_id between ${workspaceId}::uuid and ${workspaceId}::uuid`;
}

type PathColumn = 'c.path' | 'c.from_path';

/** The key of the indexes of `workspace_change c` by path. */
const placeOf = (column: PathColumn) => sql<string>`md5(c.workspace_id::text || ${sql.ref(column)})`;

/**
 * A condition on `workspace_change c`, which names the workspace in the key alone, so that no index by workspace applies, and
 * as a range, so that only the index by path gives `order by key, seq` without a sort.
 */
function isAt(column: PathColumn, workspaceId: string, path: RawBuilder<string>): RawBuilder<boolean> {
  const place = sql`(${workspaceId}::uuid::text || ${path})`;
  return sql<boolean>`(${placeOf(column)} between md5(${place}) and md5(${place})
    and c.workspace_id::text || ${sql.ref(column)} = ${place})`;
}

/** The newest change of a workspace; 0 before the first. */
export function newestChange(workspaceId: string): RawBuilder<string> {
  return sql<string>`coalesce((
    select seq from workspace_change where ${isOfWorkspace(workspaceId)}
    order by workspace_id desc, seq desc limit 1), 0)`;
}

/** The changes to the files of a workspace, by any writer, in one order. */
@Injectable()
export class ChangeLog {
  private readonly keepers: Keeper[] = [];

  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
    private readonly folders: WorkspaceFolders,
  ) {}

  keepWith(keeper: Keeper): void {
    this.keepers.push(keeper);
  }

  /** Must precede a command, which may write anywhere. */
  async beforeCommand(workspaceId: string, writer: Writer): Promise<void> {
    const { rows } = await sql<{ risk: boolean }>`
      select ${await this.risk(workspaceId, writer, [])} as risk`.execute(this.database.tables());
    if (rows[0]?.risk !== false) await this.keep(workspaceId, []);
  }

  /** A condition on the database: whether {@link keep} has to precede a write. */
  async risk(workspaceId: string, writer: Writer, paths: readonly string[]): Promise<RawBuilder<boolean>> {
    const risks = await Promise.all(this.keepers.map(keeper => keeper.risk(workspaceId, writer, paths)));
    return sql<boolean>`(${sql.join([sql`false`, ...risks.map(risk => (typeof risk === 'boolean' ? sql.lit(risk) : risk))], sql` or `)})`;
  }

  async keep(workspaceId: string, paths: readonly string[]): Promise<void> {
    for (const keeper of this.keepers) await keeper.keep(workspaceId, paths);
  }

  /**
   * Records changes that have happened; skips those of a workspace that is gone. With `begun`, only while that write is
   * unrecorded, and ends it: else false.
   */
  async record(
    workspaceId: string,
    writer: Writer,
    changes: readonly Change[],
    begun?: Pick<Intent, 'id' | 'recorded'>,
  ): Promise<boolean> {
    for (let at = 0; at === 0 || at < changes.length; at += BATCH) {
      const batch = await withRevisions(
        writer,
        this.folders.reader(workspaceId),
        changes.slice(at, at + BATCH),
      );
      if (batch.length === 0 && !begun) break;
      const step = stepOf(begun, at, at + batch.length === changes.length ? null : at + batch.length);
      if (!(await this.recordBatch(workspaceId, writer, batch, step))) return false;
    }
    return true;
  }

  private async recordBatch(
    workspaceId: string,
    writer: Writer,
    changes: readonly Change[],
    step: RawBuilder<unknown>,
  ): Promise<boolean> {
    const runId = writer.type === 'run' ? writer.id : null;
    const { rows } = await sql`
      with present as (
        select id from workspace where id = ${workspaceId} for key share
      ), step as (${step}), given as materialized (
        select n, g ->> 'path' as path, g ->> 'kind' as kind, g ->> 'from' as from_path,
          (g ->> 'size')::bigint as size, g ->> 'etag' as etag, g ->> 'revision' as revision
        from step, jsonb_array_elements(${JSON.stringify(changes)}::jsonb) with ordinality as e(g, n)
      ), newest as materialized (
        select g.*, c.seq, c.kind as old_kind from given g, lateral (
          select * from workspace_change c
          where ${isAt('c.path', workspaceId, sql`g.path`)} order by ${placeOf('c.path')} desc, c.seq desc limit 1
        ) c
        where c.id is null and not c.captured and c.writer_type = ${writer.type} and c.writer_id = ${writer.id}
          and c.kind <> 'moved' and g.kind <> 'moved'
          and c.created_at > now() - ${COALESCE_MS} * interval '1 millisecond'
      ), merged as (
        update workspace_change c set size = n.size, etag = n.etag, revision = n.revision, changed_at = now(), kind = case
          when c.kind = 'created' and n.kind = 'modified' then 'created'
          when c.kind = 'deleted' and n.kind = 'created' then 'modified'
          else n.kind end
        from newest n where c.seq = n.seq and coalesce(c.id, 0) = 0 and c.captured::int = 0 -- not by an index of open changes, which are many
        returning n.n
      ), added as (
        insert into workspace_change
          (workspace_id, path, kind, from_path, size, etag, revision, writer_type, writer_id, run_id, created_at, changed_at)
        select present.id, g.path, g.kind, g.from_path, g.size, g.etag, g.revision, ${writer.type}, ${writer.id}, ${runId}::uuid, now(), now()
        from given g, present where g.n not in (select n from merged) order by g.n
      )
      select from step`.execute(this.database.tables());
    this.topics.publish(changesTopic(workspaceId));
    return rows.length > 0;
  }

  /**
   * Those changes that the log lacks, by any writer. With `since`, only entries from then on count: a change of the
   * mode alone leaves the entity tag as it was.
   */
  async missing<C extends Found>(workspaceId: string, found: readonly C[], since?: Since): Promise<C[]> {
    const missing: C[] = [];
    for (let at = 0; at < found.length; at += BATCH) {
      const batch = found.slice(at, at + BATCH);
      const newest = await this.newest(
        workspaceId,
        batch.map(({ path }) => path),
        since,
      );
      missing.push(...batch.filter(change => !isLogged(newest.get(change.path), change, since)));
    }
    return missing;
  }

  /** A move deletes at its origin, unless a later change brought the path back. */
  private async newest(
    workspaceId: string,
    paths: readonly string[],
    since: Since | undefined,
  ): Promise<Map<string, Newest>> {
    // A write that merged into an older row has changed its time.
    const isRecent = since
      ? sql`(n.seq > ${since.from_seq}::bigint or n.changed_at >= ${since.started_at}::timestamptz)`
      : sql`true`;
    const { rows } = await sql<Newest>`
      select p.path, n.seq, n.is_gone as "isGone", n.etag
      from jsonb_array_elements_text(${JSON.stringify(paths)}::jsonb) as p(path), lateral (
        (select c.seq, c.changed_at, c.kind = 'deleted' as is_gone, c.etag from workspace_change c
          where ${isAt('c.path', workspaceId, sql`p.path`)} order by ${placeOf('c.path')} desc, c.seq desc limit 1)
        union all
        (select c.seq, c.changed_at, true, null from workspace_change c
          where c.from_path is not null and ${isAt('c.from_path', workspaceId, sql`p.path`)}
          order by ${placeOf('c.from_path')} desc, c.seq desc limit 1)
        order by seq desc limit 1
      ) n where ${isRecent}`.execute(this.database.tables());
    return new Map(rows.map(row => [row.path, row]));
  }
}

function isLogged(newest: Newest | undefined, found: Found, since: Since | undefined): boolean {
  if (!newest) return false;
  const { kind, etag = null, isSameTag = false } = found;
  // The entity tag may be of what was there before.
  if (isSameTag && BigInt(newest.seq) <= BigInt(since?.settled_seq ?? 0)) return false;
  return kind === 'deleted' ? newest.isGone : !newest.isGone && newest.etag === etag;
}

/** Advances an unrecorded write to `through` (null: to its end), if no other process has advanced it. */
function stepOf(
  begun: Pick<Intent, 'id' | 'recorded'> | undefined,
  at: number,
  through: number | null,
): RawBuilder<unknown> {
  if (!begun) return sql`select 1 as done`;
  const { id, recorded } = begun;
  // Lock the workspace before its rows, in the order of deletions; else a deadlock.
  const here = sql`id = ${id}::uuid and recorded = ${recorded + at} and (select count(*) from present) >= 0`;
  if (through === null) return sql`delete from workspace_write where ${here} returning 1 as done`;
  return sql`update workspace_write set recorded = ${recorded + through} where ${here} returning 1 as done`;
}
