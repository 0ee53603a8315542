export {
  type Delivery,
  delayOf,
  type HandOver,
  NotificationChannel,
  NotificationChannels,
  RetryLater,
  TargetGone,
  type Targets,
} from './notification-channel.js';
export { type Answer, post, requireReachable } from './outgoing.js';
