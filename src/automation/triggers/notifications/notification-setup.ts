import { Injectable, OnModuleInit } from '@nestjs/common';
import type { UnitOfWork } from '../../../platform/database/index.js';
import {
  type DeploymentRow,
  type TriggerFacts,
  type TriggerRow,
  type TriggerSetup,
  TriggerSetups,
} from '../../automation/index.js';
import { NotificationTriggersStore } from './notification-triggers.store.js';

/** What a notification trigger needs when it is deployed: the place in an inbox from which on notifications count. */
@Injectable()
export class NotificationSetup implements TriggerSetup, OnModuleInit {
  readonly kind = 'notification';

  constructor(
    private readonly setups: TriggerSetups,
    private readonly store: NotificationTriggersStore,
  ) {}

  onModuleInit(): void {
    this.setups.add(this);
  }

  /** One that was live before goes on where it was, unless it acts for somebody else now. */
  async begin(
    unit: UnitOfWork,
    { actor }: DeploymentRow,
    { id, cursor, gathered }: TriggerRow,
  ): Promise<undefined> {
    const whose = (gathered as { user_id?: string } | null)?.user_id;
    if (cursor === null || whose !== actor.id) await this.store.begin(unit, id, actor.id);
  }

  facts(): TriggerFacts {
    return {};
  }
}
