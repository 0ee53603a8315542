import { Injectable } from '@nestjs/common';
import { OrganizationsStore } from '../../identity/organizations/index.js';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { beforeSideEffect, Database, type UnitOfWork } from '../../platform/database/index.js';
import { ById, DeletedView, type Page } from '../../platform/dto/index.js';
import { Conflict, Forbidden, Invalid } from '../../platform/errors/index.js';
import { Events } from '../../platform/events/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { ConnectionRemoval } from './oauth/connection-removal.js';
import { ConnectionStarts } from './oauth/connection-starts.js';
import { ProviderCatalog } from './oauth/provider-catalog.js';
import { connectionGranted } from './records/connection-events.js';
import { type ConnectionRow, ConnectionsStore } from './records/connections.store.js';
import { GrantsStore } from './records/grants.store.js';
import { GrantConflicts } from './requests/grant-conflicts.js';
import { ConnectionViews } from './views/connection-views.js';
import {
  AuthorizeIntegration,
  CreatedIntegrationView,
  CreateIntegration,
  IntegrationPage,
  IntegrationTestView,
  IntegrationView,
  ListIntegrations,
  StartedAuthorizationView,
  UpdateIntegration,
} from './views/integrations.dto.js';

const MAX_CONNECTIONS = 500;

/** Connections to services of others. */
@Injectable()
export class IntegrationsService {
  constructor(
    private readonly database: Database,
    private readonly organizations: OrganizationsStore,
    private readonly workspaces: WorkspacesStore,
    private readonly connections: ConnectionsStore,
    private readonly catalog: ProviderCatalog,
    private readonly starts: ConnectionStarts,
    private readonly removal: ConnectionRemoval,
    private readonly grants: GrantsStore,
    private readonly conflicts: GrantConflicts,
    private readonly events: Events,
    private readonly views: ConnectionViews,
    private readonly audit: Audit,
  ) {}

  @Action('integration_create', 'POST /api/integrations', {
    summary:
      'Connect a service: for a person to authorize at the address in the answer, or at once with a key',
    consequence:
      'Where it is granted, agents and people act at that service as the account that is connected.',
    permission: 'connection.manage',
    input: CreateIntegration,
    output: CreatedIntegrationView,
    commitsAnswer: true,
    refuses: {
      404: 'No such organization or provider',
      409: 'There is no client for it, the service refused what was typed, or there are as many as there may be',
      503: 'The service cannot be reached',
    },
  })
  async create(actor: Actor, input: CreateIntegration): Promise<CreatedIntegrationView> {
    const { organization_id, provider, owner = actor.type === 'user' ? 'user' : 'organization' } = input;
    await this.organizations.require(actor, 'connection.manage', organization_id);
    if (owner === 'organization')
      await this.organizations.require(actor, 'provider.configure', organization_id);
    else if (actor.type !== 'user')
      throw new Forbidden('A service account has no connections of its own; say owner: organization');
    const definition = await this.catalog.require(organization_id, provider);
    const begin = await this.starts.prepare(organization_id, definition, input);
    return this.database.transaction(async unit => {
      if ((await this.connections.count(unit, organization_id)) >= MAX_CONNECTIONS)
        throw new Conflict(`There are ${MAX_CONNECTIONS} connections already; delete one first`);
      const row = await this.connections.insert(unit, {
        organization_id,
        provider,
        name: input.name?.trim() || definition.name,
        created_by: actor.id,
        user_id: owner === 'user' ? actor.id : null,
        scopes: [],
        settings: { ...begin.settings },
      });
      await this.record(unit, actor, 'connection.create', row, { owner });
      const authorization = await begin.start(unit, actor, row);
      const after = await this.connections.lock(unit, row.id);
      return unit.answers({ connection: await this.views.one(actor, after, unit), authorization });
    });
  }

  @Action('integration_list', 'GET /api/integrations', {
    summary: 'List connections: yours, and those of organizations',
    permission: 'connection.read',
    input: ListIntegrations,
    output: IntegrationPage,
  })
  async list(actor: Actor, input: ListIntegrations): Promise<Page<IntegrationView>> {
    const { organization_id, workspace_id } = input;
    requireScope(actor, 'connection.read');
    if (organization_id) await this.organizations.require(actor, 'connection.read', organization_id);
    if (workspace_id) await this.workspaces.require(actor, 'workspace.read', workspace_id);
    const page = await this.connections.list(actor, input);
    return { ...page, items: await this.views.of(actor, page.items) };
  }

  @Action('integration_get', 'GET /api/integrations/:id', {
    on: { id: 'connection' },
    summary: 'Read a connection: its account, state, scopes, and where it may be used',
    permission: 'connection.read',
    input: ById({ id: 'The connection' }),
    output: IntegrationView,
  })
  async read(actor: Actor, { id }: ById): Promise<IntegrationView> {
    return this.views.one(actor, await this.connections.require(actor, 'connection.read', id));
  }

