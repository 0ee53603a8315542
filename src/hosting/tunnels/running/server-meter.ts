import { Injectable } from '@nestjs/common';
import { enterServer } from '../../../identity/billing/index.js';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { Chore } from '../../../platform/jobs/index.js';
import { InstancesStore } from '../records/instances.store.js';

const HOUR_MS = 3_600_000;
/** Instances that ended, of each server. */
const KEPT = 20;

/** Enters into the ledger how long servers ran. */
@Injectable()
export class ServerMeter {
  constructor(
    private readonly database: Database,
    private readonly instances: InstancesStore,
  ) {}

  /** What is not in it yet, of all servers or of one. */
  async enter(unit: UnitOfWork, serverId: string | null): Promise<void> {
    for (const entry of await this.instances.takeSeconds(unit, serverId)) await enterServer(unit, entry);
  }

  @Chore('hosting_server_seconds', { everyMs: HOUR_MS })
  async meter(): Promise<void> {
    await this.database.transaction(unit => this.enter(unit, null));
    await this.instances.forgetOld(KEPT);
  }
}
