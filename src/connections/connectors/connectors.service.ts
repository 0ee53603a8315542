import { Injectable } from '@nestjs/common';
import { GuardedFetch } from '#libs/guarded-fetch/index.js';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database } from '../../platform/database/index.js';
import { ById, DeletedView, type Page, readPage } from '../../platform/dto/index.js';
import { Invalid } from '../../platform/errors/index.js';
import { requireReachable } from '../stored-credentials/index.js';
import { ClientRegistration } from './authorization/client-registration.js';
import { ConnectorRemoval } from './connector-removal.js';
import { ConnectorViews } from './connector-views.js';
import { ConnectorPage, ConnectorView, ListConnectors, UpdateConnector } from './connectors.dto.js';
import { ConnectorsStore } from './records/connectors.store.js';

/** Remote MCP servers that people and organizations bring. */
@Injectable()
export class ConnectorsService {
  constructor(
    private readonly database: Database,
    private readonly connectors: ConnectorsStore,
    private readonly views: ConnectorViews,
    private readonly clients: ClientRegistration,
    private readonly removal: ConnectorRemoval,
    private readonly outgoing: GuardedFetch,
    private readonly audit: Audit,
  ) {}

  @Action('connector_list', 'GET /api/connectors', {
    summary: "List connectors: the caller's own, and those of their organizations",
    permission: 'connection.read',
    input: ListConnectors,
    output: ConnectorPage,
  })
  async list(actor: Actor, input: ListConnectors): Promise<Page<ConnectorView>> {
    requireScope(actor, 'connection.read');
    await this.connectors.requireFilter(actor, input);
    const { organization_id: organizationId, workspace_id: workspaceId, q, ...asked } = input;
    const page = await readPage({ by: 'id' }, asked, slice =>
      this.connectors.list(actor, { organizationId, workspaceId, q, ...slice }),
    );
    return { ...page, items: await this.views.list(actor, page.items) };
  }

  @Action('connector_get', 'GET /api/connectors/:id', {
    on: { id: 'connector' },
    summary: 'Read a connector, and how it stands for the caller',
    permission: 'connection.read',
    input: ById({ id: 'The connector' }),
    output: ConnectorView,
  })
  async read(actor: Actor, { id }: ById): Promise<ConnectorView> {
    return this.views.one(actor, await this.connectors.require(actor, 'connection.read', id));
  }

  @Action('connector_update', 'PATCH /api/connectors/:id', {
    on: { id: 'connector' },
    summary: 'Rename a connector, turn it on or off, or say how it is authorized',
    description: 'Its address and its slug stay: another server is another connector.',
    consequence: 'Where it is turned on, agents may use its approved tools again.',
    permission: 'provider.configure',
    input: UpdateConnector,
    output: ConnectorView,
  })
  async update(actor: Actor, { id, ...changes }: UpdateConnector): Promise<ConnectorView> {
    const { name, enabled, client, authorization_server } = changes;
    if (authorization_server) requireReachable(this.outgoing, authorization_server, 'authorization_server');
    const changed = await this.database.transaction(async unit => {
      const connector = await this.connectors.require(actor, 'provider.configure', id, unit);
      const { organization_id, auth } = connector;
      if (auth !== 'oauth' && (client || authorization_server))
        throw new Invalid(`${client ? 'client' : 'authorization_server'} is for connectors with auth oauth`);
      if (client !== undefined) await this.clients.removeTyped(unit, connector);
      const row = await this.connectors.change(unit, id, {
        ...(name !== undefined && { name: name.trim() }),
        ...(enabled !== undefined && { is_disabled: !enabled }),
        ...(client !== undefined && (await this.clients.keepTyped(unit, organization_id, client))),
        ...(authorization_server !== undefined && { authorization_server }),
      });
      const details = {
        name,
        enabled,
        authorization_server,
        ...(client !== undefined && { client: client?.id ?? null }),
      };
      await this.audit.record(
        unit,
        actor,
        'connector.update',
        { type: 'connector', id, organization_id },
        details,
      );
      return row;
    });
    return this.views.one(actor, changed);
  }

  @Action('connector_delete', 'DELETE /api/connectors/:id', {
    on: { id: 'connector' },
    summary: 'Delete a connector, with its credentials and with what was approved of it',
    consequence: 'Agents have its tools no more, and its credentials are gone.',
    permission: 'connection.delete',
    input: ById({ id: 'The connector' }),
    output: DeletedView,
  })
  async delete(actor: Actor, { id }: ById): Promise<DeletedView> {
    await this.database.deletion(async unit => {
      await this.connectors.require(actor, 'connection.delete', id, unit);
      const { organization_id, name } = await this.connectors.require(actor, 'provider.configure', id, unit);
      await this.removal.remove(unit, id);
      await this.audit.record(
        unit,
        actor,
        'connector.delete',
        { type: 'connector', id, organization_id },
        { name },
      );
    });
    return DeletedView.of(id);
  }
}
