export { DeliveriesStore } from './deliveries.store.js';
export { DeliveryJobs } from './delivery.jobs.js';
export { Dispatcher } from './dispatcher.js';
export { DueDeliveries } from './due-deliveries.js';
export { BY_STRANGERS, type Notice } from './notice.js';
export { NotificationsStore } from './notifications.store.js';
export { Notifier } from './notifier.js';
export { RecipientsStore } from './recipients.store.js';
export { Routing } from './routing.js';
