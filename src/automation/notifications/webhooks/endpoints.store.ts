import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { newStandardSecret } from '#libs/webhooks/index.js';
import {
  type Actor,
  ORGANIZATION_ROLES,
  type OrganizationPermission,
  type OrganizationRole,
  organizationRoleAllows,
  organizationsOf,
  requireOrganizationRole,
  requireScope,
} from '../../../platform/access/index.js';
import { Subject } from '../../../platform/actions/index.js';
import { Database, newId, type Row, type UnitOfWork } from '../../../platform/database/index.js';
import { type Page, type PageInput, pageById } from '../../../platform/dto/index.js';
import { NotFound } from '../../../platform/errors/index.js';
import { type Seal, Vault } from '../../../platform/vault/index.js';
import type { Notification } from '../types/notification.js';

/** How long the secret before signs, too, after a rotation. */
const OVERLAP_HOURS = 24;

export type EndpointRow = Row<'webhook_endpoint'>;
type Fields = Pick<EndpointRow, 'user_id' | 'organization_id' | 'url' | 'description' | 'types'>;
type Queries = Pick<Database, 'tables'>;

const MANAGERS = ORGANIZATION_ROLES.filter(role => organizationRoleAllows(role, 'webhook.manage'));

/** Webhooks: a person's own, and those of organizations, which those with the right there share. */
@Injectable()
export class EndpointsStore {
  private readonly secrets: Seal;

  constructor(
    private readonly database: Database,
    vault: Vault,
  ) {
    this.secrets = vault.seal('webhook secrets');
  }

  /** The webhook, if the caller may: 404 where it belongs to another, 403 where their role or key is too low. */
  @Subject('webhook', 'organization', ({ organization_id }: EndpointRow) => ({
    organization_id,
    workspace_id: null,
  }))
  require(
    actor: Actor,
    permission: OrganizationPermission,
    id: string,
    within?: Queries,
  ): Promise<EndpointRow> {
    return this.requireWhere(actor, permission, sql`e.id = ${id}`, 'No such webhook', within);
  }

  /** As {@link require}, by an attempt. */
  @Subject('webhook_attempt', 'organization', ({ organization_id }: EndpointRow) => ({
    organization_id,
    workspace_id: null,
  }))
  requireOfAttempt(actor: Actor, permission: OrganizationPermission, id: string): Promise<EndpointRow> {
    const which = sql`e.id = (select endpoint_id from webhook_attempt where id = ${id})`;
    return this.requireWhere(actor, permission, which, 'No such attempt');
  }

  /** The caller's own, and those of organizations where they may manage them. */
  list<Item>(
    actor: Actor,
    organizationId: string | undefined,
    page: PageInput,
    view: (row: EndpointRow) => Item,
  ): Promise<Page<Item>> {
    const managed = sql`select m.organization_id from ${organizationsOf(actor)} m where m.role = any(${MANAGERS})`;
    const query = this.database
      .tables()
      .selectFrom('webhook_endpoint as e')
      .selectAll('e')
      .where(sql<boolean>`(e.organization_id in (${managed}) or ${isOwn(actor)})`);
    const within = organizationId ? query.where('e.organization_id', '=', organizationId) : query;
    return pageById(within, page, view, { by: 'e.id' });
  }

