import { Inject, Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/actor.js';
import {
  OrganizationPermission,
  OrganizationRole,
  requireOrganizationRole,
  requireScope,
} from '../../platform/access/policy.js';
import { Database, UnitOfWork } from '../../platform/database/database.js';
import { iso, Row } from '../../platform/database/rows.js';
import { NotFound } from '../../platform/http/problem.js';
import { Organization } from './organization.entity.js';
import { OrganizationMember } from './organization-member.entity.js';
import type { OrganizationView } from './organizations.dto.js';

type OrganizationTables = { organization: Organization; organization_member: OrganizationMember };
type OrganizationRow = Row<Organization> & { role: OrganizationRole };

/** Questions about organizations, each asked together with who asks. */
@Injectable()
export class OrganizationsStore {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** The organization, if the caller may: 404 where they are no member, 403 where their role or key is too low. */
  async require(actor: Actor, permission: OrganizationPermission, id: string): Promise<OrganizationRow> {
    const row = await this.requireMember(actor, id);
    requireScope(actor, permission);
    requireOrganizationRole(row.role, permission);
    return row;
  }

  /** The organization, if the caller is in it, whatever their role; else 404. */
  async requireMember(actor: Actor, id: string): Promise<OrganizationRow> {
    const row = await this.visibleTo(actor).where('o.id', '=', id).executeTakeFirst();
    if (!row) throw new NotFound('No such organization');
    return row;
  }

  /** As {@link require}, loading the entity for a change. */
  async requireEntity(
    unit: UnitOfWork,
    actor: Actor,
    permission: OrganizationPermission,
    id: string,
  ): Promise<{ organization: Organization; role: OrganizationRole }> {
    const { role } = await this.require(actor, permission, id);
    return { organization: await unit.entities.findOneOrFail(Organization, { id }), role };
  }

  /** The caller's organizations, oldest first, from after `after`. */
  list(actor: Actor, limit: number, after: string | undefined): Promise<OrganizationRow[]> {
    const query = this.visibleTo(actor).orderBy('o.id').limit(limit);
    return (after ? query.where('o.id', '>', after) : query).execute();
  }

  /** The organization that a request means when it names none: the credential's, else the caller's oldest. */
  async defaultFor(actor: Actor): Promise<string> {
    const [first] = await this.list(actor, 1, undefined);
    if (!first) throw new NotFound('You are in no organization; create one, or accept an invitation');
    return first.id;
  }

  private visibleTo(actor: Actor) {
    const { organization_id } = actor.credential;
    const query = this.database
      .tables<OrganizationTables>()
      .selectFrom('organization as o')
      .innerJoin('organization_member as m', 'm.organization_id', 'o.id')
      .where('m.user_id', '=', actor.id)
      .selectAll('o')
      .select('m.role');
    return organization_id ? query.where('o.id', '=', organization_id) : query;
  }
}

export function organizationView(row: OrganizationRow): OrganizationView {
  const { id, name, role, created_at, updated_at } = row;
  return { id, name, role, created_at: iso(created_at), updated_at: iso(updated_at) };
}
