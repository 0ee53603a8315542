import { Injectable } from '@nestjs/common';
import { newId, type UnitOfWork } from '../../../platform/database/index.js';
import { defineJob, Jobs } from '../../../platform/jobs/index.js';
import { NotificationChannels } from '../channels/index.js';
import { type Habits, nextDigest } from '../preferences/index.js';
import type { DeliveryRow, Notification } from '../types/index.js';
import { DeliveriesStore } from './deliveries.store.js';
import { type Route, Routing } from './routing.js';

const QUEUE = { name: 'notifications', concurrency: 8 };

export const notify = defineJob('notify', { queue: QUEUE, payload: ['type', 'facts'] });
export const deliverNotification = defineJob('deliver_notification', {
  queue: QUEUE,
  payload: ['delivery_id'],
});
export const sendDigest = defineJob('send_digest', { queue: QUEUE, payload: ['digest_id'] });

/** Puts notifications on their way, in the transaction that makes them. */
@Injectable()
export class Dispatcher {
  constructor(
    private readonly channels: NotificationChannels,
    private readonly routing: Routing,
    private readonly deliveries: DeliveriesStore,
    private readonly jobs: Jobs,
  ) {}

  /** To all channels that the person wants it on. */
  async dispatch(unit: UnitOfWork, notification: Notification, habits: Habits): Promise<void> {
    for (const channel of this.channels.all) {
      const route = await this.routing.route(unit, notification, channel, habits);
      if (!route) continue;
      const row = { notification_id: notification.id, channel: channel.name };
      const rows = await this.rowsOf(unit, notification.user_id, channel.name, route, habits);
      const added = await this.deliveries.add(
        unit,
        rows.map(fields => ({ ...row, ...fields })),
      );
      await this.enqueue(
        unit,
        added.filter(({ state }) => state === 'queued').map(({ id }) => id),
      );
    }
  }

  async enqueue(unit: UnitOfWork, deliveryIds: readonly string[]): Promise<void> {
    for (const delivery_id of deliveryIds)
      await this.jobs.enqueue(unit, deliverNotification, newId(), { delivery_id });
  }

  async enqueueDigests(unit: UnitOfWork, digestIds: readonly string[]): Promise<void> {
    for (const digest_id of digestIds) await this.jobs.enqueue(unit, sendDigest, newId(), { digest_id });
  }

  /** The digest that takes what comes now. */
  async digestFor(
    unit: UnitOfWork,
    userId: string,
    channel: string,
    { schedule, now }: Habits,
  ): Promise<string> {
    for (let at = nextDigest(schedule, now); ; at = nextDigest(schedule, at)) {
      const id = await this.deliveries.openDigest(unit, userId, channel, at);
      if (id) return id;
    }
  }

  private async rowsOf(
    unit: UnitOfWork,
    userId: string,
    channel: string,
    route: Route,
    habits: Habits,
  ): Promise<Partial<DeliveryRow>[]> {
    if (route.to === 'nowhere') return [{ state: 'suppressed', reason: route.reason }];
    const held = { state: 'held' as const };
    if (route.to === 'digest') {
      const digest_id = await this.digestFor(unit, userId, channel, habits);
      return route.targets.map(target => ({ ...held, target, digest_id }));
    }
    const { targets, until } = route;
    return targets.map(target => (until ? { ...held, target, next_at: until.toISOString() } : { target }));
  }
}
