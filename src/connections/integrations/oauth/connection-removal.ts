import { Injectable, OnModuleInit } from '@nestjs/common';
import { memberRemoved } from '../../../identity/organizations/index.js';
import { newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Events } from '../../../platform/events/index.js';
import { defineJob, Jobs } from '../../../platform/jobs/index.js';
import { connectionChanged } from '../records/connection-events.js';
import { type ConnectionRow, ConnectionsStore } from '../records/connections.store.js';
import { LimitedTokensStore } from '../records/limited-tokens.store.js';

export const CONNECTIONS = 'connections';

/** Revokes tokens at their provider; they are kept until it was told. */
export const revokeAtProvider = defineJob('connection_revoke', {
  queue: CONNECTIONS,
  payload: ['token_set_id', 'organization_id', 'provider'],
});

/** Removes connections; their tokens are revoked by a job. */
@Injectable()
export class ConnectionRemoval implements OnModuleInit {
  constructor(
    private readonly connections: ConnectionsStore,
    private readonly limited: LimitedTokensStore,
    private readonly jobs: Jobs,
    private readonly events: Events,
  ) {}

  /** Nobody could use the personal connections of a former member any more. */
  onModuleInit(): void {
    this.events.on(memberRemoved, async (unit, { organization_id, principal_id }) => {
      for (const row of await this.connections.personal(unit, organization_id, principal_id))
        await this.remove(unit, row);
    });
  }

  async remove(unit: UnitOfWork, row: ConnectionRow): Promise<void> {
    const { id, organization_id, provider, name, token_set_id } = row;
    // Before the deletion, so that handlers still find what uses it.
    const gone = { connection_id: id, organization_id, provider, name, state: 'deleted' } as const;
    await this.events.publish(unit, connectionChanged, gone);
    const limited = await this.limited.take(unit, id);
    await this.connections.delete(unit, id);
    await this.revokeSets(unit, row, token_set_id ? [...limited, token_set_id] : limited);
  }

  /** Removes limited tokens, which were made with a key that the connection no longer has. */
  async removeLimited(unit: UnitOfWork, row: ConnectionRow): Promise<void> {
    await this.revokeSets(unit, row, await this.limited.take(unit, row.id));
  }

  /** Removes token sets that nothing leads to any more. */
  async revokeSets(
    unit: UnitOfWork,
    { organization_id, provider }: Pick<ConnectionRow, 'organization_id' | 'provider'>,
    ids: readonly string[],
  ): Promise<void> {
    for (const token_set_id of ids)
      await this.jobs.enqueue(unit, revokeAtProvider, newId(), { token_set_id, organization_id, provider });
  }
}
