import { Injectable, OnModuleInit } from '@nestjs/common';
import { memberRemoved } from '../../identity/organizations/index.js';
import type { UnitOfWork } from '../../platform/database/index.js';
import { Events } from '../../platform/events/index.js';
import { ClientRegistration } from './authorization/client-registration.js';
import { CredentialKeeper } from './authorization/credential-keeper.js';
import { ConnectorsStore } from './records/connectors.store.js';

@Injectable()
export class ConnectorRemoval implements OnModuleInit {
  constructor(
    private readonly connectors: ConnectorsStore,
    private readonly keeper: CredentialKeeper,
    private readonly clients: ClientRegistration,
    private readonly events: Events,
  ) {}

  /** Removes the personal connectors and credentials of a former member. */
  onModuleInit(): void {
    this.events.on(memberRemoved, async (unit, { organization_id, principal_id }) => {
      for (const id of await this.connectors.personal(unit, organization_id, principal_id))
        await this.remove(unit, id);
      await this.keeper.removePersonal(unit, organization_id, principal_id);
    });
  }

  async remove(unit: UnitOfWork, id: string): Promise<void> {
    const connector = await this.connectors.lock(unit, id);
    if (!connector) return;
    await this.keeper.remove(unit, id);
    await this.clients.removeTyped(unit, connector);
    await this.connectors.delete(unit, id);
  }
}
