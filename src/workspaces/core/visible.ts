import { type RawBuilder, sql } from 'kysely';
import type { Actor } from '../../platform/access/index.js';

/**
 * SQL for `workspaceRole(…) !== null`: whether a caller sees a workspace, by the way that they came. Takes for granted the
 * aliases `w` (workspace), `m` (their membership) and `wm` (their workspace_member, may be missing).
 */
export function isVisibleTo({ id, surface }: Pick<Actor, 'id' | 'surface'>): RawBuilder<boolean> {
  return sql<boolean>`(
    (w.created_by = ${id}
    or (w.visibility <> 'private' and (
      m.role in ('owner', 'admin') or wm.role is not null or (w.visibility = 'org' and m.role <> 'guest')
    ))) and ${isReachableBy({ surface })}
  )`;
}

/** As {@link isReachableBy}, of a row that only names its workspace, or none. */
export function namesReachable({ surface }: Pick<Actor, 'surface'>): RawBuilder<boolean> {
  if (!surface) return sql<boolean>`true`;
  return sql<boolean>`not exists (select from workspace w where w.id = workspace_id and ${surface} = any(w.features_off))`;
}

/** SQL for whether a workspace, `w`, is open to the way that a caller came. */
export function isReachableBy({ surface }: Pick<Actor, 'surface'>): RawBuilder<boolean> {
  return surface ? sql<boolean>`${surface} <> all(w.features_off)` : sql<boolean>`true`;
}
