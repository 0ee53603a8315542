import { Injectable } from '@nestjs/common';
import { GuardedFetch } from '#libs/guarded-fetch/index.js';
import { shortName } from '#libs/plain-text/index.js';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import {
  type Delivery,
  NotificationChannel,
  RetryLater,
  TargetGone,
  type Targets,
} from '../channels/notification-channel.js';
import { type Answer, post } from '../channels/outgoing.js';
import type { Notification } from '../types/notification.js';
import { type Subscription, SubscriptionsStore } from './subscriptions.store.js';
import { PUSH_IS_OFF, VapidKeys } from './vapid-keys.js';

const [SECOND, MINUTE] = [1000, 60_000];
/** How long a push service keeps what a browser that is off cannot be given. */
const TTL_SECONDS = 3600;
/** With the other fields well below 3 KiB, which every push service takes. */
const MAX_TITLE = 300;
/** The subscription has ended (RFC 8030, 7.3). */
const ENDED = [404, 410];

/** Sends notifications to browsers: what has happened, and its id; the browser fetches the text. */
@Injectable()
export class PushChannel extends NotificationChannel {
  readonly name = 'push';
  readonly retryDelays = [10 * SECOND, MINUTE, 5 * MINUTE, 20 * MINUTE];
  readonly disturbs = true;

  constructor(
    private readonly database: Database,
    private readonly subscriptions: SubscriptionsStore,
    private readonly vapid: VapidKeys,
    private readonly outgoing: GuardedFetch,
  ) {
    super();
  }

  async targets(unit: UnitOfWork, notifications: readonly Notification[]): Promise<Targets[]> {
    if (!this.vapid.subject) return notifications.map(() => ({ targets: [], reason: PUSH_IS_OFF }));
    const people = notifications.map(({ user_id }) => user_id);
    const subscriptions = await this.subscriptions.findIds(unit, people);
    return people.map(id => ({ targets: subscriptions.get(id) ?? [] }));
  }

  async send({ target, userId, notifications }: Delivery): Promise<undefined> {
    const subscription = await this.subscriptions.find(target, userId);
    if (!subscription) throw new TargetGone('The browser is subscribed no more');
    for (const notification of notifications) {
      const { status, reason, askedMs } = await this.push(subscription, notification);
      if (status !== null && ENDED.includes(status)) {
        await this.database.transaction(unit => this.subscriptions.delete(unit, userId, { id: target }));
        throw new TargetGone('The browser has ended its subscription');
      }
      if (reason !== null) throw new RetryLater(`Of the push service: ${reason}`, askedMs);
    }
  }

  private async push(
    subscription: Subscription,
    { id, type, title, severity, expires_at }: Notification,
  ): Promise<Answer> {
    const secondsLeft = expires_at === null ? TTL_SECONDS : (Date.parse(expires_at) - Date.now()) / 1000;
    const { default: webPush } = await import('web-push');
    const { endpoint, headers, body } = webPush.generateRequestDetails(
      subscription,
      JSON.stringify({ title: shortName(title, MAX_TITLE), type, id }),
      {
        vapidDetails: { subject: this.vapid.subject ?? '', ...(await this.vapid.pair()) },
        TTL: Math.max(0, Math.round(secondsLeft)),
        urgency: severity === 'info' ? 'normal' : 'high',
      },
    );
    // It follows from the body.
    const { 'Content-Length': _length, ...others } = headers as Record<string, string | number>;
    return post(this.outgoing, endpoint, {
      headers: Object.fromEntries(Object.entries(others).map(([name, value]) => [name, String(value)])),
      body: new Uint8Array(body ?? []),
    });
  }
}
