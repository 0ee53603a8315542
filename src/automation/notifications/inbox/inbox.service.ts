import { Injectable } from '@nestjs/common';
import { type Actor, requireScope } from '../../../platform/access/index.js';
import { Action } from '../../../platform/actions/index.js';
import { Database } from '../../../platform/database/index.js';
import { ById, type Page } from '../../../platform/dto/index.js';
import { NotFound } from '../../../platform/errors/index.js';
import type { Watched } from '../../../platform/streams/index.js';
import { Topics } from '../../../platform/topics/index.js';
import { inboxTopic } from '../types/notification.js';
import {
  ListNotifications,
  NotificationPage,
  NotificationView,
  ReadAllNotifications,
  toNotificationView,
  UnreadCountView,
  WatchNotifications,
} from './inbox.dto.js';
import { InboxStore, type Mark } from './inbox.store.js';
import { InboxEvents } from './inbox-events.js';

const NONE = 'No such notification';
const ABOUT_ONE = {
  effect: 'write',
  permission: 'notification.write',
  input: ById({ id: 'The notification' }),
  output: NotificationView,
  commitsAnswer: true,
  refuses: { 404: NONE },
} as const;

/** The caller's notifications. */
@Injectable()
export class InboxService {
  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
    private readonly inbox: InboxStore,
  ) {}

  @Action('notification_list', 'GET /api/notifications', {
    summary: 'List your notifications, newest first, and how many are unread',
    permission: 'notification.read',
    input: ListNotifications,
    output: NotificationPage,
  })
  async list(actor: Actor, input: ListNotifications): Promise<Page<NotificationView> & UnreadCountView> {
    requireScope(actor, 'notification.read');
    const page = await this.inbox.list(actor, input);
    const unread_count = await this.inbox.countUnread(actor);
    return { ...page, items: page.items.map(toNotificationView), unread_count };
  }

  @Action('notification_read', 'POST /api/notifications/:id/read', {
    summary: 'Mark a notification as read',
    ...ABOUT_ONE,
  })
  read(actor: Actor, { id }: ById): Promise<NotificationView> {
    return this.mark(actor, id, 'read');
  }

  @Action('notification_unread', 'POST /api/notifications/:id/unread', {
    summary: 'Mark a notification as unread',
    ...ABOUT_ONE,
  })
  unread(actor: Actor, { id }: ById): Promise<NotificationView> {
    return this.mark(actor, id, 'unread');
  }

  @Action('notification_archive', 'POST /api/notifications/:id/archive', {
    summary: 'Put a notification away',
    ...ABOUT_ONE,
  })
  archive(actor: Actor, { id }: ById): Promise<NotificationView> {
    return this.mark(actor, id, 'archive');
  }

  @Action('notification_inbox_read', 'POST /api/notifications/read-all', {
    summary: 'Mark all notifications as read, or those of a category or from before a time',
    permission: 'notification.write',
    input: ReadAllNotifications,
    output: UnreadCountView,
    commitsAnswer: true,
  })
  async readAll(actor: Actor, input: ReadAllNotifications): Promise<UnreadCountView> {
    requireScope(actor, 'notification.write');
    return this.database.transaction(async unit => {
      await this.inbox.readAll(unit, actor, input);
      this.topics.publishAfterCommit(unit, inboxTopic(actor.id));
      return unit.answers({ unread_count: await this.inbox.countUnread(actor, unit) });
    });
  }

  @Action('notification_watch', {
    summary: 'Stream your notifications as they come, and how many are unread',
    description:
      'Events are `notification`, with a new one, and `count`, with `unread_count` whenever it may have changed.',
    permission: 'notification.read',
    input: WatchNotifications,
    output: NotificationView,
    restOnly: true,
  })
  async events(actor: Actor, _input: WatchNotifications): Promise<Watched> {
    requireScope(actor, 'notification.read');
    return { workspaceId: null, log: new InboxEvents(this.inbox, actor) };
  }

  private async mark(actor: Actor, id: string, mark: Mark): Promise<NotificationView> {
    requireScope(actor, 'notification.write');
    return this.database.transaction(async unit => {
      const row = await this.inbox.mark(unit, actor, id, mark);
      if (!row) throw new NotFound(NONE);
      this.topics.publishAfterCommit(unit, inboxTopic(actor.id));
      return unit.answers(toNotificationView(row));
    });
  }
}
