import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Actor, organizationsOf, visibleTo } from '../../../platform/access/index.js';
import { Database, type Row, storable, type UnitOfWork } from '../../../platform/database/index.js';
import type { Permissions } from '../providers/credential-limits.js';
import type { ConnectionRow } from './connections.store.js';

declare global {
  interface ColumnTypes {
    'connection_grant.permissions': Permissions;
  }
}

export type GrantRow = Row<'connection_grant'>;
export type GrantFields = Pick<
  GrantRow,
  'workspace_id' | 'methods' | 'paths' | 'repositories' | 'permissions'
>;
export type GrantedRow = ConnectionRow & GrantFields;

type Queries = Pick<Database, 'tables'>;

@Injectable()
export class GrantsStore {
  constructor(private readonly database: Database) {}

  /** Grants of these connections to workspaces that the caller sees. */
  async seenBy(
    actor: Actor,
    connectionIds: readonly string[],
    within: Queries = this.database,
  ): Promise<GrantRow[]> {
    if (connectionIds.length === 0) return [];
    const { rows } = await sql<GrantRow>`
      select g.* from connection_grant g join ${visibleTo(actor)} w on w.id = g.workspace_id
      where g.connection_id = any(${[...connectionIds]}::uuid[]) order by g.created_at, g.workspace_id`.execute(
      within.tables(),
    );
    return rows;
  }

  /** Connections granted to a workspace: the organization's, and the caller's own. */
  async usableBy(actor: Pick<Actor, 'id' | 'credential'>, workspaceId: string): Promise<GrantedRow[]> {
    const { rows } = await sql<GrantedRow>`
      select c.*, g.methods, g.paths, g.repositories, g.permissions, g.workspace_id
      from connection_grant g join integration_connection c on c.id = g.connection_id
      join ${organizationsOf(actor as Actor)} m on m.organization_id = c.organization_id
      where g.workspace_id = ${workspaceId} and (c.user_id is null or c.user_id = ${actor.id})
      order by c.id`.execute(this.database.tables());
    return rows;
  }

  async workspacesOf(unit: UnitOfWork, connectionId: string): Promise<string[]> {
    const query = unit.tables().selectFrom('connection_grant').select('workspace_id');
    const rows = await query.where('connection_id', '=', connectionId).execute();
    return rows.map(({ workspace_id }) => workspace_id);
  }

  /** Other connections that one caller could use there. Locks the grants of the workspace. */
  async besides(unit: UnitOfWork, connection: ConnectionRow, workspaceId: string): Promise<GrantedRow[]> {
    await sql`select pg_advisory_xact_lock(hashtext(${`connection grants ${workspaceId}`}))`.execute(
      unit.tables(),
    );
    const { rows } = await sql<GrantedRow>`
      select c.*, g.methods, g.paths, g.repositories, g.permissions, g.workspace_id
      from connection_grant g join integration_connection c on c.id = g.connection_id
      where g.workspace_id = ${workspaceId} and c.id <> ${connection.id}
        and (c.user_id is null or coalesce(${connection.user_id}::uuid = c.user_id, true))
      order by c.id`.execute(unit.tables());
    return rows;
  }

  /** Replaces the grants to workspaces that the caller sees; others stay. */
  async replace(
    unit: UnitOfWork,
    connectionId: string,
    actor: Actor,
    grants: readonly GrantFields[],
  ): Promise<void> {
    await sql`
      delete from connection_grant where connection_id = ${connectionId}
        and workspace_id in (select w.id from ${visibleTo(actor)} w)`.execute(unit.tables());
    if (grants.length === 0) return;
    const made = { connection_id: connectionId, granted_by: actor.id, created_at: sql<string>`now()` };
    const rows = grants.map(({ permissions, ...grant }) => ({
      ...grant,
      ...made,
      permissions: storable(permissions),
    }));
    await unit.tables().insertInto('connection_grant').values(rows).execute();
  }
}
