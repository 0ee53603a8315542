import { Injectable, OnModuleInit } from '@nestjs/common';
import {
  ClientRejected,
  GrantRejected,
  hold,
  type RefreshedTokens,
  type Refresher,
  type TokenSet,
  Tokens,
} from '../../stored-credentials/index.js';
import type { ProviderDefinition } from '../providers/definition.js';
import { type ConnectionRow, ConnectionsStore } from '../records/connections.store.js';
import { INTEGRATION } from './connection-states.js';
import { ProviderCalls } from './provider-calls.js';
import { ProviderCatalog } from './provider-catalog.js';

@Injectable()
export class ConnectionRefresher implements Refresher, OnModuleInit {
  constructor(
    private readonly connections: ConnectionsStore,
    private readonly catalog: ProviderCatalog,
    private readonly calls: ProviderCalls,
    private readonly tokens: Tokens,
  ) {}

  onModuleInit(): void {
    this.tokens.register(INTEGRATION, this);
  }

  async refresh(id: string, current: TokenSet, signal: AbortSignal): Promise<RefreshedTokens> {
    const { connection, definition } = await this.requireOwner(id);
    if (definition.auth === 'github_app')
      return this.calls.installationToken(
        definition,
        connection.settings,
        current.values?.private_key ?? '',
        { signal },
      );
    const client = await this.catalog.client(connection.organization_id, definition);
    if (!client) throw new ClientRejected(`There is no client for ${definition.name} any more; set one`);
    return this.calls.refresh(definition, client, current, signal);
  }

  async accepts(id: string, current: TokenSet): Promise<boolean> {
    const { connection, definition } = await this.requireOwner(id);
    const { isAccepted } = await this.calls.check(definition, connection.settings, hold(current, 0));
    return isAccepted;
  }

  private async requireOwner(
    id: string,
  ): Promise<{ connection: ConnectionRow; definition: ProviderDefinition }> {
    const connection = await this.connections.byTokenSet(id);
    if (!connection) throw new GrantRejected('The connection is gone');
    const definition = await this.catalog.find(connection.organization_id, connection.provider);
    if (!definition) throw new ClientRejected(`The provider ${connection.provider} is gone`);
    return { connection, definition };
  }
}
