import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ApprovalsModule } from '../../agents/approvals/index.js';
import { QuestionsModule } from '../../agents/questions/index.js';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { NotificationChannels } from './channels/index.js';
import {
  DeliveriesStore,
  DeliveryJobs,
  Dispatcher,
  DueDeliveries,
  NOTIFICATIONS,
  NotificationEvents,
  NotificationsProcessor,
  NotificationsStore,
  Notifier,
  RecipientsStore,
  Routing,
} from './delivery/index.js';
import { InboxController, InboxService, InboxStore } from './inbox/index.js';
import { MailChannel, UnsubscribePageController, Unsubscribing } from './mail/index.js';
import { PreferencesService, PreferencesStore } from './preferences/index.js';
import { PushService, pushProviders } from './push/index.js';
import { SourcesStore } from './sources/index.js';
import { webhookProviders, webhookServices } from './webhooks/index.js';

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
    ...[InboxService, PreferencesService, ...webhookServices, PushService].map(service => RoutesOf(service)),
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
    ...webhookProviders,
    ...pushProviders,
    SourcesStore,
  ],
})
export class NotificationsModule {}
