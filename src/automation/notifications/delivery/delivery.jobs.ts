import { Injectable } from '@nestjs/common';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';

import {
  type Delivery,
  delayOf,
  type NotificationChannel,
  NotificationChannels,
  RetryLater,
  TargetGone,
} from '../channels/notification-channel.js';
import { type Habits, PreferencesStore } from '../preferences/preferences.store.js';
import { type Begun, DeliveriesStore } from './deliveries.store.js';
import { Dispatcher } from './dispatcher.js';
import { type Route, Routing } from './routing.js';

const GIVEN_UP = 'It could not be sent';

interface Ready {
  readonly channel: NotificationChannel;
  readonly items: readonly Begun[];
}

/** Sends what is due, after it has looked once more whether it still should. */
@Injectable()
export class DeliveryJobs {
  constructor(
    private readonly database: Database,
    private readonly channels: NotificationChannels,
    private readonly routing: Routing,
    private readonly preferences: PreferencesStore,
    private readonly deliveries: DeliveriesStore,
    private readonly dispatcher: Dispatcher,
  ) {}

  /** Returns after how many milliseconds to try again. */
  async deliver({ delivery_id }: { delivery_id: string }): Promise<number | undefined> {
    const ready = await this.database.transaction(unit => this.prepare(unit, delivery_id));
    return ready && this.send(delivery_id, ready);
  }

  async giveUp({ delivery_id }: { delivery_id: string }): Promise<void> {
    await this.settle([delivery_id], 'failed', GIVEN_UP);
  }

  /** Returns after how many milliseconds to try again. A digest of which nothing is left is not sent. */
  async digest({ digest_id }: { digest_id: string }): Promise<number | undefined> {
    const ready = await this.database.transaction(unit => this.prepareDigest(unit, digest_id));
    if (!ready) return undefined;
    const byTarget = [...Map.groupBy(ready.items, ({ delivery }) => delivery.target)];
    for (const [, items] of byTarget) {
      const again = await this.send(digest_id, { ...ready, items });
      if (again !== undefined) return again;
    }
    await this.database.transaction(unit => this.deliveries.closeDigest(unit, digest_id));
    return undefined;
  }

  async giveUpDigest({ digest_id }: { digest_id: string }): Promise<void> {
    await this.database.transaction(async unit => {
      const digest = await this.deliveries.beginDigest(unit, digest_id);
      await this.deliveries.settle(unit, idsOf(digest?.items ?? []), 'failed', GIVEN_UP);
      await this.deliveries.closeDigest(unit, digest_id);
    });
  }

  /** undefined where it is not sent now: it is gone, suppressed or held. */
  private async prepare(unit: UnitOfWork, id: string): Promise<Ready | undefined> {
    const begun = await this.deliveries.begin(unit, id);
    if (!begun) return undefined;
    const { user_id } = begun.notification;
    const habits = await this.preferences.read(unit, user_id);
    const channel = this.channels.get(begun.delivery.channel);
    const route = await this.checked(unit, begun, channel, habits);
    if (route?.to === 'digest') {
      const digest_id = await this.dispatcher.digestFor(unit, user_id, channel.name, habits);
      await this.deliveries.hold(unit, id, { digest_id });
    } else if (route?.until) await this.deliveries.hold(unit, id, { next_at: route.until.toISOString() });
    else if (route) return { channel, items: [begun] };
    return undefined;
  }

  private async prepareDigest(unit: UnitOfWork, id: string): Promise<Ready | undefined> {
    const digest = await this.deliveries.beginDigest(unit, id);
    if (!digest) return undefined;
    const channel = this.channels.get(digest.channel);
    const habits = await this.preferences.read(unit, digest.userId);
    const items: Begun[] = [];
    for (const item of digest.items) if (await this.checked(unit, item, channel, habits)) items.push(item);
    return { channel, items };
  }

  /** The way that it still goes; where there is none, it is suppressed. */
  private async checked(
    unit: UnitOfWork,
    { delivery, notification }: Begun,
    channel: NotificationChannel,
    habits: Habits,
  ): Promise<Exclude<Route, { to: 'nowhere' }> | undefined> {
    const route = await this.routing.again(unit, notification, channel, habits);
    if (route.to !== 'nowhere' && delivery.target !== null && route.targets.includes(delivery.target))
      return route;
    const reason = route.to === 'nowhere' ? route.reason : 'They do not get it there any more';
    await this.deliveries.settle(unit, [delivery.id], 'suppressed', reason);
    return undefined;
  }

  private async send(id: string, { channel, items }: Ready): Promise<number | undefined> {
    const [first] = items;
    if (!first?.delivery.target) return undefined;
    const notifications = items.map(({ notification }) => notification);
    const userId = first.notification.user_id;
    const delivery: Delivery = { id, target: first.delivery.target, userId, notifications };
    const ids = idsOf(items);
    try {
      const handOver = await channel.send(delivery);
      await this.database.transaction(async unit => {
        await handOver?.(unit);
        await this.deliveries.settle(unit, ids, 'sent', null);
      });
      return undefined;
    } catch (error) {
      if (error instanceof TargetGone) await this.settle(ids, 'failed', error.message);
      else if (error instanceof RetryLater) return this.later(channel, first, ids, error);
      else throw error;
      return undefined;
    }
  }

  private async later(
    { retryDelays }: NotificationChannel,
    { delivery: { attempts } }: Begun,
    ids: readonly string[],
    { message, askedMs }: RetryLater,
  ): Promise<number | undefined> {
    const planned = retryDelays[attempts - 1];
    if (planned === undefined) {
      await this.settle(ids, 'failed', message);
      return undefined;
    }
    await this.database.transaction(unit => this.deliveries.note(unit, ids, message));
    return delayOf(planned, askedMs);
  }

  private settle(ids: readonly string[], state: 'failed', reason: string): Promise<void> {
    return this.database.transaction(unit => this.deliveries.settle(unit, ids, state, reason));
  }
}

const idsOf = (items: readonly Begun[]) => items.map(({ delivery }) => delivery.id);
