import { type RawBuilder, sql } from 'kysely';
import { type Change, COALESCE_MS } from './change.js';
import type { Intent } from './intent.js';
import type { Writer } from './writer.js';

export type Sql = RawBuilder<unknown>;

export type PathColumn = 'c.path' | 'c.from_path';

/** The key of the indexes of `workspace_change c` by path. */
export const placeOf = (column: PathColumn) => sql<string>`md5(c.workspace_id::text || ${sql.ref(column)})`;

/**
 * A condition on `workspace_change c`, which names the workspace in the key alone, so that no index by workspace applies, and
 * as a range, so that only the index by path gives `order by key, seq` without a sort.
 */
export function isAt(column: PathColumn, workspaceId: string, path: RawBuilder<string>): RawBuilder<boolean> {
  const place = sql`(${workspaceId}::uuid::text || ${path})`;
  return sql<boolean>`(${placeOf(column)} between md5(${place}) and md5(${place})
    and c.workspace_id::text || ${sql.ref(column)} = ${place})`;
}

/**
 * Common table expressions that record changes of a workspace: `present` locks it, which has to come first; without a row in
 * `step`, nothing is recorded. Without `mayMerge`, the log has no change of the writer with which these could be one. Which are
 * recent enough for that was decided when the write began, at `since`: what is not has been captured since.
 */
export function recording(
  workspaceId: string,
  { type, id }: Writer,
  changes: readonly Change[],
  step: Sql,
  { mayMerge = true, since }: { mayMerge?: boolean; since?: string | undefined } = {},
): Sql {
  const runId = type === 'run' ? id : null;
  const given = sql`
        select n, g ->> 'path' as path, g ->> 'kind' as kind, g ->> 'from' as from_path,
          (g ->> 'size')::bigint as size, g ->> 'etag' as etag, g ->> 'revision' as revision
        from step, jsonb_array_elements(${JSON.stringify(changes)}::jsonb) with ordinality as e(g, n)`;
  const added = sql`
        insert into workspace_change
          (workspace_id, path, kind, from_path, size, etag, revision, writer_type, writer_id, run_id, created_at, changed_at)
        select present.id, g.path, g.kind, g.from_path, g.size, g.etag, g.revision, ${type}, ${id}, ${runId}::uuid, now(), now()`;
  const present = sql`present as (
        select id from workspace where id = ${workspaceId} for key share
      ), step as (${step})`;
  if (!mayMerge) return sql`${present}, added as (${added} from (${given}) g, present order by g.n)`;
  return sql`${present}, given as materialized (${given}
      ), newest as materialized (
        select g.*, c.seq, c.kind as old_kind from given g, lateral (
          select * from workspace_change c
          where ${isAt('c.path', workspaceId, sql`g.path`)} order by ${placeOf('c.path')} desc, c.seq desc limit 1
        ) c
        where c.id is null and not c.captured and c.writer_type = ${type} and c.writer_id = ${id}
          and c.kind <> 'moved' and g.kind <> 'moved'
          and c.created_at > ${since ?? sql`now()`}::timestamptz - ${COALESCE_MS} * interval '1 millisecond'
      ), merged as (
        update workspace_change c set size = n.size, etag = n.etag, revision = n.revision, changed_at = now(), kind = case
          when c.kind = 'created' and n.kind = 'modified' then 'created'
          when c.kind = 'deleted' and n.kind = 'created' then 'modified'
          else n.kind end
        from newest n where c.seq = n.seq and coalesce(c.id, 0) = 0 and c.captured::int = 0 -- not by an index of open changes, which are many
        returning n.n
      ), added as (${added}
        from given g, present where g.n not in (select n from merged) order by g.n
      )`;
}

/** Advances an unrecorded write to `through` (null: to its end), if no other process has advanced it. */
export function stepOf(
  begun: Pick<Intent, 'id' | 'recorded'> | undefined,
  at: number,
  through: number | null,
): Sql {
  if (!begun) return sql`select 1 as done`;
  const { id, recorded } = begun;
  // Lock the workspace before its rows, in the order of deletions; else a deadlock.
  const here = sql`id = ${id}::uuid and recorded = ${recorded + at} and (select count(*) from present) >= 0`;
  if (through === null) return sql`delete from workspace_write where ${here} returning 1 as done`;
  return sql`update workspace_write set recorded = ${recorded + through} where ${here} returning 1 as done`;
}
