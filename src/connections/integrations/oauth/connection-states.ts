import { Injectable, OnModuleInit } from '@nestjs/common';
import { newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Events } from '../../../platform/events/index.js';
import { tokensChanged, tokensExpiring } from '../../stored-credentials/index.js';
import {
  connectionChanged,
  connectionExpiring,
  connectionNeedsReauth,
} from '../records/connection-events.js';
import { type ConnectionRow, type ConnectionState, ConnectionsStore } from '../records/connections.store.js';

export const INTEGRATION = 'integration';

/** The one writer of the states of connections: they follow their tokens. */
@Injectable()
export class ConnectionStates implements OnModuleInit {
  constructor(
    private readonly connections: ConnectionsStore,
    private readonly events: Events,
  ) {}

  onModuleInit(): void {
    this.events.on(tokensChanged, async (unit, { kind, id, state, reason }) => {
      const connection = kind === INTEGRATION && (await this.connections.byTokenSet(id, unit));
      if (connection) await this.set(unit, connection.id, state, reason);
    });
    this.events.on(tokensExpiring, async (unit, { kind, id, ends_at }) => {
      const connection = kind === INTEGRATION && (await this.connections.byTokenSet(id, unit));
      if (connection)
        await this.events.publish(unit, connectionExpiring, { connection_id: connection.id, ends_at });
    });
  }

  /** Callers lock the token set first, so that two never wait for each other. */
  async set(
    unit: UnitOfWork,
    id: string,
    state: ConnectionState,
    reason: string | null = null,
  ): Promise<ConnectionRow> {
    const before = await this.connections.lock(unit, id);
    if (before.state === state && before.reason === reason) return before;
    const after = await this.connections.change(unit, id, { state, reason });
    if (before.state === state) return after;
    const { organization_id, provider, name } = after;
    await this.events.publish(unit, connectionChanged, {
      connection_id: id,
      organization_id,
      provider,
      name,
      state,
    });
    if (state === 'needs_reauth')
      await this.events.publish(unit, connectionNeedsReauth, { connection_id: id, revision: newId() });
    return after;
  }
}
