import { Injectable } from '@nestjs/common';
import { type Actor, requireNotAbove } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { ById, DeletedView, type Page } from '../../platform/dto/index.js';
import { Forbidden } from '../../platform/errors/index.js';
import { Events } from '../../platform/events/index.js';
import { memberRemoved, OrganizationsStore } from '../organizations/index.js';
import {
  CreateServiceAccount,
  ListServiceAccounts,
  ServiceAccountPage,
  ServiceAccountView,
  UpdateServiceAccount,
} from './service-accounts.dto.js';
import { ServiceAccountsStore, serviceAccountView } from './service-accounts.store.js';

/** Service accounts of an organization. A caller cannot create or change one with a role above their own. */
@Injectable()
export class ServiceAccountsService {
  constructor(
    private readonly database: Database,
    private readonly accounts: ServiceAccountsStore,
    private readonly organizations: OrganizationsStore,
    private readonly events: Events,
    private readonly audit: Audit,
  ) {}

  @Action('service_account_list', 'GET /api/service-accounts', {
    summary: 'List the service accounts of an organization',
    permission: 'service_account.read',
    input: ListServiceAccounts,
    output: ServiceAccountPage,
  })
  async list(actor: Actor, input: ListServiceAccounts): Promise<Page<ServiceAccountView>> {
    const { organization_id = await this.organizations.defaultFor(actor), ...page } = input;
    await this.organizations.require(actor, 'service_account.read', organization_id);
    return this.accounts.list(organization_id, page);
  }

  @Action('service_account_create', 'POST /api/service-accounts', {
    summary: 'Create a service account, with a role not above that of the caller',
    consequence: 'There is a new account for programs, with this role.',
    permission: 'service_account.manage',
    input: CreateServiceAccount,
    output: ServiceAccountView,
    commitsAnswer: true,
  })
  async create(actor: Actor, input: CreateServiceAccount): Promise<ServiceAccountView> {
    const { organization_id, name, role = 'member' } = input;
    const own = await this.organizations.require(actor, 'service_account.manage', organization_id);
    requireNotAbove(own.role, role);
    const sponsor_id = await this.sponsorFor(actor);
    const account = { organization_id, name: name.trim(), role, sponsor_id, created_by: actor.id };
    return this.database.transaction(async unit => {
      const id = await this.accounts.insert(unit, account);
      const target = targetOf({ id, organization_id });
      await this.audit.record(unit, actor, 'service_account.create', target, { name, role });
      return this.answer(unit, actor, id);
    });
  }

  @Action('service_account_get', 'GET /api/service-accounts/:id', {
    on: { id: 'service_account' },
    summary: 'Read a service account',
    permission: 'service_account.read',
    input: ById({ id: 'The service account' }),
    output: ServiceAccountView,
  })
  async read(actor: Actor, { id }: ById): Promise<ServiceAccountView> {
    const { account } = await this.accounts.require(actor, 'service_account.read', id);
    return serviceAccountView(account);
  }

  @Action('service_account_update', 'PATCH /api/service-accounts/:id', {
    on: { id: 'service_account' },
    summary: 'Rename a service account or change its role',
    consequence: 'Programs with keys of this account may then do whatever this role may.',
    permission: 'service_account.manage',
    input: UpdateServiceAccount,
    output: ServiceAccountView,
  })
  async update(actor: Actor, { id, name, role }: UpdateServiceAccount): Promise<ServiceAccountView> {
    const { account, ownRole } = await this.requireManageable(actor, id);
    if (role) requireNotAbove(ownRole, role);
    await this.database.transaction(async unit => {
      await this.accounts.update(unit, id, { name: name?.trim(), role });
      await this.audit.record(unit, actor, 'service_account.update', targetOf(account), { name, role });
    });
    return this.read(actor, { id });
  }

  @Action('service_account_adopt', 'POST /api/service-accounts/:id/adopt', {
    on: { id: 'service_account' },
    summary: 'Become the person who answers for a service account; it then has at most your role',
    consequence: 'The service account then acts in your name, with at most your role.',
    permission: 'service_account.manage',
    input: ById({ id: 'The service account' }),
    output: ServiceAccountView,
    commitsAnswer: true,
  })
  async adopt(actor: Actor, { id }: ById): Promise<ServiceAccountView> {
    const { account } = await this.requireManageable(actor, id);
    if (actor.type !== 'user') throw new Forbidden('Only a person can answer for a service account');
    return this.database.transaction(async unit => {
      await this.accounts.update(unit, id, { sponsor_id: actor.id });
      await this.audit.record(unit, actor, 'service_account.adopt', targetOf(account));
      return this.answer(unit, actor, id);
    });
  }

  @Action('service_account_delete', 'DELETE /api/service-accounts/:id', {
    on: { id: 'service_account' },
    summary: 'Delete a service account; its keys end at once',
    effect: 'destructive',
    consequence: 'The account and its keys are gone for good; programs that use them stop working.',
    permission: 'service_account.manage',
    input: ById({ id: 'The service account' }),
    output: DeletedView,
  })
  async delete(actor: Actor, { id }: ById): Promise<DeletedView> {
    const { account } = await this.requireManageable(actor, id);
    await this.database.transaction(async unit => {
      await this.events.publish(unit, memberRemoved, {
        organization_id: account.organization_id,
        principal_id: id,
      });
      await this.accounts.delete(unit, id);
      await this.audit.record(unit, actor, 'service_account.delete', targetOf(account));
    });
    return DeletedView.of(id);
  }

  /** The account, if the caller may manage it: one whose given role is above theirs they may not. */
  async requireManageable(actor: Actor, id: string) {
    const found = await this.accounts.require(actor, 'service_account.manage', id);
    requireNotAbove(found.ownRole, found.account.role);
    return found;
  }

  private async answer(unit: UnitOfWork, actor: Actor, id: string): Promise<ServiceAccountView> {
    const { account } = await this.accounts.require(actor, 'service_account.read', id, unit);
    return unit.answers(serviceAccountView(account));
  }

  /** A service account that makes another one passes on the person who answers for it. */
  private async sponsorFor(actor: Actor): Promise<string> {
    if (actor.type === 'user') return actor.id;
    const { account } = await this.accounts.require(actor, 'service_account.read', actor.id);
    return account.sponsor_id;
  }
}

/** The account as the target of an entry of the audit log. */
const targetOf = ({ id, organization_id }: Record<'id' | 'organization_id', string>) => ({
  type: 'service_account',
  id,
  organization_id,
});
