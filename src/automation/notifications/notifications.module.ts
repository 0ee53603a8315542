import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ApprovalsModule } from '../../agents/approvals/index.js';
import { QuestionsModule } from '../../agents/questions/index.js';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { NotificationChannels } from './channels/notification-channel.js';
import { DeliveriesStore } from './delivery/deliveries.store.js';
import { DeliveryJobs } from './delivery/delivery.jobs.js';
import { Dispatcher, NOTIFICATIONS } from './delivery/dispatcher.js';
import { DueDeliveries } from './delivery/due-deliveries.js';
import { NotificationEvents } from './delivery/notification-events.js';
import { NotificationsProcessor } from './delivery/notifications.processor.js';
import { NotificationsStore } from './delivery/notifications.store.js';
import { Notifier } from './delivery/notifier.js';
import { RecipientsStore } from './delivery/recipients.store.js';
import { Routing } from './delivery/routing.js';
import { InboxController } from './inbox/inbox.controller.js';
import { InboxService } from './inbox/inbox.service.js';
import { InboxStore } from './inbox/inbox.store.js';
import { MailChannel } from './mail/mail-channel.js';
import { UnsubscribePageController } from './mail/unsubscribe-page.controller.js';
import { Unsubscribing } from './mail/unsubscribing.service.js';
import { PreferencesService } from './preferences/preferences.service.js';
import { PreferencesStore } from './preferences/preferences.store.js';
import { PushService } from './push/push.service.js';
import { PushChannel } from './push/push-channel.js';
import { SubscriptionsStore } from './push/subscriptions.store.js';
import { VapidKeys } from './push/vapid-keys.js';
import { SourcesStore } from './sources/sources.store.js';
import { EndpointsStore } from './webhooks/endpoints.store.js';
import { MessagesStore } from './webhooks/messages.store.js';
import { WebhookAttempts } from './webhooks/webhook-attempts.js';
import { WebhookChannel } from './webhooks/webhook-channel.js';
import { WebhookMessagesService } from './webhooks/webhook-messages.service.js';
import { WebhookSender } from './webhooks/webhook-sender.js';
import { WebhooksService } from './webhooks/webhooks.service.js';

/** What people are notified of, in the product and outside of it. */
@Module({
  imports: [
    BullModule.registerQueue({ name: NOTIFICATIONS }),
    DiscoveryModule,
    OrganizationsModule,
    ApprovalsModule,
    QuestionsModule,
  ],
  controllers: [
    RoutesOf(InboxService),
    RoutesOf(PreferencesService),
    RoutesOf(WebhooksService),
    RoutesOf(WebhookMessagesService),
    RoutesOf(PushService),
    InboxController,
    UnsubscribePageController,
  ],
  providers: [
    InboxService,
    InboxStore,
    PreferencesService,
    PreferencesStore,
    NotificationEvents,
    Notifier,
    NotificationsStore,
    RecipientsStore,
    Routing,
    Dispatcher,
    DeliveriesStore,
    DeliveryJobs,
    DueDeliveries,
    NotificationsProcessor,
    NotificationChannels,
    MailChannel,
    Unsubscribing,
    WebhooksService,
    WebhookMessagesService,
    EndpointsStore,
    MessagesStore,
    WebhookAttempts,
    WebhookSender,
    WebhookChannel,
    PushService,
    PushChannel,
    SubscriptionsStore,
    VapidKeys,
    SourcesStore,
  ],
})
export class NotificationsModule {}
