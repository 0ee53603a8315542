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
} from '../../../platform/access/index.js';
import { Subject } from '../../../platform/actions/index.js';
import { Database, newId, type Row, storable, type UnitOfWork } from '../../../platform/database/index.js';
import { type Page, type PageInput, readPage } from '../../../platform/dto/index.js';
import { Forbidden, NotFound } from '../../../platform/errors/index.js';
import { WorkspacesStore } from '../../../workspaces/core/index.js';

export const CONNECTION_STATES = ['pending', 'active', 'needs_reauth', 'error', 'revoked'] as const;
export type ConnectionState = (typeof CONNECTION_STATES)[number];
export interface Account {
  readonly id: string;
  readonly label: string;
}

declare global {
  interface ColumnTypes {
    'integration_connection.state': ConnectionState;
    'integration_connection.account': Account;
    'integration_connection.settings': Record<string, string>;
  }
}

export type ConnectionRow = Row<'integration_connection'>;
type Queries = Pick<Database, 'tables'>;
export type SeenConnection = ConnectionRow & { readonly caller_role: OrganizationRole };

interface ConnectionFilter extends PageInput {
  readonly organization_id?: string;
  readonly workspace_id?: string;
  readonly provider?: string;
  readonly state?: ConnectionState;
}

const UNKNOWN = 'No such connection';
const MANAGES = sql`m.role in ('owner', 'admin')`;

/** A credential limited to some workspaces sees the connections granted to these. */
const isReachedBy = ({ credential: { workspace_ids } }: Actor): RawBuilder<boolean> =>
  workspace_ids
    ? sql`exists (select from connection_grant g where g.connection_id = c.id and ${isAmong('g.workspace_id', workspace_ids)})`
    : sql`true`;

/** Connections, as far as the caller sees them: those of organizations, and personal ones of their own; admins see all. */
@Injectable()
export class ConnectionsStore {
  constructor(
    private readonly database: Database,
    private readonly organizations: OrganizationsStore,
    private readonly workspaces: WorkspacesStore,
  ) {}

  /** 404 for an organization or a workspace that the caller does not see. */
  async requireFilter(
    actor: Actor,
    { organization_id, workspace_id }: Pick<ConnectionFilter, 'organization_id' | 'workspace_id'>,
  ): Promise<void> {
    if (organization_id) await this.organizations.require(actor, 'connection.read', organization_id);
    if (workspace_id) await this.workspaces.require(actor, 'workspace.read', workspace_id);
  }

  /** An organization's takes an admin, a personal one takes a person who is a member. */
  async requirePlace(actor: Actor, organizationId: string, owner: 'organization' | 'user'): Promise<void> {
    await this.organizations.require(actor, 'connection.manage', organizationId);
    if (owner === 'organization')
      await this.organizations.require(actor, 'provider.configure', organizationId);
    else if (actor.type !== 'user')
      throw new Forbidden('A service account has no connections of its own; say owner: organization');
  }

  /**
   * 404 where the caller does not see it, 403 where they may not. An organization's is managed by its admins, a personal
   * one by its owner; admins may remove that, too.
   */
  @Subject('connection', 'organization', ({ organization_id }: ConnectionRow) => ({
    organization_id,
    workspace_id: null,
  }))
  async require(
    actor: Actor,
    permission: OrganizationPermission,
    id: string,
    within?: Queries,
  ): Promise<SeenConnection> {
    const [row] = await this.visible(actor, sql`c.id = ${id}`, sql``, within);
    if (!row) throw new NotFound(UNKNOWN);
    requireScope(actor, permission);
    requireOrganizationRole(row.caller_role, permission);
    if (permission === 'connection.read' || row.user_id === actor.id) return row;
    requireOrganizationRole(row.caller_role, 'provider.configure');
    if (row.user_id !== null && permission !== 'connection.delete')
      throw new Forbidden('It is the personal connection of another; its owner alone changes or uses it');
    return row;
  }

  /** Ordered by id, oldest first. */
  list(actor: Actor, filter: ConnectionFilter): Promise<Page<SeenConnection>> {
    const { organization_id, workspace_id, provider, state, ...page } = filter;
    return readPage({ by: 'id' }, page, ({ after, limit }) => {
      const conditions = [
        organization_id && sql`c.organization_id = ${organization_id}`,
        workspace_id &&
          sql`exists (select from connection_grant g where g.connection_id = c.id and g.workspace_id = ${workspace_id})`,
        provider && sql`c.provider = ${provider}`,
        state && sql`c.state = ${state}`,
        after && sql`c.id > ${after}`,
      ].filter(Boolean) as RawBuilder<unknown>[];
      const which = conditions.reduce((all, one) => sql`${all} and ${one}`, sql`m.role <> 'guest'`);
      return this.visible(actor, which, sql`order by c.id limit ${limit}`);
    });
  }

