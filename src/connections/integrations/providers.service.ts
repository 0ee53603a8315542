import { Injectable } from '@nestjs/common';
import { OrganizationsStore } from '../../identity/organizations/index.js';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { Conflict, Invalid, NotFound } from '../../platform/errors/index.js';
import { OAuthFlows } from '../stored-credentials/index.js';
import {
  CreateProvider,
  ListProviders,
  OwnProvider,
  ProviderListView,
  ProviderOf,
  ProviderView,
  SetClient,
  UpdateProvider,
} from './integrations.dto.js';
import { INTEGRATION } from './oauth/connection-states.js';
import { type ClientSource, ProviderCatalog } from './oauth/provider-catalog.js';
import type { ProviderDefinition } from './providers/definition.js';
import { ConnectionsStore } from './records/connections.store.js';
import { type ProviderRow, ProvidersStore } from './records/providers.store.js';

const MAX_PROVIDERS = 100;
const NOT_ITS_OWN = { 404: 'The organization has no such provider of its own' };

@Injectable()
export class ProvidersService {
  constructor(
    private readonly database: Database,
    private readonly organizations: OrganizationsStore,
    private readonly catalog: ProviderCatalog,
    private readonly providers: ProvidersStore,
    private readonly connections: ConnectionsStore,
    private readonly flows: OAuthFlows,
    private readonly audit: Audit,
  ) {}

  @Action('integration_provider_list', 'GET /api/integrations/providers', {
    summary: 'List and search the services that can be connected',
    permission: 'connection.read',
    input: ListProviders,
    output: ProviderListView,
  })
  async list(actor: Actor, { q = '', organization_id }: ListProviders): Promise<ProviderListView> {
    await this.requireReader(actor, organization_id);
    const words = q.toLowerCase().split(/\s+/).filter(Boolean);
    const all = await this.catalog.list(organization_id);
    const found = all.filter(({ id, name }) =>
      words.every(word => `${id} ${name}`.toLowerCase().includes(word)),
    );
    const clients = await this.catalog.clientsOf(organization_id);
    return { items: found.map(definition => this.toView(definition, clients)) };
  }

  @Action('integration_provider_get', 'GET /api/integrations/providers/:provider', {
    summary: 'Read how a service is connected, and what to register there',
    permission: 'connection.read',
    input: ProviderOf,
    output: ProviderView,
    refuses: { 404: 'There is no such provider' },
  })
  async read(actor: Actor, { provider, organization_id }: ProviderOf): Promise<ProviderView> {
    await this.requireReader(actor, organization_id);
    const definition = await this.catalog.require(organization_id, provider);
    return this.toView(definition, await this.catalog.clientsOf(organization_id));
  }

  @Action('integration_provider_create', 'POST /api/integrations/providers', {
    summary: 'Add a service that an organization can connect',
    consequence: 'Its members can send credentials to the addresses that it names.',
    permission: 'provider.configure',
    input: CreateProvider,
    output: ProviderView,
    commitsAnswer: true,
    refuses: { 409: 'There is one of this id, or there are as many as there may be' },
  })
  async create(actor: Actor, { organization_id, definition: plain }: CreateProvider): Promise<ProviderView> {
    await this.organizations.require(actor, 'provider.configure', organization_id);
    const definition = this.catalog.check(plain);
    if (this.catalog.isBuiltIn(definition.id)) throw new Conflict(`${definition.id} comes with the service`);
    return this.database.transaction(async unit => {
      await this.organizations.requireLocked(unit, actor, 'provider.configure', organization_id);
      if ((await this.providers.list(organization_id, unit)).length >= MAX_PROVIDERS)
        throw new Conflict(`There are ${MAX_PROVIDERS} providers already; delete one first`);
      if (!(await this.providers.insert(unit, organization_id, definition, actor.id)))
        throw new Conflict(`There is a provider ${definition.id} already`);
      await this.record(unit, actor, 'provider.create', organization_id, definition);
      return unit.answers(this.toView(definition, new Map()));
    });
  }

  @Action('integration_provider_update', 'PATCH /api/integrations/providers/:provider', {
    summary: 'Change how a service of an organization’s own is connected',
    consequence: 'The credentials of its connections go to the addresses that it names then.',
    permission: 'provider.configure',
    input: UpdateProvider,
    output: ProviderView,
    refuses: { ...NOT_ITS_OWN, 409: 'There are connections, whose credentials would go to other addresses' },
  })
  async update(actor: Actor, input: UpdateProvider): Promise<ProviderView> {
    const { provider, organization_id } = input;
    await this.organizations.require(actor, 'provider.configure', organization_id);
    const definition = this.catalog.check(input.definition);
    if (definition.id !== provider) throw new Invalid(`definition.id must stay ${provider.slice(0, 40)}`);
    return this.database.transaction(async unit => {
      const row = await this.requireOwn(organization_id, provider, unit);
      // Members gave their credentials to the addresses that it named.
      if (addressesOf(row.definition) !== addressesOf(definition))
        if (await this.connections.isUsed(unit, organization_id, provider))
          throw new Conflict('There are connections to it, so its addresses stay; add another provider');
      await this.providers.update(unit, row.id, definition);
      await this.record(unit, actor, 'provider.update', organization_id, definition);
      return this.toView(definition, new Map());
    });
  }

