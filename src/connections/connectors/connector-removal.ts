import { Injectable, OnModuleInit } from '@nestjs/common';
import { memberRemoved } from '../../identity/organizations/index.js';
import type { UnitOfWork } from '../../platform/database/index.js';
import { Events } from '../../platform/events/index.js';
import { Tokens } from '../tokens/index.js';
import { ConnectorsStore, CredentialsStore } from './records/index.js';
import { TypedClients } from './typed-clients.js';

/** Removes connectors with all secrets that belong to them. */
@Injectable()
export class ConnectorRemoval implements OnModuleInit {
  constructor(
    private readonly connectors: ConnectorsStore,
    private readonly credentials: CredentialsStore,
    private readonly tokens: Tokens,
    private readonly clients: TypedClients,
    private readonly events: Events,
  ) {}

  /** Who leaves an organization takes along what is theirs alone. */
  onModuleInit(): void {
    this.events.on(memberRemoved, async (unit, { organization_id, principal_id }) => {
      for (const id of await this.connectors.idsOf(unit, organization_id, principal_id))
        await this.remove(unit, id);
      await this.tokens.remove(unit, await this.credentials.removeOf(unit, organization_id, principal_id));
    });
  }

  async remove(unit: UnitOfWork, id: string): Promise<void> {
    const connector = await this.connectors.lock(unit, id);
    if (!connector) return;
    await this.tokens.remove(unit, await this.credentials.remove(unit, id));
    await this.clients.remove(unit, connector);
    await this.connectors.delete(unit, id);
  }
}
