import type { Row } from '../../../platform/database/index.js';
import { defineTopic } from '../../../platform/topics/index.js';

declare global {
  interface ColumnTypes {
    'notification.data': Record<string, string>;
  }
}

export type Notification = Row<'notification'>;

export type DeliveryRow = Row<'notification_delivery'>;

/** Somebody is notified of something. */
export const NOTIFICATIONS_ADDED = defineTopic('notifications-added')();

/** The notifications of a person have changed: there is a new one, or one was read or put away. */
export const inboxTopic = defineTopic('notifications');
