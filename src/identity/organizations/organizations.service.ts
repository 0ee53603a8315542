import { Injectable } from '@nestjs/common';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Config } from '../../platform/config/index.js';
import { Database, UnitOfWork } from '../../platform/database/index.js';
import { DeletedView, Page, PageInput } from '../../platform/dto/index.js';
import { Forbidden } from '../../platform/errors/index.js';
import { Events } from '../../platform/events/index.js';
import {
  CreateOrganization,
  OrganizationId,
  OrganizationPage,
  OrganizationView,
  UpdateOrganization,
} from './organizations.dto.js';
import { organizationDeleting, organizationFounded } from './organizations.events.js';
import { type OrganizationRow, OrganizationsStore, organizationView } from './organizations.store.js';

@Injectable()
export class OrganizationsService {
  constructor(
    private readonly database: Database,
    private readonly organizations: OrganizationsStore,
    private readonly events: Events,
    private readonly audit: Audit,
    private readonly config: Config,
  ) {}

  @Action('organization_list', 'GET /api/organizations', {
    summary: 'List the organizations of the caller',
    permission: 'organization.list',
    input: PageInput,
    output: OrganizationPage,
  })
  async list(actor: Actor, page: PageInput): Promise<Page<OrganizationView>> {
    requireScope(actor, 'organization.list');
    return this.organizations.list(actor, page);
  }

  @Action('organization_create', 'POST /api/organizations', {
    summary: 'Create an organization that the caller owns',
    permission: 'organization.create',
    input: CreateOrganization,
    output: OrganizationView,
    commitsAnswer: true,
  })
  async create(actor: Actor, { name }: CreateOrganization): Promise<OrganizationView> {
    requireScope(actor, 'organization.create');
    if (actor.credential.organization_id)
      throw new Forbidden('A key bound to one organization cannot create another');
    if (
      this.config.organizationCreation === 'owners' &&
      !(await this.organizations.isInstallationOwner(actor))
    )
      throw new Forbidden(
        'Only an owner of this installation may create organizations; ask for an invitation into one',
      );
    return this.database.transaction(async unit => {
      const organization = await this.found(unit, name, actor.id);
      const target = targetOf(organization.id);
      await this.audit.record(unit, actor, 'organization.create', target, { name: organization.name });
      return unit.answers(organizationView(organization));
    });
  }

  /** Adds an organization and its owner in the caller's transaction. */
  async found(unit: UnitOfWork, name: string, ownerId: string): Promise<OrganizationRow> {
    const organization = await this.organizations.insert(unit, name.trim(), ownerId);
    await this.events.publish(unit, organizationFounded, { organization_id: organization.id });
    return organization;
  }

  @Action('organization_get', 'GET /api/organizations/:orgId', {
    summary: 'Read an organization',
    permission: 'organization.read',
    input: OrganizationId,
    output: OrganizationView,
  })
  async read(actor: Actor, { organization_id }: OrganizationId): Promise<OrganizationView> {
    return organizationView(await this.organizations.require(actor, 'organization.read', organization_id));
  }

  @Action('organization_update', 'PATCH /api/organizations/:orgId', {
    summary: 'Rename an organization',
    permission: 'organization.update',
    input: UpdateOrganization,
    output: OrganizationView,
  })
  async update(actor: Actor, { organization_id, name }: UpdateOrganization): Promise<OrganizationView> {
    await this.database.transaction(async unit => {
      const found = await this.organizations.requireLocked(
        unit,
        actor,
        'organization.update',
        organization_id,
      );
      const details = { name: { from: found.name, to: name.trim() } };
      await this.organizations.rename(unit, organization_id, name.trim());
      await this.audit.record(unit, actor, 'organization.update', targetOf(organization_id), details);
    });
    return this.read(actor, { organization_id });
  }

  @Action('organization_delete', 'DELETE /api/organizations/:orgId', {
    summary: 'Delete an organization with its workspaces, files and chats',
    consequence: 'Its workspaces, files, chats and members are gone for good.',
    permission: 'organization.delete',
    input: OrganizationId,
    output: DeletedView,
  })
  async delete(actor: Actor, { organization_id }: OrganizationId): Promise<DeletedView> {
    await this.database.deletion(async unit => {
      const { name } = await this.organizations.requireLocked(
        unit,
        actor,
        'organization.delete',
        organization_id,
      );
      await this.events.publish(unit, organizationDeleting, { organization_id });
      await this.audit.record(unit, actor, 'organization.delete', targetOf(organization_id), { name });
      await this.organizations.delete(unit, organization_id);
    });
    return DeletedView.of(organization_id);
  }
}

const targetOf = (id: string) => ({ type: 'organization', id, organization_id: id });
