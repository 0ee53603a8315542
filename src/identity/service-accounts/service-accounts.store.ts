import { Injectable } from '@nestjs/common';
import type { Actor, OrganizationPermission, OrganizationRole } from '../../platform/access/index.js';
import { Subject } from '../../platform/actions/index.js';
import { Database, iso, newId, type Row, type UnitOfWork } from '../../platform/database/index.js';
import { type Page, type PageInput, pageById } from '../../platform/dto/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { type MembershipView, OrganizationsStore } from '../organizations/index.js';
import type { ServiceAccountView } from './service-accounts.dto.js';

type Queries = Pick<Database, 'tables'>;
type ServiceAccountRow = Row<'service_account'> & { effective_role: OrganizationRole | null };

/** Service accounts, as far as the caller may see them. */
@Injectable()
export class ServiceAccountsStore {
  constructor(
    private readonly database: Database,
    private readonly organizations: OrganizationsStore,
  ) {}

  /** The account and the caller's own role in its organization: 404 where they are no member, 403 where they may not. */
  @Subject('service_account', 'organization', ({ account }: { account: ServiceAccountRow }) => ({
    organization_id: account.organization_id,
    workspace_id: null,
  }))
  async require(
    actor: Actor,
    permission: OrganizationPermission,
    id: string,
    within: Queries = this.database,
  ): Promise<{ account: ServiceAccountRow; ownRole: OrganizationRole }> {
    const account = await this.accounts(within).where('s.id', '=', id).executeTakeFirst();
    const noSuchAccount = new NotFound('No such service account');
    if (!account || !(await this.organizations.isMember(actor, account.organization_id, within)))
      throw noSuchAccount;
    const { role: ownRole } = await this.organizations.require(
      actor,
      permission,
      account.organization_id,
      within,
    );
    return { account, ownRole };
  }

  /** For what acts as it; callers check who may have that. */
  find(id: string): Promise<Pick<Row<'service_account'>, 'organization_id' | 'name'> | undefined> {
    return this.accounts(this.database).where('s.id', '=', id).executeTakeFirst();
  }

  list(organizationId: string, input: PageInput): Promise<Page<ServiceAccountView>> {
    const query = this.accounts(this.database).where('s.organization_id', '=', organizationId);
    return pageById(query, input, serviceAccountView, { by: 's.id' });
  }

  async insert(
    unit: UnitOfWork,
    fields: Pick<Row<'service_account'>, 'organization_id' | 'name' | 'role' | 'sponsor_id' | 'created_by'>,
  ): Promise<string> {
    const now = new Date().toISOString();
    const row = { id: newId(), ...fields, created_at: now, updated_at: now };
    await unit.tables().insertInto('service_account').values(row).execute();
    return row.id;
  }

  async update(
    unit: UnitOfWork,
    id: string,
    changes: Partial<Pick<Row<'service_account'>, 'name' | 'role' | 'sponsor_id'>>,
  ): Promise<void> {
    const updated_at = new Date().toISOString();
    await unit
      .tables()
      .updateTable('service_account')
      .set({ ...changes, updated_at })
      .where('id', '=', id)
      .execute();
  }

  async delete(unit: UnitOfWork, id: string): Promise<void> {
    await unit.tables().deleteFrom('service_account').where('id', '=', id).execute();
  }

  private accounts(within: Queries) {
    return within
      .tables()
      .withTables<MembershipView>()
      .selectFrom('service_account as s')
      .leftJoin('membership as m', join =>
        join.onRef('m.organization_id', '=', 's.organization_id').onRef('m.principal_id', '=', 's.id'),
      )
      .selectAll('s')
      .select('m.role as effective_role');
  }
}

export function serviceAccountView(row: ServiceAccountRow): ServiceAccountView {
  const { id, organization_id, name, role, effective_role, sponsor_id, created_by } = row;
  const status = effective_role === null ? 'suspended' : 'active';
  const times = { created_at: iso(row.created_at), updated_at: iso(row.updated_at) };
  return { id, organization_id, name, role, effective_role, status, sponsor_id, created_by, ...times };
}
