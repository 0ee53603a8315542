import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { OrganizationsStore } from '../../../identity/organizations/index.js';
import {
  type Actor,
  isAmong,
  type OrganizationPermission,
  type OrganizationRole,
  organizationsOf,
  requireOrganizationRole,
  requireScope,
  visibleTo,
} from '../../../platform/access/index.js';
import { Subject } from '../../../platform/actions/index.js';
import { Database, newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Forbidden, NotFound } from '../../../platform/errors/index.js';
import { Topics } from '../../../platform/topics/index.js';
import { WorkspacesStore } from '../../../workspaces/core/index.js';
import { connectorTopic } from './connector-events.js';
import type { ConnectorRow, StoredServer } from './connector-rows.js';

type Queries = Pick<Database, 'tables'>;
type Fields = Pick<
  ConnectorRow,
  | 'organization_id'
  | 'user_id'
  | 'name'
  | 'slug'
  | 'url'
  | 'auth'
  | 'per_user'
  | 'authorization_server'
  | 'client_id'
  | 'client_secret_id'
  | 'created_by'
>;

interface ListFilter {
  readonly organizationId?: string;
  readonly workspaceId?: string;
  readonly q?: string;
  readonly after?: string;
  readonly limit: number;
}

@Injectable()
export class ConnectorsStore {
  constructor(
    private readonly database: Database,
    private readonly organizations: OrganizationsStore,
    private readonly workspaces: WorkspacesStore,
    private readonly topics: Topics,
  ) {}

  /** 404 for an organization or a workspace that the caller does not see. */
  async requireFilter(
    actor: Actor,
    { organization_id, workspace_id }: { organization_id?: string; workspace_id?: string },
  ): Promise<void> {
    if (organization_id) await this.organizations.require(actor, 'connection.read', organization_id);
    if (workspace_id) await this.workspaces.require(actor, 'workspace.read', workspace_id);
  }

  /** Whether the caller may have one there: a personal one takes a person who is a member, another one an admin. */
  async requirePlace(
    actor: Actor,
    { organization_id, owner }: { organization_id: string; owner: 'organization' | 'user' },
    within: Queries = this.database,
  ): Promise<void> {
    const permission = owner === 'user' ? 'connection.manage' : 'provider.configure';
    await this.organizations.require(actor, permission, organization_id, within);
    if (owner === 'user' && actor.type !== 'user')
      throw new Forbidden('Only people have connectors of their own; make one of the organization');
  }

  /** 404 where the caller does not see it, 403 where their role or key is too low. One's own takes no role. */
  @Subject('connector', 'organization', ({ organization_id }: ConnectorRow) => ({
    organization_id,
    workspace_id: null,
  }))
  async require(
    actor: Actor,
    permission: OrganizationPermission,
    id: string,
    within: Queries = this.database,
  ): Promise<ConnectorRow> {
    const { rows } = await sql<ConnectorRow & { caller_role: OrganizationRole }>`
      select c.*, o.role as caller_role from connector c join ${organizationsOf(actor)} o using (organization_id)
      where c.id = ${id} and ${isSeenBy(actor)}`.execute(within.tables());
    const [row] = rows;
    if (!row) throw new NotFound('No such connector');
    requireScope(actor, permission);
    const { caller_role, ...connector } = row;
    if (connector.user_id === null) requireOrganizationRole(caller_role, permission);
    return connector;
  }

  /** Connectors that the caller sees, oldest first. */
  async list(actor: Actor, filter: ListFilter): Promise<ConnectorRow[]> {
    const { organizationId, workspaceId, q, after, limit } = filter;
    const like = q && `%${q.replace(/[\\%_]/g, '\\$&')}%`;
    const granted = sql`exists (
      select from connector_grant g join ${visibleTo(actor)} w on w.id = g.workspace_id
      where g.connector_id = c.id and g.workspace_id = ${workspaceId ?? null})`;
    const { rows } = await sql<ConnectorRow>`
      select c.* from connector c join ${organizationsOf(actor)} o using (organization_id)
      where ${isSeenBy(actor)}
        and ${organizationId ? sql`c.organization_id = ${organizationId}` : sql`true`}
        and ${workspaceId ? granted : sql`true`}
        and ${like ? sql`(c.name ilike ${like} or c.slug ilike ${like} or c.url ilike ${like})` : sql`true`}
        and ${after ? sql`c.id > ${after}` : sql`true`}
      order by c.id limit ${limit}`.execute(this.database.tables());
    return rows;
  }

