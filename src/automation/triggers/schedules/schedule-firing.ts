import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../../../platform/config/index.js';
import { Database, newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Log } from '../../../platform/log/index.js';
import { DueTimers } from '../../../platform/schedule/index.js';
import {
  AUTOMATION_TRIGGERS,
  DeliveriesStore,
  type DeploymentRow,
  DeploymentsStore,
  Intake,
  type TriggerRow,
} from '../../automation/index.js';
import { timesOf } from './schedule-setup.js';
import { SchedulesStore } from './schedules.store.js';
import { dueSlots, jitterMs } from './slots.js';

const AT_ONCE = 20;

/**
 * Fires schedules. One transaction writes the delivery of a slot, its run and the time of the next slot, so that a crash
 * leaves all of them or none; the slot itself is a unique key, so that a clock that goes back fires nothing twice.
 */
@Injectable()
export class ScheduleFiring implements OnApplicationBootstrap {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly schedules: SchedulesStore,
    private readonly deployments: DeploymentsStore,
    private readonly deliveries: DeliveriesStore,
    private readonly intake: Intake,
    private readonly timers: DueTimers,
    private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.timers.start({
      topic: AUTOMATION_TRIGGERS,
      take: () => this.take(),
      next: () => this.schedules.next(),
      failure: 'firing schedules failed; trying again',
    });
  }

  private async take(): Promise<number> {
    try {
      return await this.takeSome();
    } catch (error) {
      // One that cannot be fired keeps none of the others from it.
      const due = await this.schedules.due(AT_ONCE);
      for (const deploymentId of due) await this.takeAlone(deploymentId);
      if (due.length === 0) throw error;
      return due.length;
    }
  }

  private takeSome(only?: string): Promise<number> {
    return this.database.transaction(async unit => {
      const due = await this.schedules.takeDue(unit, AT_ONCE, only);
      if (due.length === 0) return 0;
      const now = await this.schedules.now(unit);
      for (const trigger of due) {
        const deployment = await this.deployments.lock(unit, trigger.deployment_id);
        await this.fire(unit, deployment, trigger, now);
      }
      return due.length;
    });
  }

  private async takeAlone(deploymentId: string): Promise<void> {
    try {
      await this.takeSome(deploymentId);
    } catch (error) {
      this.log.error({ err: error, deployment_id: deploymentId }, 'a schedule did not fire; trying again');
      await this.database.transaction(unit => this.schedules.putOff(unit, deploymentId));
    }
  }

  private async fire(
    unit: UnitOfWork,
    deployment: DeploymentRow,
    trigger: TriggerRow,
    now: Date,
  ): Promise<void> {
    const { config, next_slot } = trigger;
    if (config.kind !== 'schedule' || next_slot === null) return;
    const offset = jitterMs(config, trigger.id);
    const { fires, missed, next } = dueSlots(config, new Date(next_slot), new Date(now.getTime() - offset));
    for (const slot of missed) await this.skip(unit, deployment, trigger, slot);
    const version = await this.deployments.version(deployment.id, deployment.version, unit);
    if (version)
      for (const slot of fires) {
        const id = newId();
        if (await this.deliveries.see(unit, trigger.id, slot.toISOString(), id)) continue;
        await this.intake.accept(unit, {
          ...{ deployment, place: deployment, definition: version.definition, draft: null },
          actor: deployment.actor,
          delivery: { ...deliveryOf(trigger, slot), id },
        });
      }
    await this.deployments.changeTrigger(unit, trigger.id, timesOf(trigger, next));
  }

  private async skip(
    unit: UnitOfWork,
    { id: deployment_id, workspace_id, version }: DeploymentRow,
    trigger: TriggerRow,
    slot: Date,
  ): Promise<void> {
    const id = newId();
    if (await this.deliveries.see(unit, trigger.id, slot.toISOString(), id)) return;
    const delivery = { ...deliveryOf(trigger, slot), id, workspace_id, deployment_id, version };
    await this.deliveries.add(unit, delivery, { state: 'skipped', reason: 'missed' });
  }
}

const deliveryOf = ({ id }: TriggerRow, slot: Date) => ({
  ...{ trigger_id: id, kind: 'schedule' as const, key: slot.toISOString(), headers: {} },
  ...{ chain: [], depth: 0, untrusted: false, scheduled_for: slot, payload: undefined },
});
