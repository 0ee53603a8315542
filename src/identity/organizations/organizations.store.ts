import { LockMode } from '@mikro-orm/core';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import {
  type Actor,
  type OrganizationPermission,
  OrganizationRole,
  organizationsOf,
  requireOrganizationRole,
  requireReach,
  requireScope,
} from '../../platform/access/index.js';
import { Subject } from '../../platform/actions/index.js';
import { Database, iso, Row, UnitOfWork } from '../../platform/database/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { type OrganizationView } from './organizations.dto.js';
import { Organization } from './organizations.entity.js';

/**
 * A row of the view `membership`: a person or a service account in an organization, with the role they have right now (a
 * service account never more than its sponsor).
 */
export type MembershipView = {
  membership: { organization_id: string; principal_id: string; role: OrganizationRole };
};

type OrganizationRow = Row<'organization'> & { role: OrganizationRole };
type Queries = Pick<Database, 'tables'>;

const noSuchOrganization = () => new NotFound('No such organization');

/** Questions about organizations, each asked together with who asks. */
@Injectable()
export class OrganizationsStore {
  constructor(private readonly database: Database) {}

  /** The organization, if the caller may: 404 where they are no member, 403 where their role or key is too low. */
  @Subject('organization', 'organization', ({ id }: OrganizationRow) => ({
    organization_id: id,
    workspace_id: null,
  }))
  async require(
    actor: Actor,
    permission: OrganizationPermission,
    id: string,
    within: Queries = this.database,
  ): Promise<OrganizationRow> {
    const row = await this.requireMember(actor, id, within);
    requireScope(actor, permission);
    requireReach(actor, permission);
    requireOrganizationRole(row.role, permission);
    return row;
  }

  /** The organization, if the caller is in it, whatever their role; else 404. */
  async requireMember(actor: Actor, id: string, within: Queries = this.database): Promise<OrganizationRow> {
    const row = await this.visibleTo(actor, within).where('o.id', '=', id).executeTakeFirst();
    if (!row) throw noSuchOrganization();
    return row;
  }

  /** As {@link require}, for a change: nobody else changes or deletes it before the unit of work ends. */
  async requireEntity(
    unit: UnitOfWork,
    actor: Actor,
    permission: OrganizationPermission,
    id: string,
  ): Promise<Organization> {
    await this.require(actor, permission, id, unit);
    const organization = await unit.entities.findOne(
      Organization,
      { id },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    if (!organization) throw noSuchOrganization();
    return organization;
  }

  /** Keeps an organization from being deleted before the unit of work ends; 404 where it is gone already. */
  async keep(unit: UnitOfWork, id: string): Promise<void> {
    const query = unit.tables().selectFrom('organization').select('id').where('id', '=', id);
    if (!(await query.forKeyShare().executeTakeFirst())) throw noSuchOrganization();
  }

  /** Whether the caller is a person who owns the installation. */
  async isInstallationOwner({ type, id }: Actor): Promise<boolean> {
    if (type !== 'user') return false;
    const { rows } = await sql`select from "user" where id = ${id} and installation_owner`.execute(
      this.database.tables(),
    );
    return rows.length > 0;
  }

  async isMember(actor: Actor, id: string, within: Queries = this.database): Promise<boolean> {
    return (await this.visibleTo(actor, within).where('o.id', '=', id).executeTakeFirst()) !== undefined;
  }

  /** The role of anybody, person or service account, in an organization; undefined where they are not in it. */
  async roleOf(
    organizationId: string,
    principalId: string,
    within: Pick<Database, 'tables'> = this.database,
  ): Promise<OrganizationRole | undefined> {
    const row = await within
      .tables()
      .withTables<MembershipView>()
      .selectFrom('membership')
      .select('role')
      .where('organization_id', '=', organizationId)
      .where('principal_id', '=', principalId)
      .executeTakeFirst();
    return row?.role;
  }

  /** The caller's organizations, oldest first, from after `after`. */
  list(actor: Actor, limit: number, after: string | undefined): Promise<OrganizationRow[]> {
    const query = this.visibleTo(actor, this.database).orderBy('o.id').limit(limit);
    return (after ? query.where('o.id', '>', after) : query).execute();
  }

  /** The organization that a request means when it names none: the credential's, else the caller's oldest. */
  async defaultFor(actor: Actor): Promise<string> {
    const [first] = await this.list(actor, 1, undefined);
    if (!first) throw new NotFound('You are in no organization; create one, or accept an invitation');
    return first.id;
  }

  private visibleTo(actor: Actor, within: Queries) {
    return within
      .tables()
      .selectFrom('organization as o')
      .innerJoin(organizationsOf(actor).as('m'), 'm.organization_id', 'o.id')
      .selectAll('o')
      .select('m.role');
  }
}

export function organizationView(row: OrganizationRow): OrganizationView {
  const { id, name, role, created_at, updated_at } = row;
  return { id, name, role, created_at: iso(created_at), updated_at: iso(updated_at) };
}
