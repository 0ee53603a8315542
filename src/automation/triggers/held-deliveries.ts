import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { Chore } from '../../platform/jobs/index.js';
import { DueTimers } from '../../platform/schedule/index.js';
import {
  AUTOMATION_TRIGGERS,
  AutomationRunsStore,
  DeliveriesStore,
  type DeliveryRow,
  DeploymentsStore,
  RunAcceptance,
} from '../automation/index.js';

const AT_ONCE = 20;
const HOUR_MS = 3_600_000;
const KEPT_DAYS = { seen: 7, payload: 14, filtered: 1, row: 90 };
const BATCH = 1000;

/** Starts what was held when the limits of a day were reached, and forgets what is old. */
@Injectable()
export class HeldDeliveries implements OnApplicationBootstrap {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly deployments: DeploymentsStore,
    private readonly deliveries: DeliveriesStore,
    private readonly runs: AutomationRunsStore,
    private readonly acceptance: RunAcceptance,
    private readonly timers: DueTimers,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.timers.start({
      topic: AUTOMATION_TRIGGERS,
      take: () => this.take(),
      next: () => this.deliveries.nextHeld(),
      failure: 'starting what was held failed; trying again',
    });
  }

  private take(): Promise<number> {
    return this.database.transaction(async unit => {
      const held = await this.deliveries.takeHeld(unit, AT_ONCE);
      for (const delivery of held) await this.release(unit, delivery);
      return held.length;
    });
  }

  private async release(unit: UnitOfWork, held: DeliveryRow): Promise<void> {
    const deployment = held.deployment_id && (await this.deployments.find(held.deployment_id, unit));
    const version = deployment && (await this.deployments.version(deployment.id, deployment.version, unit));
    if (!deployment || !version || deployment.state !== 'live') {
      const reason = deployment ? deployment.state : 'stopped';
      return this.deliveries.update(unit, held.id, { state: 'skipped', reason });
    }
    const { trigger_id, kind, key, headers, chain, depth, untrusted, scheduled_for } = held;
    await this.acceptance.accept(unit, {
      deployment,
      place: deployment,
      definition: version.definition,
      draft: null,
      held,
      actor: deployment.actor,
      delivery: {
        id: held.id,
        trigger_id,
        kind,
        key,
        headers,
        chain,
        depth,
        untrusted,
        payload: undefined,
        scheduled_for: scheduled_for === null ? null : new Date(scheduled_for),
      },
    });
  }

  @Chore('forget_automation_runs', { everyMs: HOUR_MS })
  async forgetOld(): Promise<void> {
    await this.deliveries.removeOld(KEPT_DAYS);
    while ((await this.runs.removeOld(KEPT_DAYS.row, BATCH)) === BATCH);
  }
}
