import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../../../platform/config/index.js';
import { Database } from '../../../platform/database/index.js';
import { Events } from '../../../platform/events/index.js';
import { DueTimers } from '../../../platform/schedule/index.js';
import { AUTOMATION_TRIGGERS, automationSilent } from '../records/automation-states.js';
import { DeploymentsStore } from '../records/deployments.store.js';

const AT_ONCE = 20;

/** Tells people of deployments of which nothing has succeeded for as long as their file says, once each time. */
@Injectable()
export class SilenceWatch implements OnApplicationBootstrap {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly deployments: DeploymentsStore,
    private readonly events: Events,
    private readonly timers: DueTimers,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.timers.start({
      topic: AUTOMATION_TRIGGERS,
      take: () => this.take(),
      next: () => this.deployments.nextSilent(),
      failure: 'telling of automations that are silent failed; trying again',
    });
  }

  private take(): Promise<number> {
    return this.database.transaction(async unit => {
      const silent = await this.deployments.takeSilent(unit, AT_ONCE);
      for (const deployment_id of silent)
        await this.events.publish(unit, automationSilent, { deployment_id });
      return silent.length;
    });
  }
}
