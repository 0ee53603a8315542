import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import {
  type Actor,
  type OrganizationPermission,
  OrganizationRole,
  organizationsOf,
  requireOrganizationRole,
  requireScope,
} from '../../platform/access/index.js';
import { Subject } from '../../platform/actions/index.js';
import { Database, newId, Row, UnitOfWork } from '../../platform/database/index.js';
import { type Page, type PageInput, pageById, toView } from '../../platform/dto/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { OrganizationView } from './organizations.dto.js';

/**
 * A row of the view `membership`: a person or a service account in an organization, with the role they have right now (a
 * service account never more than its sponsor).
 */
export type MembershipView = {
  membership: { organization_id: string; principal_id: string; role: OrganizationRole };
};

export type OrganizationRow = Row<'organization'> & { role: OrganizationRole };
type Queries = Pick<Database, 'tables'>;

const noSuchOrganization = () => new NotFound('No such organization');

/** Organizations, as far as the caller may see them. */
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
    requireOrganizationRole(row.role, permission);
    return row;
  }

  /** The organization, if the caller is in it, whatever their role; else 404. */
  async requireMember(actor: Actor, id: string, within: Queries = this.database): Promise<OrganizationRow> {
    const row = await this.visibleTo(actor, within).where('o.id', '=', id).executeTakeFirst();
    if (!row) throw noSuchOrganization();
    return row;
  }

  /** As {@link require}, and locks the row until the unit of work ends. */
  async requireLocked(
    unit: UnitOfWork,
    actor: Actor,
    permission: OrganizationPermission,
    id: string,
  ): Promise<OrganizationRow> {
    const { role } = await this.require(actor, permission, id, unit);
    const query = unit.tables().selectFrom('organization').selectAll().where('id', '=', id);
    const row = await query.forUpdate().executeTakeFirst();
    if (!row) throw noSuchOrganization();
    return { ...row, role };
  }

  /** Adds an organization and its owner. */
  async insert(unit: UnitOfWork, name: string, ownerId: string): Promise<OrganizationRow> {
    const now = new Date().toISOString();
    const row = { id: newId(), name, created_by: ownerId, created_at: now, updated_at: now };
    await unit.tables().insertInto('organization').values(row).execute();
    await this.addMember(unit, row.id, ownerId, 'owner');
    return { ...row, role: 'owner' };
  }

  async rename(unit: UnitOfWork, id: string, name: string): Promise<void> {
    const updated_at = new Date().toISOString();
    await unit.tables().updateTable('organization').set({ name, updated_at }).where('id', '=', id).execute();
  }

  async delete(unit: UnitOfWork, id: string): Promise<void> {
    await unit.tables().deleteFrom('organization').where('id', '=', id).execute();
  }

  async addMember(
    unit: UnitOfWork,
    organization_id: string,
    user_id: string,
    role: OrganizationRole,
  ): Promise<void> {
    const row = { organization_id, user_id, role, created_at: new Date().toISOString() };
    await unit.tables().insertInto('organization_member').values(row).execute();
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

  /** The caller's organizations, oldest first. */
  list(actor: Actor, input: PageInput): Promise<Page<OrganizationView>> {
    return pageById(this.visibleTo(actor, this.database), input, organizationView, { by: 'o.id' });
  }

  /** The organization that a request means when it names none: the credential's, else the caller's oldest. */
  async defaultFor(actor: Actor): Promise<string> {
    const [first] = (await this.list(actor, { limit: 1 })).items;
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
  return toView(OrganizationView, row);
}
