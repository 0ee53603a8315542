import { Injectable } from '@nestjs/common';
import { enterServer } from '../../../identity/billing/index.js';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { Chore } from '../../../platform/jobs/index.js';
import { InstancesStore } from '../records/instances.store.js';

const HOUR_MS = 3_600_000;
/** Ended instances kept per server. */
const KEPT = 20;

@Injectable()
export class ServerMeter {
  constructor(
    private readonly database: Database,
    private readonly instances: InstancesStore,
  ) {}

  /** Enters running time that is not in the ledger yet, of one server or all. */
  async enter(unit: UnitOfWork, serverId: string | null): Promise<void> {
    for (const entry of await this.instances.takeSeconds(unit, serverId)) await enterServer(unit, entry);
  }

  @Chore('hosting_server_seconds', { everyMs: HOUR_MS })
  async meter(): Promise<void> {
    await this.database.transaction(unit => this.enter(unit, null));
    await this.instances.forgetOld(KEPT);
  }
}
