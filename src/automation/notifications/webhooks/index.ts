import { EndpointsStore } from './endpoints.store.js';
import { MessagesStore } from './messages.store.js';
import { WebhookChannel } from './webhook-channel.js';
import { WebhookMessagesService } from './webhook-messages.service.js';
import { WebhookSender } from './webhook-sender.js';
import { WebhooksService } from './webhooks.service.js';

export const webhookServices = [WebhooksService, WebhookMessagesService];
export const webhookProviders = [
  ...webhookServices,
  EndpointsStore,
  MessagesStore,
  WebhookSender,
  WebhookChannel,
];
