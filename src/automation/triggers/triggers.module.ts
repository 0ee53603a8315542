import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ExposureModule } from '../../publishing/exposure/index.js';
import { ChangesModule } from '../../workspaces/changes/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { AutomationsModule } from '../automation/index.js';
import { ChangeReader } from './files/change-reader.js';
import { ChangeWatch } from './files/change-watch.js';
import { FileDeliveryWriter } from './files/file-delivery-writer.js';
import { FileSetup } from './files/file-setup.js';
import { FileTriggerScheduler } from './files/file-trigger-scheduler.js';
import { FilesStore } from './files/files.store.js';
import { HeldDeliveries } from './held-deliveries.js';
import { NotificationReader } from './notifications/notification-reader.js';
import { NotificationSetup } from './notifications/notification-setup.js';
import { NotificationTriggersStore } from './notifications/notification-triggers.store.js';
import { ScheduleFiring } from './schedules/schedule-firing.js';
import { ScheduleSetup } from './schedules/schedule-setup.js';
import { SchedulesStore } from './schedules/schedules.store.js';
import { ExposedWebhooks } from './webhooks/exposed-webhooks.js';
import { ForgedSignatures } from './webhooks/forged-signatures.js';
import { HooksController } from './webhooks/hooks.controller.js';
import { HooksStore } from './webhooks/hooks.store.js';
import { WebhookBodies } from './webhooks/webhook-bodies.js';
import { WebhookIntake } from './webhooks/webhook-intake.js';
import { WebhookRotation } from './webhooks/webhook-rotation.service.js';
import { WebhookSecrets } from './webhooks/webhook-secrets.js';
import { WebhookSetup } from './webhooks/webhook-setup.js';

/** What starts automations, besides people. */
@Module({
  imports: [CoreModule, ExposureModule, ChangesModule, AutomationsModule],
  controllers: [HooksController, RoutesOf(WebhookRotation)],
  providers: [
    SchedulesStore,
    ScheduleSetup,
    ScheduleFiring,
    HeldDeliveries,
    FilesStore,
    FileSetup,
    ChangeReader,
    ChangeWatch,
    FileDeliveryWriter,
    FileTriggerScheduler,
    NotificationTriggersStore,
    NotificationSetup,
    NotificationReader,
    HooksStore,
    WebhookSecrets,
    WebhookSetup,
    WebhookIntake,
    WebhookRotation,
    ForgedSignatures,
    WebhookBodies,
    ExposedWebhooks,
  ],
})
export class TriggersModule {}
