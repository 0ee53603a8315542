import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../../../platform/config/index.js';
import { Database } from '../../../platform/database/index.js';
import { DueTimers } from '../../../platform/schedule/index.js';
import { DeliveriesStore } from './deliveries.store.js';
import { Dispatcher } from './dispatcher.js';

/** Sends digests when their time comes, and what quiet hours held when they end. */
@Injectable()
export class DueDeliveries implements OnApplicationBootstrap {
  constructor(
    private readonly config: Config,
    private readonly timers: DueTimers,
    private readonly database: Database,
    private readonly deliveries: DeliveriesStore,
    private readonly dispatcher: Dispatcher,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.timers.start({
      take: () => this.take(),
      next: () => this.deliveries.untilNext(),
      failure: 'cannot look for held notifications; trying again',
    });
  }

  /** Returns how many were due. */
  take(): Promise<number> {
    return this.database.transaction(async unit => {
      const held = await this.deliveries.takeHeld(unit);
      await this.dispatcher.enqueue(unit, held);
      const digests = await this.deliveries.takeDigests(unit);
      await this.dispatcher.enqueueDigests(unit, digests);
      return held.length + digests.length;
    });
  }
}