  find(id: string, within: Queries = this.database): Promise<ConnectorRow | undefined> {
    return within.tables().selectFrom('connector').selectAll().where('id', '=', id).executeTakeFirst();
  }

  /** Locks the row. */
  lock(unit: UnitOfWork, id: string): Promise<ConnectorRow | undefined> {
    const query = unit.tables().selectFrom('connector').selectAll().where('id', '=', id);
    return query.forUpdate().executeTakeFirst();
  }

  /** Slugs and owners in an organization. Locks out others that add a connector. */
  async beside(
    unit: UnitOfWork,
    organizationId: string,
  ): Promise<{ slugs: Set<string>; owners: (string | null)[] }> {
    await sql`select pg_advisory_xact_lock(hashtext(${`connectors ${organizationId}`}))`.execute(
      unit.tables(),
    );
    const query = unit.tables().selectFrom('connector').select(['slug', 'user_id']);
    const rows = await query.where('organization_id', '=', organizationId).execute();
    return { slugs: new Set(rows.map(({ slug }) => slug)), owners: rows.map(({ user_id }) => user_id) };
  }

  async insert(unit: UnitOfWork, fields: Fields): Promise<ConnectorRow> {
    const now = sql<string>`now()`;
    return unit
      .tables()
      .insertInto('connector')
      .values({ ...fields, id: newId(), created_at: now, updated_at: now })
      .returningAll()
      .executeTakeFirstOrThrow();
  }

  /** 404 where it was deleted meanwhile. */
  async change(
    unit: UnitOfWork,
    id: string,
    changes: Partial<
      Pick<
        ConnectorRow,
        | 'name'
        | 'is_disabled'
        | 'authorization_server'
        | 'client_id'
        | 'client_secret_id'
        | 'approved_instructions'
      >
    >,
  ): Promise<ConnectorRow> {
    const row = await unit
      .tables()
      .updateTable('connector')
      .set({ ...changes, revision: sql<number>`revision + 1`, updated_at: sql<string>`now()` })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst();
    if (!row) throw new NotFound('No such connector');
    await this.publish(unit, id);
    return row;
  }

  /** Stores what the server reports about itself. */
  async keepServer(
    unit: UnitOfWork,
    id: string,
    server: StoredServer,
    instructions: string | null,
  ): Promise<void> {
    await sql`
      update connector set server = ${JSON.stringify(server)}::jsonb, instructions = ${instructions}, fault = null,
        checked_at = now()
      where id = ${id}`.execute(unit.tables());
    await this.publish(unit, id);
  }

  /** Stores why the server could not be used; null clears it. */
  async keepFault(id: string, fault: string | null): Promise<void> {
    await sql`update connector set fault = ${fault} where id = ${id} and fault is distinct from ${fault}`.execute(
      this.database.tables(),
    );
  }

  async delete(unit: UnitOfWork, id: string): Promise<void> {
    await unit.tables().deleteFrom('connector').where('id', '=', id).execute();
    await this.publish(unit, id);
  }

  async personal(unit: UnitOfWork, organizationId: string, userId: string): Promise<string[]> {
    const query = unit.tables().selectFrom('connector').select('id').where('user_id', '=', userId);
    return (await query.where('organization_id', '=', organizationId).execute()).map(({ id }) => id);
  }

  /** Tells the caches of all processes. */
  publish(unit: UnitOfWork, id: string): Promise<void> {
    return this.topics.publishWithCommit(unit, connectorTopic(id));
  }
}

/**
 * Whether the caller sees the connector `c`: every member but guests sees the organization's, a person their own. A
 * credential limited to some workspaces sees those granted to these.
 */
function isSeenBy({ id, credential: { workspace_ids } }: Actor): RawBuilder<boolean> {
  const isReached = workspace_ids
    ? sql`exists (select from connector_grant g where g.connector_id = c.id and ${isAmong('g.workspace_id', workspace_ids)})`
    : sql`true`;
  return sql`((c.user_id is null and o.role <> 'guest') or c.user_id = ${id}) and ${isReached}`;
}
