export { NotificationReader } from './notification-reader.js';
export { NotificationSetup } from './notification-setup.js';
export { NotificationTriggersStore } from './notification-triggers.store.js';
