import type { Actor } from '../../../platform/access/index.js';
import type { EventLog, LogPage } from '../../../platform/streams/index.js';
import { inboxTopic } from '../types/notification.js';
import { toNotificationView } from './inbox.dto.js';
import type { InboxStore } from './inbox.store.js';

const AT_ONCE = 100;

/**
 * New notifications, and how many are unread whenever that may have changed. A client that begins without a number gets the count
 * and what comes from then on.
 */
export class InboxEvents implements EventLog {
  readonly topic;
  private isFirst = true;

  constructor(
    private readonly inbox: InboxStore,
    private readonly actor: Actor,
  ) {
    this.topic = inboxTopic(actor.id);
  }

  async read(after: number): Promise<LogPage> {
    const isNew = this.isFirst && after === 0;
    const { last_number, unread_count, added } = await this.inbox.since(
      this.actor,
      after,
      isNew ? 0 : AT_ONCE,
    );
    const events = added.map(row => ({
      id: Number(row.number),
      event: 'notification',
      data: toNotificationView(row),
    }));
    const isWhole = added.length < AT_ONCE;
    if (isWhole && (this.isFirst || last_number > after))
      events.push({ id: Math.max(last_number, after), event: 'count', data: { unread_count } as never });
    this.isFirst = false;
    return { events };
  }
}