  /** How many there are beside it, of one person or organization; no one adds another before the unit of work ends. */
  async countBeside(
    unit: UnitOfWork,
    { user_id, organization_id }: Pick<Fields, 'user_id' | 'organization_id'>,
  ): Promise<number> {
    const owner = organization_id ?? user_id;
    await sql`select pg_advisory_xact_lock(hashtext(${`webhooks ${owner}`}))`.execute(unit.tables());
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from webhook_endpoint where coalesce(organization_id, user_id) = ${owner}`.execute(
      unit.tables(),
    );
    return rows[0]?.count ?? 0;
  }

  /** Adds one. It was made by the caller, or by the person who answers for the service account that calls. */
  async insert(
    unit: UnitOfWork,
    { id: actorId }: Actor,
    fields: Fields,
  ): Promise<{ row: EndpointRow; secret: string }> {
    const [id, secret] = [newId(), newStandardSecret()];
    const sponsor = sql`select sponsor_id from service_account where id = ${actorId}`;
    const row = await unit
      .tables()
      .insertInto('webhook_endpoint')
      .values({
        ...fields,
        id,
        created_by: sql<string>`coalesce((${sponsor}), ${actorId})`,
        state: 'enabled',
        secret: this.secrets.close(secret, id),
        created_at: sql<string>`now()`,
        updated_at: sql<string>`now()`,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    return { row, secret };
  }

  /** Another secret; the one before signs, too, for a day. */
  async rotate(unit: UnitOfWork, id: string): Promise<{ row: EndpointRow; secret: string }> {
    const secret = newStandardSecret();
    const { rows } = await sql<EndpointRow>`
      update webhook_endpoint set previous_secret = secret, secret = ${this.secrets.close(secret, id)},
        previous_until = now() + make_interval(hours => ${OVERLAP_HOURS}), updated_at = now()
      where id = ${id} returning *`.execute(unit.tables());
    return { row: found(rows[0]), secret };
  }

  /** 404 where it was deleted meanwhile. */
  async change(unit: UnitOfWork, id: string, changes: Partial<EndpointRow>): Promise<EndpointRow> {
    const row = await unit
      .tables()
      .updateTable('webhook_endpoint')
      .set({ ...changes, updated_at: sql<string>`now()` })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst();
    return found(row);
  }

  async delete(unit: UnitOfWork, id: string): Promise<void> {
    await unit.tables().deleteFrom('webhook_endpoint').where('id', '=', id).execute();
  }

  /** The secrets that sign now, the newest first. */
  openSecrets({
    id,
    secret,
    previous_secret,
  }: Pick<EndpointRow, 'id' | 'secret' | 'previous_secret'>): string[] {
    return [secret, previous_secret].flatMap(sealed => {
      const opened = sealed && this.secrets.open(sealed, id);
      return opened ? [opened.toString()] : [];
    });
  }

  /**
   * The webhooks that receive notifications, by those: of each the person's own, and those of the organization, unless it is
   * about the person alone or about a workspace that only its creator sees.
   */
  async findTargets(
    unit: UnitOfWork,
    all: readonly { readonly notification: Notification; readonly isPersonal: boolean }[],
  ): Promise<ReadonlyMap<string, string[]>> {
    const asked = all.map(({ notification, isPersonal }) => {
      const { id, type, category, user_id, organization_id, workspace_id } = notification;
      return { id, type, category, user_id, organization_id, workspace_id, is_personal: isPersonal };
    });
    const { rows } = await sql<{ id: string; endpoints: string[] }>`
      select n.id, array_agg(e.id order by e.id) as endpoints
      from json_to_recordset(${JSON.stringify(asked)}::json) as n (id uuid, type text, category text, user_id uuid,
        organization_id uuid, workspace_id uuid, is_personal boolean)
      join webhook_endpoint e on e.user_id = n.user_id or (e.organization_id = n.organization_id and not n.is_personal
        and not exists (select from workspace w where w.id = n.workspace_id and w.visibility = 'private'))
      where e.state = 'enabled' and (cardinality(e.types) = 0 or e.types && array[n.type, n.category])
      group by n.id`.execute(unit.tables());
    return new Map(rows.map(({ id, endpoints }) => [id, endpoints]));
  }

  /** Where to write when it fails: to who made it while they may manage it, else to the owners of the organization. */
  async mailAddresses(
    unit: UnitOfWork,
    { user_id, organization_id, created_by }: EndpointRow,
  ): Promise<string[]> {
    const { rows } = await sql<{ email: string }>`
      with manager as (
        select m.user_id, m.role from organization_member m
        where m.organization_id = ${organization_id} and m.role = any(${MANAGERS})
      )
      select email from "user" where id = ${user_id}
        or id in (select user_id from manager where user_id = ${created_by})
        or id in (select user_id from manager where role = 'owner'
          and not exists (select from manager where user_id = ${created_by}))
      order by email`.execute(unit.tables());
    return rows.map(({ email }) => email);
  }

  private async requireWhere(
    actor: Actor,
    permission: OrganizationPermission,
    which: RawBuilder<unknown>,
    unknown: string,
    within: Queries = this.database,
  ): Promise<EndpointRow> {
    const { rows } = await sql<EndpointRow & { caller_role: OrganizationRole | null }>`
      select e.*, m.role as caller_role
      from webhook_endpoint e left join ${organizationsOf(actor)} m using (organization_id)
      where ${which} and (m.role is not null or ${isOwn(actor)})`.execute(within.tables());
    const [row] = rows;
    if (!row) throw new NotFound(unknown);
    requireScope(actor, permission);
    if (row.caller_role) requireOrganizationRole(row.caller_role, permission);
    return row;
  }
}

function found(row: EndpointRow | undefined): EndpointRow {
  if (!row) throw new NotFound('No such webhook');
  return row;
}

/** A key of one organization does not see what is sent for all of them. */
const isOwn = ({ id, credential }: Actor): RawBuilder<boolean> =>
  sql`(e.user_id = ${id} and ${credential.organization_id}::uuid is null)`;
