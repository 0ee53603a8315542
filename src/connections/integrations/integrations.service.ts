import { Injectable } from '@nestjs/common';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { ById, DeletedView, type Page } from '../../platform/dto/index.js';
import { Conflict } from '../../platform/errors/index.js';
import { ConnectionViews } from './connection-views.js';
import {
  CreatedIntegrationView,
  CreateIntegration,
  IntegrationPage,
  IntegrationView,
  ListIntegrations,
  UpdateIntegration,
} from './integrations.dto.js';
import { ConnectionRemoval } from './oauth/connection-removal.js';
import { ConnectionStarts } from './oauth/connection-starts.js';
import { type ConnectionRow, ConnectionsStore } from './records/connections.store.js';
import { ConnectionGrants } from './requests/connection-grants.js';

const MAX_CONNECTIONS = 500;

@Injectable()
export class IntegrationsService {
  constructor(
    private readonly database: Database,
    private readonly connections: ConnectionsStore,
    private readonly starts: ConnectionStarts,
    private readonly removal: ConnectionRemoval,
    private readonly grants: ConnectionGrants,
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
    await this.connections.requirePlace(actor, organization_id, owner);
    const begin = await this.starts.prepare(organization_id, provider, input);
    return this.database.transaction(async unit => {
      if ((await this.connections.count(unit, organization_id)) >= MAX_CONNECTIONS)
        throw new Conflict(`There are ${MAX_CONNECTIONS} connections already; delete one first`);
      const row = await this.connections.insert(unit, {
        organization_id,
        provider,
        name: input.name?.trim() || begin.name,
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
    requireScope(actor, 'connection.read');
    await this.connections.requireFilter(actor, input);
    const page = await this.connections.list(actor, input);
    return { ...page, items: await this.views.list(actor, page.items) };
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
    const replace = fields && (await this.starts.retype(row, fields));
    return this.database.transaction(async unit => {
      if (replace) {
        await replace(unit);
        await this.grants.recheck(unit, await this.connections.lock(unit, id));
      }
      if (name !== undefined) await this.connections.change(unit, id, { name: name.trim() });
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
