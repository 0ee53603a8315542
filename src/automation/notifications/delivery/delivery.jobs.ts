import { Injectable } from '@nestjs/common';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { OnFailedJob, OnJob } from '../../../platform/jobs/index.js';
import {
  type Delivery,
  delayOf,
  type NotificationChannel,
  NotificationChannels,
  RetryLater,
  TargetGone,
} from '../channels/index.js';
import { type Habits, PreferencesStore } from '../preferences/index.js';
import { type Begun, DeliveriesStore } from './deliveries.store.js';
import { Dispatcher, deliverNotification, sendDigest } from './dispatcher.js';
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

  /** Returns when to try again. */
  @OnJob(deliverNotification)
  async deliver({ delivery_id }: { delivery_id: string }): Promise<Date | undefined> {
    const ready = await this.database.transaction(unit => this.prepare(unit, delivery_id));
    return ready && this.send(delivery_id, ready);
  }

  @OnFailedJob(deliverNotification)
  async giveUp({ delivery_id }: { delivery_id: string }): Promise<void> {
    await this.settle([delivery_id], 'failed', GIVEN_UP);
  }

  /** Returns when to try again. A digest of which nothing is left is not sent. */
  @OnJob(sendDigest)
  async digest({ digest_id }: { digest_id: string }): Promise<Date | undefined> {
    const ready = await this.database.transaction(unit => this.prepareDigest(unit, digest_id));
    if (!ready) return undefined;
    const byTarget = [...Map.groupBy(ready.items, ({ delivery }) => delivery.target)];
    for (const [, items] of byTarget) {
      const again = await this.send(digest_id, { ...ready, items });
      if (again) return again;
    }
    await this.database.transaction(unit => this.deliveries.closeDigest(unit, digest_id));
    return undefined;
  }

  @OnFailedJob(sendDigest)
  async giveUpDigest({ digest_id }: { digest_id: string }): Promise<void> {
    await this.database.transaction(async unit => {
      const digest = await this.deliveries.beginDigest(unit, digest_id);
      await this.deliveries.settle(unit, idsOf(digest?.items ?? []), 'failed', GIVEN_UP);
      await this.deliveries.closeDigest(unit, digest_id);
    });
  }

  private async prepare(unit: UnitOfWork, id: string): Promise<Ready | undefined> {
    const begun = await this.deliveries.begin(unit, id);
    if (!begun) return undefined;
    const { delivery, notification } = begun;
    const channel = this.channelOf(delivery.channel);
    const habits = await this.preferences.of(unit, notification.user_id);
    const now = await this.deliveries.now(unit);
    const route = await this.routing.again(unit, notification, channel, habits, now);
    const reason = reasonAgainst(route, delivery.target);
    if (reason !== undefined) {
      await this.deliveries.settle(unit, [id], 'suppressed', reason);
      return undefined;
    }
    const hold = await this.holdOf(unit, begun, route, habits, now);
    if (!hold) return { channel, items: [begun] };
    await this.deliveries.hold(unit, id, hold);
    return undefined;
  }

  /** What holds it from now on, where that has changed. */
  private async holdOf(
    unit: UnitOfWork,
    { delivery, notification }: Begun,
    route: Route,
    habits: Habits,
    now: Date,
  ) {
    if (route.to === 'digest')
      return {
        digest_id: await this.dispatcher.digestFor(unit, notification.user_id, delivery.channel, habits, now),
      };
    return route.to === 'targets' && route.until ? { next_at: route.until.toISOString() } : undefined;
  }

  private async prepareDigest(unit: UnitOfWork, id: string): Promise<Ready | undefined> {
    const digest = await this.deliveries.beginDigest(unit, id);
    if (!digest) return undefined;
    const channel = this.channelOf(digest.channel);
    const [habits, now] = [await this.preferences.of(unit, digest.userId), await this.deliveries.now(unit)];
    const items: Begun[] = [];
    for (const item of digest.items) {
      const route = await this.routing.again(unit, item.notification, channel, habits, now);
      const reason = reasonAgainst(route, item.delivery.target);
      if (reason === undefined) items.push(item);
      else await this.deliveries.settle(unit, [item.delivery.id], 'suppressed', reason);
    }
    return { channel, items };
  }

  private async send(id: string, { channel, items }: Ready): Promise<Date | undefined> {
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
  ): Promise<Date | undefined> {
    const planned = retryDelays[attempts - 1];
    if (planned === undefined) {
      await this.settle(ids, 'failed', message);
      return undefined;
    }
    await this.database.transaction(unit => this.deliveries.note(unit, ids, message));
    return new Date(Date.now() + delayOf(planned, askedMs));
  }

  private settle(ids: readonly string[], state: 'failed', reason: string): Promise<void> {
    return this.database.transaction(unit => this.deliveries.settle(unit, ids, state, reason));
  }

  private channelOf(name: string): NotificationChannel {
    const channel = this.channels.find(name);
    if (!channel) throw new Error(`This version has no channel ${name}`);
    return channel;
  }
}

const idsOf = (items: readonly Begun[]) => items.map(({ delivery }) => delivery.id);

function reasonAgainst(route: Route, target: string | null): string | undefined {
  if (route.to === 'nowhere') return route.reason;
  return target !== null && route.targets.includes(target) ? undefined : 'They do not get it there any more';
}
