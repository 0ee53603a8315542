import { type RawBuilder, sql } from 'kysely';

/** Characters of a path that the index of folders has. */
const INDEXED = 200;
/** Sorts after all that may follow a beginning. */
const LAST = '\u{10ffff}'.repeat(4);
/** Moves to a path or below it that are followed, the newest first; and so many one after another. */
const MAX_MOVES = 5000;
const MAX_DEPTH = 50;

/** A condition: `column` is the path itself, or below it. */
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