  @Action('integration_provider_delete', 'DELETE /api/integrations/providers/:provider', {
    summary: 'Remove a service of an organization’s own that nothing is connected to',
    effect: 'destructive',
    consequence: 'It has to be described anew before it can be connected again.',
    permission: 'provider.configure',
    input: OwnProvider,
    output: ProviderView,
    refuses: { ...NOT_ITS_OWN, 409: 'There are connections to it' },
  })
  async delete(actor: Actor, { provider, organization_id }: OwnProvider): Promise<ProviderView> {
    await this.organizations.require(actor, 'provider.configure', organization_id);
    return this.database.transaction(async unit => {
      const { id, definition } = await this.requireOwn(organization_id, provider, unit);
      if (await this.connections.isUsed(unit, organization_id, provider))
        throw new Conflict('There are connections to it; delete them first');
      await this.providers.delete(unit, id);
      const place = { organization_id, provider, updated_by: actor.id };
      await this.catalog.setClient(unit, place, null);
      await this.record(unit, actor, 'provider.delete', organization_id, definition);
      return this.toView(definition, new Map());
    });
  }

  @Action('integration_client_set', 'PUT /api/integrations/providers/:provider/client', {
    summary: 'Set the client that an organization registered at a service; its secret is never shown again',
    consequence: 'Connections of the organization are authorized and renewed by this client.',
    permission: 'provider.configure',
    input: SetClient,
    output: ProviderView,
    refuses: { 404: 'There is no such provider', 409: 'It takes no client' },
  })
  async setClient(actor: Actor, input: SetClient): Promise<ProviderView> {
    const { provider, organization_id, client_id, client_secret } = input;
    await this.organizations.require(actor, 'provider.configure', organization_id);
    const definition = await this.catalog.require(organization_id, provider);
    if (definition.auth !== 'oauth2')
      throw new Conflict(`${definition.name} takes no client; connect it with what it asks for`);
    await this.database.transaction(async unit => {
      const place = { organization_id, provider, updated_by: actor.id };
      const client = client_id === null ? null : { id: client_id, secret: client_secret };
      await this.catalog.setClient(unit, place, client);
      const target = { type: 'provider', id: organization_id, organization_id };
      await this.audit.record(unit, actor, 'provider.set_client', target, { provider, client_id });
    });
    return this.toView(definition, await this.catalog.clientsOf(organization_id));
  }

  private async requireReader(actor: Actor, organizationId: string | undefined): Promise<void> {
    requireScope(actor, 'connection.read');
    if (organizationId) await this.organizations.require(actor, 'connection.read', organizationId);
  }

  private async requireOwn(organizationId: string, provider: string, unit: UnitOfWork): Promise<ProviderRow> {
    const row = await this.providers.find(organizationId, provider, unit);
    if (!row) throw new NotFound('The organization has no such provider of its own');
    return row;
  }

  private toView(definition: ProviderDefinition, clients: ReadonlyMap<string, ClientSource>): ProviderView {
    const { id, name, auth } = definition;
    const redirect_uri = auth === 'oauth2' ? this.flows.redirectUri(INTEGRATION) : null;
    const built_in = this.catalog.isBuiltIn(id);
    return { id, name, auth, built_in, client: clients.get(id) ?? null, redirect_uri, definition };
  }

  private record(
    unit: UnitOfWork,
    actor: Actor,
    action: string,
    organizationId: string,
    definition: ProviderDefinition,
  ) {
    const { id: provider, api, authorize_url, token_url } = definition;
    const details = { provider, hosts: api.hosts, authorize_url, token_url };
    const target = { type: 'provider', id: organizationId, organization_id: organizationId };
    return this.audit.record(unit, actor, action, target, details);
  }
}

const addressesOf = ({
  authorize_url,
  token_url,
  api,
  identity,
  revocation,
  git,
}: ProviderDefinition): string =>
  JSON.stringify([
    authorize_url,
    token_url,
    api.base_url,
    api.hosts,
    identity?.url,
    revocation?.url,
    git?.hosts,
  ]);
