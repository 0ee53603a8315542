import { Field, PageInput, PageOf, toView } from '../../../platform/dto/index.js';
import type { Notification } from '../types/notification.js';
import { CATEGORIES, SEVERITIES, TYPE_NAMES } from '../types/types.js';

const CATEGORY = { example: CATEGORIES[0] };

export class ListNotifications extends PageInput {
  @Field.boolean('Only unread ones, or only others', { optional: true }) unread?: boolean;
  @Field.choice('Only those of this category', CATEGORIES, { optional: true }) category?: string;
  @Field.id('Only those about this workspace', { optional: true }) workspace_id?: string;

  @Field.boolean('Only archived ones; absent: only others', { optional: true, example: false })
  archived?: boolean;
}

export class ReadAllNotifications {
  @Field.time('Only those from before this time', { optional: true }) before?: string;
  @Field.choice('Only those of this category', CATEGORIES, { optional: true }) category?: string;
}

export class WatchNotifications {
  @Field.integer('Only what follows this number; absent: what comes from now on', {
    min: 0,
    optional: true,
    example: 3,
  })
  after?: number;
}

export class UnreadCountView {
  @Field.integer('How many are unread', { min: 0, example: 2 }) unread_count: number;
}

export class NotificationView {
  @Field.id('The notification') id: string;
  @Field.text('What has happened, as `category.what`', { example: TYPE_NAMES[0] }) type: string;
  @Field.text('What it is about', CATEGORY) category: string;
  @Field.choice('How grave it is', SEVERITIES) severity: string;
  @Field.text('One line that says it', { example: 'An agent asks to call share_create' }) title: string;

  @Field.text('What else there is to say', { example: 'Share a file or folder by a public link.' })
  body: string;

  @Field.text('The page on which something can be done about it; null: there is none', {
    nullable: true,
    example: 'https://atelier.example.com/approvals/0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f',
  })
  link: string | null;

  @Field.record('Ids of what it is about', {
    example: { approval_id: '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f' },
  })
  data: Record<string, string>;

  @Field.id('The organization it is about', { nullable: true }) organization_id: string | null;
  @Field.id('The workspace it is about', { nullable: true }) workspace_id: string | null;
  @Field.time('When there is nothing left to do about it', { nullable: true }) expires_at: string | null;
  @Field.time('When it was read', { nullable: true }) read_at: string | null;
  @Field.time('When it was put away', { nullable: true }) archived_at: string | null;
  @Field.time('When it happened') created_at: string;
}

export class NotificationPage extends PageOf(NotificationView, 'NotificationPage') {
  @Field.integer('How many are unread, whatever the filters', { min: 0, example: 2 }) unread_count: number;
}

export function toNotificationView(row: Notification): NotificationView {
  return toView(NotificationView, row);
}
