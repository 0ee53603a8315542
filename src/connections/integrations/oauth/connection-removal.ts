import { Injectable } from '@nestjs/common';
import { Database, newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Events } from '../../../platform/events/index.js';
import { defineJob, Jobs } from '../../../platform/jobs/index.js';
import { Log } from '../../../platform/log/index.js';
import { Tokens } from '../../tokens/index.js';
import { connectionChanged } from '../records/connection-events.js';
import { type ConnectionRow, ConnectionsStore } from '../records/connections.store.js';
import { LimitedTokensStore } from '../records/limited-tokens.store.js';
import { ProviderCalls } from './provider-calls.js';
import { ProviderCatalog } from './provider-catalog.js';

/** The queue of connections that are removed. */
export const CONNECTIONS = 'connections';

/** Of a connection that is gone: its tokens are kept until the provider was told. */
export const revokeAtProvider = defineJob('connection_revoke', {
  queue: CONNECTIONS,
  payload: ['token_set_id', 'organization_id', 'provider'],
});
type Revoked = Record<'token_set_id' | 'organization_id' | 'provider', string>;

/** Removes connections, and takes the access back at the provider, also where that is away for a while. */
@Injectable()
export class ConnectionRemoval {
  constructor(
    private readonly database: Database,
    private readonly connections: ConnectionsStore,
    private readonly limited: LimitedTokensStore,
    private readonly catalog: ProviderCatalog,
    private readonly calls: ProviderCalls,
    private readonly tokens: Tokens,
    private readonly jobs: Jobs,
    private readonly events: Events,
    private readonly log: Log,
  ) {}

  async remove(unit: UnitOfWork, row: ConnectionRow): Promise<void> {
    const { id, organization_id, provider, name, token_set_id } = row;
    // While it can still be seen what uses it.
    const gone = { connection_id: id, organization_id, provider, name, state: 'deleted' } as const;
    await this.events.publish(unit, connectionChanged, gone);
    const limited = await this.limited.take(unit, id);
    await this.connections.delete(unit, id);
    await this.revokeSets(unit, row, token_set_id ? [...limited, token_set_id] : limited);
  }

  /** Tokens that are limited, and were made with what the connection no longer has. */
  async removeLimited(unit: UnitOfWork, row: ConnectionRow): Promise<void> {
    await this.revokeSets(unit, row, await this.limited.take(unit, row.id));
  }

  /** Token sets that nothing leads to any more. */
  async revokeSets(
    unit: UnitOfWork,
    { organization_id, provider }: Pick<ConnectionRow, 'organization_id' | 'provider'>,
    ids: readonly string[],
  ): Promise<void> {
    for (const token_set_id of ids)
      await this.jobs.enqueue(unit, revokeAtProvider, newId(), { token_set_id, organization_id, provider });
  }

  async revoke({ token_set_id, organization_id, provider }: Revoked): Promise<void> {
    const tokens = await this.tokens.opened(token_set_id);
    const definition = await this.catalog.find(organization_id, provider);
    if (tokens && definition) {
      const client = await this.catalog.client(organization_id, definition);
      await this.calls.revoke(definition, client, tokens);
    }
    await this.database.transaction(unit => this.tokens.remove(unit, [token_set_id]));
  }

  async giveUp({ token_set_id, provider }: Revoked): Promise<void> {
    this.log.warn(
      { provider, token_set: token_set_id },
      'a deleted connection could not be revoked at its provider',
    );
    await this.database.transaction(unit => this.tokens.remove(unit, [token_set_id]));
  }
}
