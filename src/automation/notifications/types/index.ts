export { type DeliveryRow, inboxTopic, type Notification } from './notification.js';
export {
  CATEGORIES,
  categoryOf,
  defaultMode,
  type Mode,
  PREFERRED_CHANNELS,
  type PreferredChannel,
  SEVERITIES,
  TYPE_NAMES,
  TYPES,
  type TypeName,
  typeOf,
} from './types.js';