  find(id: string, within: Queries = this.database): Promise<ConnectionRow | undefined> {
    return within
      .tables()
      .selectFrom('integration_connection')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
  }

  byTokenSet(tokenSetId: string, within: Queries = this.database): Promise<ConnectionRow | undefined> {
    const query = within.tables().selectFrom('integration_connection').selectAll();
    return query.where('token_set_id', '=', tokenSetId).executeTakeFirst();
  }

  /** Locks the row; 404 if it is gone. */
  async lock(unit: UnitOfWork, id: string): Promise<ConnectionRow> {
    const query = unit.tables().selectFrom('integration_connection').selectAll().where('id', '=', id);
    const row = await query.forUpdate().executeTakeFirst();
    if (!row) throw new NotFound(UNKNOWN);
    return row;
  }

  insert(
    unit: UnitOfWork,
    fields: Pick<
      ConnectionRow,
      'organization_id' | 'user_id' | 'provider' | 'name' | 'scopes' | 'created_by'
    > & {
      settings: Record<string, string>;
    },
  ): Promise<ConnectionRow> {
    const { settings, ...others } = fields;
    const now = sql<string>`now()`;
    return unit
      .tables()
      .insertInto('integration_connection')
      .values({
        id: newId(),
        ...others,
        state: 'pending',
        settings: storable(settings),
        created_at: now,
        updated_at: now,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
  }

  change(
    unit: UnitOfWork,
    id: string,
    {
      account,
      ...changes
    }: Partial<Pick<ConnectionRow, 'name' | 'state' | 'reason' | 'scopes' | 'token_set_id' | 'account'>>,
  ): Promise<ConnectionRow> {
    return unit
      .tables()
      .updateTable('integration_connection')
      .set({
        ...changes,
        ...(account && { account: sql<Account>`${storable(account)}::jsonb` }),
        updated_at: sql<string>`now()`,
      })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
  }

  /** Stores other settings, and the account that they belong to. */
  async settle(
    unit: UnitOfWork,
    id: string,
    settings: Readonly<Record<string, string>>,
    account: Account | null,
  ): Promise<void> {
    await sql`
      update integration_connection set settings = ${storable(settings)}::jsonb,
        account = coalesce(${account && storable(account)}::jsonb, account), updated_at = now()
      where id = ${id}`.execute(unit.tables());
  }

  async delete(unit: UnitOfWork, id: string): Promise<void> {
    await unit.tables().deleteFrom('integration_connection').where('id', '=', id).execute();
  }

  /** Counts the connections of an organization, and locks out others that add one. */
  async count(unit: UnitOfWork, organizationId: string): Promise<number> {
    await sql`select pg_advisory_xact_lock(hashtext(${`connections ${organizationId}`}))`.execute(
      unit.tables(),
    );
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from integration_connection where organization_id = ${organizationId}`.execute(
      unit.tables(),
    );
    return rows[0]?.count ?? 0;
  }

  async isUsed(unit: UnitOfWork, organizationId: string, provider: string): Promise<boolean> {
    const query = unit
      .tables()
      .selectFrom('integration_connection')
      .select('id')
      .where('provider', '=', provider);
    return (await query.where('organization_id', '=', organizationId).executeTakeFirst()) !== undefined;
  }

  personal(unit: UnitOfWork, organizationId: string, userId: string): Promise<ConnectionRow[]> {
    const query = unit.tables().selectFrom('integration_connection').selectAll();
    return query.where('organization_id', '=', organizationId).where('user_id', '=', userId).execute();
  }

  private async visible(
    actor: Actor,
    which: RawBuilder<unknown>,
    order: RawBuilder<unknown>,
    within: Queries = this.database,
  ): Promise<SeenConnection[]> {
    const { rows } = await sql<SeenConnection>`
      select c.*, m.role as caller_role
      from integration_connection c join ${organizationsOf(actor)} m using (organization_id)
      where (c.user_id is null or c.user_id = ${actor.id} or ${MANAGES}) and ${isReachedBy(actor)} and ${which} ${order}`.execute(
      within.tables(),
    );
    return rows;
  }
}
