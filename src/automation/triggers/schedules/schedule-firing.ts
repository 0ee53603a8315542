import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../../../platform/config/index.js';
import { Database, databaseTime, newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Log } from '../../../platform/log/index.js';
import { DueTimers } from '../../../platform/schedule/index.js';
import {
  AUTOMATION_TRIGGERS,
  type AutomationDefinition,
  DeliveriesStore,
  type DeploymentRow,
  DeploymentsStore,
  RunAcceptance,
  type TriggerRow,
} from '../../automation/index.js';
import { timesOf } from './schedule-setup.js';
import { SchedulesStore } from './schedules.store.js';
import { type DueSlots, dueSlots, jitterMs } from './slots.js';

/** One transaction fires so many: some hundred share what a commit and its statements cost, and keep few locks for long. */
const AT_ONCE = 500;

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
    private readonly acceptance: RunAcceptance,
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

  /** All of one transaction together: each statement is for all that it fires. */
  private takeSome(only?: string): Promise<number> {
    return this.database.transaction(async unit => {
      const due = await this.schedules.takeDue(unit, AT_ONCE, only);
      if (due.length === 0) return 0;
      const now = await databaseTime(unit);
      const deployments = due.map(({ deployment }) => deployment);
      const definitions = await this.deployments.liveDefinitions(unit, deployments);
      const found = due.flatMap(({ deployment, triggers }) =>
        triggers.map(trigger => ({ deployment, trigger, ...dueOf(trigger, now) })),
      );
      const slots = found.flatMap(slotsOf).filter(({ deployment }) => definitions.has(deployment.id));
      await this.write(unit, slots, definitions);
      await this.schedules.setTimes(
        unit,
        found.map(({ trigger, next }) => ({ id: trigger.id, ...timesOf(trigger, next) })),
      );
      return due.length;
    });
  }

  private async write(
    unit: UnitOfWork,
    slots: readonly Slot[],
    definitions: ReadonlyMap<string, AutomationDefinition>,
  ): Promise<void> {
    const isNew = await this.deliveries.seeAll(
      unit,
      slots.map(({ delivery }) => delivery),
    );
    const fresh = slots.filter(({ delivery }) => isNew.has(delivery.id));
    await this.deliveries.addAll(unit, fresh.filter(({ isMissed }) => isMissed).map(skipped));
    const firing = fresh
      .filter(({ isMissed }) => !isMissed)
      .sort((a, b) => a.delivery.scheduled_for.getTime() - b.delivery.scheduled_for.getTime());
    await this.acceptance.acceptAll(
      unit,
      firing.map(({ deployment, delivery }) => ({
        deployment,
        place: deployment,
        draft: null,
        actor: deployment.actor,
        delivery,
        definition: definitions.get(deployment.id) as AutomationDefinition,
      })),
    );
  }

  private async takeAlone(deploymentId: string): Promise<void> {
    try {
      await this.takeSome(deploymentId);
    } catch (error) {
      this.log.error({ err: error, deployment_id: deploymentId }, 'a schedule did not fire; trying again');
      await this.database.transaction(unit => this.schedules.putOff(unit, deploymentId));
    }
  }
}

/** A slot that is due. */
interface Slot {
  readonly deployment: DeploymentRow;
  readonly delivery: ReturnType<typeof deliveryOf>;
  readonly isMissed: boolean;
}

interface Found extends DueSlots {
  readonly deployment: DeploymentRow;
  readonly trigger: TriggerRow;
}

function slotsOf({ deployment, trigger, fires, missed }: Found): Slot[] {
  const slot = (isMissed: boolean) => (at: Date) => ({
    deployment,
    delivery: deliveryOf(trigger, at),
    isMissed,
  });
  return [...missed.map(slot(true)), ...fires.map(slot(false))];
}

function dueOf({ id, config, next_slot }: TriggerRow, now: Date): DueSlots {
  if (config.kind !== 'schedule' || next_slot === null) return NOTHING_DUE;
  return dueSlots(config, new Date(next_slot), new Date(now.getTime() - jitterMs(config, id)));
}

const NOTHING_DUE: DueSlots = { fires: [], missed: [], next: null };

const deliveryOf = ({ id }: TriggerRow, slot: Date) => ({
  id: newId(),
  trigger_id: id,
  kind: 'schedule' as const,
  key: slot.toISOString(),
  headers: {},
  chain: [],
  depth: 0,
  untrusted: false,
  scheduled_for: slot,
  payload: undefined,
});

const skipped = ({ deployment: { id: deployment_id, workspace_id, version }, delivery }: Slot) => ({
  delivery: { ...delivery, workspace_id, deployment_id, version },
  end: { state: 'skipped' as const, reason: 'missed' },
});
