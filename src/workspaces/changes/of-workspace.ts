import { type RawBuilder, sql } from 'kysely';

/**
 * A condition: rows of one workspace. With `order by workspace_id, seq` only an index of both gives the order, whatever
 * statistics say: the primary key leads through the rows of all workspaces.
 */
export function isOfWorkspace(workspaceId: string): RawBuilder<boolean> {
  return sql<boolean>`workspace_id between ${workspaceId}::uuid and ${workspaceId}::uuid`;
}

/** The newest change of a workspace; 0 before the first. */
export function newestChange(workspaceId: string): RawBuilder<string> {
  return sql<string>`coalesce((
    select seq from workspace_change where ${isOfWorkspace(workspaceId)}
    order by workspace_id desc, seq desc limit 1), 0)`;
}
