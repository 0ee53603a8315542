import { Injectable, OnModuleInit } from '@nestjs/common';
import { databaseTime, type UnitOfWork } from '../../../platform/database/index.js';
import {
  type DeploymentRow,
  DeploymentsStore,
  nextFires,
  type TriggerChange,
  type TriggerFacts,
  type TriggerRow,
  type TriggerSetup,
  TriggerSetups,
} from '../../automation/index.js';
import type { SlotTimes } from './schedules.store.js';
import { jitterMs } from './slots.js';

const SHOWN = 5;

/** What a schedule needs when it is deployed: the time of its next slot. */
@Injectable()
export class ScheduleSetup implements TriggerSetup, OnModuleInit {
  readonly kind = 'schedule';

  constructor(
    private readonly setups: TriggerSetups,
    private readonly deployments: DeploymentsStore,
  ) {}

  onModuleInit(): void {
    this.setups.add(this);
  }

  async begin(
    unit: UnitOfWork,
    _deployment: DeploymentRow,
    trigger: TriggerRow,
    { isChanged }: TriggerChange,
  ): Promise<undefined> {
    const { config, next_slot } = trigger;
    if (config.kind !== 'schedule') return;
    const kept = !isChanged && next_slot !== null ? new Date(next_slot) : undefined;
    const slot = kept ?? nextFires(config, await databaseTime(unit), 1)[0] ?? null;
    await this.deployments.changeTrigger(unit, trigger.id, timesOf(trigger, slot));
  }

  facts({ id, config, next_slot }: TriggerRow): TriggerFacts {
    if (config.kind !== 'schedule' || next_slot === null) return {};
    const offset = jitterMs(config, id);
    const fires = nextFires(config, new Date(new Date(next_slot).getTime() - 1), SHOWN);
    return { nextFires: fires.map(slot => new Date(slot.getTime() + offset)) };
  }
}

/** The slot that comes next, and when it fires. */
export function timesOf({ id, config }: TriggerRow, slot: Date | null): SlotTimes {
  if (slot === null || config.kind !== 'schedule') return { next_slot: null, next_at: null };
  return { next_slot: slot, next_at: new Date(slot.getTime() + jitterMs(config, id)) };
}
