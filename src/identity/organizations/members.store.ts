import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { OrganizationRole } from '../../platform/access/index.js';
import { Database, iso, type Row, type UnitOfWork } from '../../platform/database/index.js';
import { type Page, type PageInput, pageById, toView } from '../../platform/dto/index.js';
import { Conflict, NotFound } from '../../platform/errors/index.js';
import { MemberView } from './organizations.dto.js';

type Queries = Pick<Database, 'tables'>;
export type Membership = Row<'organization_member'>;
type MemberRow = Membership & Pick<Row<'user'>, 'name' | 'email'>;

/** Who is in an organization, and the rule that it always has an owner. */
@Injectable()
export class MembersStore {
  constructor(private readonly database: Database) {}

  list(organizationId: string, input: PageInput): Promise<Page<MemberView>> {
    const query = this.members(this.database).where('m.organization_id', '=', organizationId);
    return pageById(query, input, memberView, { by: 'm.user_id' });
  }

  async read(organizationId: string, userId: string, within: Queries = this.database): Promise<MemberRow> {
    const row = await this.members(within)
      .where('m.organization_id', '=', organizationId)
      .where('m.user_id', '=', userId)
      .executeTakeFirst();
    if (!row) throw new NotFound('No such member');
    return row;
  }

  /** Locks the organization's whole membership until the transaction ends, and answers the member. */
  async lock(unit: UnitOfWork, organizationId: string, userId: string): Promise<Membership> {
    await sql`select 1 from organization where id = ${organizationId} for update`.execute(unit.tables());
    const query = unit
      .tables()
      .selectFrom('organization_member')
      .selectAll()
      .where('organization_id', '=', organizationId);
    const member = await query.where('user_id', '=', userId).forUpdate().executeTakeFirst();
    if (!member) throw new NotFound('No such member');
    return member;
  }

  /** Refuses a change that would leave the organization without an owner; asked while its membership is locked. */
  async requireAnotherOwner(unit: UnitOfWork, member: Membership): Promise<void> {
    if (member.role !== 'owner') return;
    const { rows } = await sql`
      select from organization_member where organization_id = ${member.organization_id} and role = 'owner' limit 2`.execute(
      unit.tables(),
    );
    if (rows.length < 2) throw new Conflict('An organization needs an owner; make somebody else owner first');
  }

  async setRole(
    unit: UnitOfWork,
    { organization_id, user_id }: Membership,
    role: OrganizationRole,
  ): Promise<void> {
    await sql`
      update organization_member set role = ${role}
      where organization_id = ${organization_id} and user_id = ${user_id}`.execute(unit.tables());
  }

  /** Ends a membership, and revokes the member's own keys that are bound to the organization. */
  async remove(unit: UnitOfWork, { organization_id, user_id }: Membership): Promise<void> {
    await sql`
      update api_key set revoked_at = now()
      where user_id = ${user_id} and organization_id = ${organization_id} and revoked_at is null`.execute(
      unit.tables(),
    );
    await sql`
      delete from organization_member where organization_id = ${organization_id} and user_id = ${user_id}`.execute(
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

export function memberView(row: MemberRow): MemberView {
  const { created_at } = row;
  return toView(MemberView, row, { joined_at: iso(created_at) });
}
