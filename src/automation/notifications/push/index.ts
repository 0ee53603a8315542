import { PushService } from './push.service.js';
import { PushChannel } from './push-channel.js';
import { SubscriptionsStore } from './subscriptions.store.js';
import { VapidKeys } from './vapid-keys.js';

export { PushService };
export const pushProviders = [PushService, PushChannel, SubscriptionsStore, VapidKeys];
