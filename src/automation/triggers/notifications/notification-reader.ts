import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { matchesFilter } from '#libs/value-filter/index.js';
import { Config } from '../../../platform/config/index.js';
import { Database, iso, isoOrNull, newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Log } from '../../../platform/log/index.js';
import { DueTimers } from '../../../platform/schedule/index.js';
import {
  type AutomationDefinition,
  DeliveriesStore,
  type DeploymentRow,
  DeploymentsStore,
  RunAcceptance,
} from '../../automation/index.js';
import { NOTIFICATIONS_ADDED } from '../../notifications/index.js';
import {
  type AddressedNotification,
  NotificationTriggersStore,
  type ReadingTrigger,
} from './notification-triggers.store.js';

/** Notifications that one transaction reads for a trigger. */
const BATCH = 50;

/**
 * Starts automations for notifications of the people they act for. One transaction moves the cursor and adds the deliveries, with
 * their runs; the notification itself is a unique key.
 */
@Injectable()
export class NotificationReader implements OnApplicationBootstrap {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly store: NotificationTriggersStore,
    private readonly deployments: DeploymentsStore,
    private readonly deliveries: DeliveriesStore,
    private readonly acceptance: RunAcceptance,
    private readonly timers: DueTimers,
    private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.timers.start({
      topic: NOTIFICATIONS_ADDED,
      take: () => this.take(),
      failure: 'reading notifications for automations failed; trying again',
    });
  }

  private async take(): Promise<number> {
    let read = 0;
    for (const id of await this.store.unread()) {
      try {
        await this.database.transaction(unit => this.read(unit, id));
        read++;
      } catch (error) {
        // One that cannot be read for keeps none of the others from it.
        this.log.error(
          { err: error, deployment_id: id },
          'a notification trigger did not fire; trying again',
        );
      }
    }
    return read;
  }

  private async read(unit: UnitOfWork, deploymentId: string): Promise<void> {
    const taken = await this.store.take(unit, deploymentId);
    const version = taken && (await this.deployments.version(deploymentId, taken.deployment.version, unit));
    if (!taken || !version) return;
    const { deployment } = taken;
    const newest = await this.store.newest(unit, deployment.actor.id);
    for (const trigger of taken.triggers) {
      const { categories } = trigger.config;
      const found = await this.store.between(
        unit,
        deployment,
        { after: trigger.cursor, newest },
        categories,
        BATCH,
      );
      for (const notification of found)
        if (isMeant(trigger, deployment, notification))
          await this.fire(unit, deployment, version.definition, trigger, notification);
      const last = found.length < BATCH ? newest : (found.at(-1)?.number ?? newest);
      await this.store.setCursor(unit, trigger.id, last);
    }
  }

  private async fire(
    unit: UnitOfWork,
    deployment: DeploymentRow,
    definition: AutomationDefinition,
    trigger: ReadingTrigger,
    notification: AddressedNotification,
  ): Promise<void> {
    const id = newId();
    if (await this.deliveries.see(unit, trigger.id, notification.id, id)) return;
    const { chain, chain_depth: depth, untrusted } = notification;
    await this.acceptance.accept(unit, {
      deployment,
      place: deployment,
      definition,
      draft: null,
      actor: deployment.actor,
      delivery: {
        id,
        trigger_id: trigger.id,
        kind: 'notification',
        key: notification.id,
        headers: {},
        chain,
        depth,
        untrusted,
        scheduled_for: null,
        payload: JSON.stringify({ notification: viewOf(notification) }),
      },
    });
  }
}

/** What is told of the deployment itself never starts it. */
function isMeant(
  { config: { categories, filter } }: ReadingTrigger,
  { id }: DeploymentRow,
  notification: AddressedNotification,
): boolean {
  if (notification.category === 'automation' && notification.data.deployment_id === id) return false;
  const view = viewOf(notification);
  const isOfCategory = categories.length === 0 || categories.includes(notification.category);
  return isOfCategory && matchesFilter(filter, { ...view, notification: view });
}

function viewOf(row: AddressedNotification) {
  const { id, type, category, severity, title, body, link, data, organization_id, workspace_id } = row;
  return {
    id,
    type,
    category,
    severity,
    title,
    body,
    link,
    data,
    organization_id,
    workspace_id,
    expires_at: isoOrNull(row.expires_at),
    created_at: iso(row.created_at),
  };
}
