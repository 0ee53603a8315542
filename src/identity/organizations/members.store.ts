import { LockMode } from '@mikro-orm/core';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, iso, type Row, type UnitOfWork } from '../../platform/database/index.js';
import { Conflict, NotFound } from '../../platform/errors/index.js';
import type { MemberView } from './organizations.dto.js';
import { OrganizationMember } from './organizations.entity.js';

type Queries = Pick<Database, 'tables'>;
type MemberRow = Row<'organization_member'> & Pick<Row<'user'>, 'name' | 'email'>;

/** Who is in an organization, and the rule that it always has an owner. */
@Injectable()
export class MembersStore {
  constructor(private readonly database: Database) {}

  list(organizationId: string, limit: number, after: string | undefined): Promise<MemberRow[]> {
    const query = this.members(this.database)
      .where('m.organization_id', '=', organizationId)
      .orderBy('m.user_id')
      .limit(limit);
    return (after ? query.where('m.user_id', '>', after) : query).execute();
  }

  async read(organizationId: string, userId: string, within: Queries = this.database): Promise<MemberRow> {
    const row = await this.members(within)
      .where('m.organization_id', '=', organizationId)
      .where('m.user_id', '=', userId)
      .executeTakeFirst();
    if (!row) throw new NotFound('No such member');
    return row;
  }

  /** The member, with the organization's whole membership held still until the transaction ends. */
  async hold(unit: UnitOfWork, organizationId: string, userId: string): Promise<OrganizationMember> {
    await sql`select 1 from organization where id = ${organizationId} for update`.execute(unit.tables());
    const member = await unit.entities.findOne(
      OrganizationMember,
      { organizationId, userId },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    if (!member) throw new NotFound('No such member');
    return member;
  }

  /** Refuses a change that would leave the organization without an owner; asked while the membership is held still. */
  async requireAnotherOwner(unit: UnitOfWork, member: OrganizationMember): Promise<void> {
    if (member.role !== 'owner') return;
    const owners = await unit.entities.count(OrganizationMember, {
      organizationId: member.organizationId,
      role: 'owner',
    });
    if (owners < 2) throw new Conflict('An organization needs an owner; make somebody else owner first');
  }

  /** Revokes the member's own keys that are bound to the organization. */
  async revokeKeys(unit: UnitOfWork, { organizationId, userId }: OrganizationMember): Promise<void> {
    await sql`
      update api_key set revoked_at = now()
      where user_id = ${userId} and organization_id = ${organizationId} and revoked_at is null`.execute(
      unit.tables(),
    );
  }

  private members(within: Queries) {
    return within
      .tables()
      .selectFrom('organization_member as m')
      .innerJoin('user as u', 'u.id', 'm.user_id')
      .selectAll('m')
      .select(['u.name', 'u.email']);
  }
}

export function memberView({ user_id, name, email, role, created_at }: MemberRow): MemberView {
  return { user_id, name, email, role, joined_at: iso(created_at) };
}
