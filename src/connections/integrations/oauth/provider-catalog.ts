import { Injectable, OnModuleInit } from '@nestjs/common';
import { didYouMean } from '#libs/did-you-mean/index.js';
import { GuardedFetch } from '#libs/guarded-fetch/index.js';
import { Config } from '../../../platform/config/index.js';
import type { Database, UnitOfWork } from '../../../platform/database/index.js';
import { NotFound } from '../../../platform/errors/index.js';
import { Vault } from '../../../platform/vault/index.js';
import { type OAuthClient, requireReachable } from '../../stored-credentials/index.js';
import { BUILT_IN } from '../providers/built-in.js';
import type { ProviderDefinition } from '../providers/definition.js';
import { checkProvider } from '../providers/provider.js';
import { ProvidersStore } from '../records/providers.store.js';

type Queries = Pick<Database, 'tables'>;

export type ClientSource = 'organization' | 'installation';
export const CLIENT_PLACE = 'integration_client';

/** The providers that there are for an organization, and who it is to them. */
@Injectable()
export class ProviderCatalog implements OnModuleInit {
  private builtIn: ReadonlyMap<string, ProviderDefinition> = new Map();

  constructor(
    private readonly store: ProvidersStore,
    private readonly config: Config,
    private readonly vault: Vault,
    private readonly outgoing: GuardedFetch,
  ) {}

  /** A mistake in one of them keeps the service from starting. */
  onModuleInit(): void {
    const definitions = BUILT_IN.map(plain => this.check(plain));
    this.builtIn = new Map(definitions.map(definition => [definition.id, definition]));
    if (this.builtIn.size < definitions.length) throw new Error('Two providers have one id');
  }

  check(plain: unknown): ProviderDefinition {
    return checkProvider(plain, (url, field) => this.requireReachable(url, field));
  }

  /** Throws Invalid for an address that nothing is ever sent to. */
  requireReachable(url: URL, field: string): void {
    requireReachable(this.outgoing, url, field);
  }

  isBuiltIn(id: string): boolean {
    return this.builtIn.has(id);
  }

  async list(organizationId: string | undefined): Promise<ProviderDefinition[]> {
    const own = organizationId ? await this.store.list(organizationId) : [];
    return [...this.builtIn.values(), ...own.map(({ definition }) => definition)];
  }

  /** Throws NotFound, with the id that was perhaps meant. */
  async require(
    organizationId: string | undefined,
    id: string,
    within?: Queries,
  ): Promise<ProviderDefinition> {
    const found = await this.find(organizationId, id, within);
    if (found) return found;
    const meant = didYouMean(id, [...this.builtIn.keys()]);
    throw new NotFound(`There is no provider ${id.slice(0, 40)}${meant ? `; did you mean ${meant}?` : ''}`);
  }

  async find(
    organizationId: string | undefined,
    id: string,
    within?: Queries,
  ): Promise<ProviderDefinition | undefined> {
    const builtIn = this.builtIn.get(id);
    if (builtIn || !organizationId) return builtIn;
    return (await this.store.find(organizationId, id, within))?.definition;
  }

  /** Whether there is a client, without opening its secret. */
  async clientsOf(organizationId: string | undefined): Promise<ReadonlyMap<string, ClientSource>> {
    const own = organizationId ? await this.store.clients(organizationId) : [];
    const installation = Object.keys(this.config.integrationClients ?? {});
    return new Map<string, ClientSource>([
      ...installation.filter(id => this.isBuiltIn(id)).map(id => [id, 'installation'] as const),
      ...own.map(({ provider }) => [provider, 'organization'] as const),
    ]);
  }

  /** OAuth client for a provider: the organization's, else the operator's. */
  async client(
    organizationId: string,
    { id, client_auth = 'post' }: ProviderDefinition,
    within?: Queries,
  ): Promise<OAuthClient | undefined> {
    const row = await this.store.client(organizationId, id, within);
    if (row) {
      const owner = { place: CLIENT_PLACE, id: row.secret_id ?? '', organization_id: organizationId };
      const opened = row.secret_id === null ? undefined : await this.vault.open(owner, within);
      return { id: row.client_id, secret: opened?.secret.reveal(), auth: opened ? client_auth : 'none' };
    }
    // A custom provider gets nothing of the operator's.
    const own = this.isBuiltIn(id) ? this.config.integrationClients?.[id] : undefined;
    return own && { id: own.id, secret: own.secret, auth: own.secret === undefined ? 'none' : client_auth };
  }

  /** Replaces the client; null removes it. */
  async setClient(
    unit: UnitOfWork,
    place: { organization_id: string; provider: string; updated_by: string },
    client: { id: string; secret?: string } | null,
  ): Promise<void> {
    const { organization_id, provider } = place;
    const before = await this.store.client(organization_id, provider, unit);
    if (client === null) await this.store.removeClient(unit, organization_id, provider);
    else {
      const owner = { place: CLIENT_PLACE, organization_id };
      const secret_id = client.secret === undefined ? null : await this.vault.put(unit, owner, client.secret);
      await this.store.setClient(unit, { ...place, client_id: client.id, secret_id });
    }
    if (before?.secret_id) await this.vault.remove(unit, [before.secret_id]);
  }
}
