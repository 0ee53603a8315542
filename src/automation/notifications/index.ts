export { NotificationsModule } from './notifications.module.js';
export { NOTIFICATIONS_ADDED } from './types/notification.js';
