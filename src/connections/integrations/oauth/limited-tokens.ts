import { Injectable, OnModuleInit } from '@nestjs/common';
import { Database } from '../../../platform/database/index.js';
import { problemOf } from '../../../platform/errors/index.js';
import {
  ClientRejected,
  GrantRejected,
  type RefreshedTokens,
  type Refresher,
  type TokenSet,
  Tokens,
} from '../../stored-credentials/index.js';
import type { CredentialLimits } from '../providers/credential-limits.js';
import { type ConnectionRow, ConnectionsStore } from '../records/connections.store.js';
import { LimitedTokensStore } from '../records/limited-tokens.store.js';
import { ConnectionRemoval } from './connection-removal.js';
import { ProviderCalls } from './provider-calls.js';
import { ProviderCatalog } from './provider-catalog.js';

const KIND = 'installation';
const IDLE_DAYS = 7;

/**
 * Tokens of an installation of a GitHub App that GitHub limits to repositories and permissions. Each set of these has a token set of its
 * own, which is made when it is first used, and renewed while it is. The key of the app stays with the connection's.
 */
@Injectable()
export class LimitedTokens implements Refresher, OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly connections: ConnectionsStore,
    private readonly limited: LimitedTokensStore,
    private readonly removal: ConnectionRemoval,
    private readonly catalog: ProviderCatalog,
    private readonly calls: ProviderCalls,
    private readonly tokens: Tokens,
  ) {}

  onModuleInit(): void {
    this.tokens.register(KIND, this);
  }

  async tokenSetFor(connectionId: string, { repositories, permissions }: CredentialLimits): Promise<string> {
    const limits = JSON.stringify({ repositories, permissions });
    return (await this.limited.find(connectionId, limits)) ?? this.add(connectionId, limits);
  }

  async refresh(id: string, _current: TokenSet, signal: AbortSignal): Promise<RefreshedTokens> {
    const row = await this.limited.byTokenSet(id);
    const connection = row && (await this.connections.find(row.connection_id));
    if (!row || !connection?.token_set_id) throw new GrantRejected('The connection is gone');
    const definition = await this.catalog.find(connection.organization_id, connection.provider);
    const kept = await this.tokens.opened(connection.token_set_id);
    if (!definition || !kept) throw new ClientRejected(`The provider ${connection.provider} is gone`);
    const key = kept.values?.private_key ?? '';
    const limits = JSON.parse(row.limits) as CredentialLimits;
    try {
      const { settings } = connection;
      const given = await this.calls.installationToken(definition, settings, key, { limits, signal });
      return { ...given, isOnDemand: true };
    } catch (error) {
      if (!(error instanceof GrantRejected)) throw error;
      // Its own token set tells people; this one is asked again once they have done something about it.
      await this.doubt(connection);
      throw new ClientRejected(error.message);
    }
  }

  private add(connectionId: string, limits: string): Promise<string> {
    return this.database.transaction(async unit => {
      const { organization_id, provider } = await this.connections.lock(unit, connectionId);
      const found = await this.limited.find(connectionId, limits, unit);
      if (found) return found;
      const idle = await this.limited.take(unit, connectionId, IDLE_DAYS);
      await this.removal.revokeSets(unit, { organization_id, provider }, idle);
      const none = { accessToken: '', scopes: [], expiresIn: 0, isRenewable: true, isOnDemand: true };
      const token_set_id = await this.tokens.add(unit, { kind: KIND, organization_id }, none);
      await this.limited.insert(unit, { token_set_id, connection_id: connectionId, limits });
      return token_set_id;
    });
  }

  /** Whether the app is installed at all: the connection needs a person where it is not. */
  private async doubt({ token_set_id }: ConnectionRow): Promise<void> {
    const [standing] = await this.tokens.standings(token_set_id ? [token_set_id] : []);
    if (!standing) return;
    try {
      await this.tokens.reject(standing.id, standing.revision);
    } catch (error) {
      if (!problemOf(error)) throw error;
    }
  }
}
