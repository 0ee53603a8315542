export { type Audience, BY_STRANGERS, type Notice } from './notice.js';
export { type DeliveryRow, inboxTopic, NOTIFICATIONS_ADDED, type Notification } from './notification.js';
export {
  CATEGORIES,
  categoryOf,
  defaultMode,
  MODES,
  type Mode,
  PREFERRED_CHANNEL_NAMES,
  PREFERRED_CHANNELS,
  type PreferredChannel,
  SEVERITIES,
  TYPE_NAMES,
  TYPES,
  type TypeName,
  typeOf,
} from './types.js';
