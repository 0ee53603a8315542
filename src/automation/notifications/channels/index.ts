export {
  type Delivery,
  type HandOver,
  NotificationChannel,
  NotificationChannels,
  RetryLater,
  TargetGone,
  type Targets,
} from './notification-channel.js';
