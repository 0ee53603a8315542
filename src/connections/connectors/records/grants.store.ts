import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Actor, visibleTo } from '../../../platform/access/index.js';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import type { ToolEffect } from '../tools/pin.js';
import type { Auth, GrantRow, ToolState } from './connector-rows.js';

@Injectable()
export class GrantsStore {
  constructor(private readonly database: Database) {}

  /** Grants to workspaces that the caller sees. */
  async visible(
    actor: Actor,
    connectorIds: readonly string[],
  ): Promise<Pick<GrantRow, 'connector_id' | 'workspace_id' | 'tools'>[]> {
    if (connectorIds.length === 0) return [];
    const { rows } = await sql<GrantRow>`
      select g.connector_id, g.workspace_id, g.tools from connector_grant g join ${visibleTo(actor)} w on w.id = g.workspace_id
      where g.connector_id = any(${[...connectorIds]}::uuid[]) order by g.workspace_id`.execute(
      this.database.tables(),
    );
    return rows;
  }

  /** Replaces the grants to workspaces that the caller sees; others stay. */
  async replace(
    unit: UnitOfWork,
    actor: Actor,
    connectorId: string,
    grants: readonly { readonly workspace_id: string; readonly tools: readonly string[] | null }[],
  ): Promise<void> {
    await sql`
      delete from connector_grant g using ${visibleTo(actor)} w
      where w.id = g.workspace_id and g.connector_id = ${connectorId}`.execute(unit.tables());
    for (const { workspace_id, tools } of grants)
      await sql`
        insert into connector_grant (connector_id, workspace_id, tools, granted_by, created_at)
        values (${connectorId}, ${workspace_id}, ${tools && [...tools]}::text[], ${actor.id}, now())
        on conflict (connector_id, workspace_id) do update set tools = excluded.tools`.execute(unit.tables());
  }

  async counts(unit: UnitOfWork, workspaceIds: readonly string[]): Promise<number[]> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from connector_grant where workspace_id = any(${[...workspaceIds]}::uuid[])
      group by workspace_id`.execute(unit.tables());
    return rows.map(({ count }) => count);
  }

  /** Connectors granted to a workspace, with their tools but not the definitions. */
  async inWorkspace(workspaceId: string): Promise<GrantedConnector[]> {
    const { rows } = await sql<GrantedConnector>`
      select c.id, c.organization_id, c.user_id, c.name, c.slug, c.url, c.auth, c.per_user, c.is_disabled, c.fault, c.revision,
        c.approved_instructions as instructions,
        coalesce((
          select jsonb_agg(jsonb_build_object('name', t.name, 'state', t.state, 'effect', t.effect, 'hash', t.approved_hash,
            'summary', left(coalesce(t.approved->>'description', ''), ${SUMMARY}::int),
            'size', length(t.approved::text)) order by t.name)
          from connector_tool t where t.connector_id = c.id and (g.tools is null or t.name = any(g.tools))), '[]') as tools
      from connector_grant g join connector c on c.id = g.connector_id
      where g.workspace_id = ${workspaceId} order by c.slug`.execute(this.database.tables());
    return rows;
  }
}

/** What is kept of a description for those who search, in characters. */
const SUMMARY = 300;

/** A connector as calls in one workspace find it. */
export interface GrantedConnector {
  readonly id: string;
  readonly organization_id: string;
  readonly user_id: string | null;
  readonly name: string;
  readonly slug: string;
  readonly url: string;
  readonly auth: Auth;
  readonly per_user: boolean;
  readonly is_disabled: boolean;
  readonly fault: string | null;
  readonly revision: number;
  /** Approved instructions of the server to models. */
  readonly instructions: string | null;
  readonly tools: readonly GrantedTool[];
}

export interface GrantedTool {
  readonly name: string;
  readonly state: ToolState;
  readonly effect: ToolEffect;
  readonly hash: string | null;
  readonly summary: string;
  readonly size: number | null;
}
