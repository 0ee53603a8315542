import { type RawBuilder, sql } from 'kysely';

/**
 * SQL for `workspaceRole(…) !== null`: whether a person sees a workspace. Takes for granted the aliases `w` (workspace),
 * `m` (their membership) and `wm` (their workspace_member, may be missing).
 */
export function isVisibleTo(userId: string): RawBuilder<boolean> {
  return sql<boolean>`(
    w.created_by = ${userId}
    or (w.visibility <> 'private' and (
      m.role in ('owner', 'admin') or wm.role is not null or (w.visibility = 'org' and m.role <> 'guest')
    ))
  )`;
}
