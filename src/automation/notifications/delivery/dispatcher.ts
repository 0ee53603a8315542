import { Injectable } from '@nestjs/common';
import { newId, type UnitOfWork } from '../../../platform/database/index.js';
import { defineJob, Jobs } from '../../../platform/jobs/index.js';
import { NotificationChannels } from '../channels/notification-channel.js';
import { nextDigest } from '../preferences/preference.js';
import { type Habits } from '../preferences/preferences.store.js';
import type { DeliveryRow } from '../types/notification.js';
import { DeliveriesStore, type NewDelivery } from './deliveries.store.js';
import { type Meant, type Route, Routing } from './routing.js';

/** The queue of what people are notified of, and of where that goes. */
export const NOTIFICATIONS = 'notifications';

export const notify = defineJob('notify', { queue: NOTIFICATIONS, payload: ['type', 'facts'] });
export const deliverNotification = defineJob('deliver_notification', {
  queue: NOTIFICATIONS,
  payload: ['delivery_id'],
});
export const sendDigest = defineJob('send_digest', { queue: NOTIFICATIONS, payload: ['digest_id'] });

/** Puts notifications on their way, in the transaction that makes them. */
@Injectable()
export class Dispatcher {
  constructor(
    private readonly channels: NotificationChannels,
    private readonly routing: Routing,
    private readonly deliveries: DeliveriesStore,
    private readonly jobs: Jobs,
  ) {}

  /** Sends each over all channels that its person wants it on. */
  async dispatch(unit: UnitOfWork, all: readonly Meant[]): Promise<void> {
    for (const channel of this.channels.all) {
      const rows: NewDelivery[] = [];
      for (const { notification, habits, route } of await this.routing.routes(unit, channel, all)) {
        const row = { notification_id: notification.id, channel: channel.name };
        const ways = await this.rowsOf(unit, notification.user_id, channel.name, route, habits);
        rows.push(...ways.map(fields => ({ ...row, ...fields })));
      }
      const added = await this.deliveries.add(unit, rows);
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

  /** Opens the digest that takes what comes now. */
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