  @Action('integration_update', 'PATCH /api/integrations/:id', {
    on: { id: 'connection' },
    summary: 'Rename a connection, or give it another key; its id and its grants stay',
    consequence: 'Where it is granted, agents and people act with what is typed.',
    permission: 'connection.manage',
    input: UpdateIntegration,
    output: IntegrationView,
    refuses: {
      409: 'The service refused what was typed, or takes nothing typed, or another connection has the same header and host',
    },
  })
  async update(actor: Actor, { id, name, fields }: UpdateIntegration): Promise<IntegrationView> {
    const row = await this.connections.require(actor, 'connection.manage', id);
    const definition = await this.catalog.require(row.organization_id, row.provider);
    const replace = fields && (await this.starts.retype(row, definition, fields));
    return this.database.transaction(async unit => {
      if (replace) {
        await replace(unit);
        await this.settled(unit, id);
      }
      if (name !== undefined)
        await this.connections.change(unit, id, { name: name.trim() || definition.name });
      const after = await this.connections.lock(unit, id);
      await this.record(unit, actor, 'connection.update', after, { typed: fields !== undefined });
      return this.views.one(actor, after, unit);
    });
  }

  @Action('integration_delete', 'DELETE /api/integrations/:id', {
    on: { id: 'connection' },
    summary: 'Delete a connection, and take the access back at the service',
    consequence: 'Nothing can use it any more; another one has another id.',
    permission: 'connection.delete',
    input: ById({ id: 'The connection' }),
    output: DeletedView,
  })
  async delete(actor: Actor, { id }: ById): Promise<DeletedView> {
    const row = await this.connections.require(actor, 'connection.delete', id);
    await this.database.deletion(async unit => {
      await this.removal.remove(unit, row);
      await this.record(unit, actor, 'connection.delete', row, { account: row.account?.label });
    });
    return DeletedView.of(id);
  }

  @Action('integration_authorize', 'POST /api/integrations/:id/authorize', {
    on: { id: 'connection' },
    summary: 'Have a person authorize a connection again, also for other scopes; its id and its grants stay',
    consequence:
      'Where it is granted, agents and people act as the account that is authorized, with its scopes.',
    permission: 'connection.manage',
    input: AuthorizeIntegration,
    output: StartedAuthorizationView,
    commitsAnswer: true,
    refuses: { 409: 'It is connected with a key, or there is no client for it' },
  })
  async authorize(actor: Actor, input: AuthorizeIntegration): Promise<StartedAuthorizationView> {
    const row = await this.connections.require(actor, 'connection.manage', input.id);
    const definition = await this.catalog.require(row.organization_id, row.provider);
    if (definition.auth !== 'oauth2')
      throw new Conflict(`${definition.name} is connected with what was typed; change that by PATCH`);
    const scopes = input.scopes ?? (row.scopes.length > 0 ? row.scopes : undefined);
    const begin = await this.starts.prepare(row.organization_id, definition, { ...input, scopes });
    return this.database.transaction(async unit => {
      const authorization = await begin.start(unit, actor, row);
      if (!authorization) throw new Invalid('It takes no authorization');
      await this.record(unit, actor, 'connection.begin_authorization', row, { scopes });
      return unit.answers(authorization);
    });
  }

  @Action('integration_test', 'POST /api/integrations/:id/test', {
    on: { id: 'connection' },
    summary: 'Ask the service whether it takes a connection, and which account it is',
    effect: 'write',
    permission: 'connection.manage',
    input: ById({ id: 'The connection' }),
    output: IntegrationTestView,
    evidence: 'read the connection; asking again changes nothing there',
    refuses: { 409: 'It has to be authorized again', 503: 'The service cannot be reached' },
  })
  async test(actor: Actor, { id }: ById): Promise<IntegrationTestView> {
    const row = await this.connections.require(actor, 'connection.manage', id);
    beforeSideEffect();
    return this.starts.test(row);
  }

  /** What was typed may be for another host. */
  private async settled(unit: UnitOfWork, id: string): Promise<void> {
    const workspace_ids = await this.grants.workspacesOf(unit, id);
    await this.conflicts.requireNone(unit, await this.connections.lock(unit, id), workspace_ids);
    await this.events.publish(unit, connectionGranted, { workspace_ids });
  }

  private record(
    unit: UnitOfWork,
    actor: Actor,
    action: string,
    row: ConnectionRow,
    details: Record<string, unknown> = {},
  ) {
    const { id, organization_id, provider, name } = row;
    const target = { type: 'connection', id, organization_id };
    return this.audit.record(unit, actor, action, target, { provider, name, ...details });
  }
}
