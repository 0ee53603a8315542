import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ExposureModule } from '../../publishing/exposure/index.js';
import { ChangesModule } from '../../workspaces/changes/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { AutomationsModule } from '../automation/index.js';
import { ChangeReader, ChangeWatch, FileSetup, FilesStore, WindowFiring } from './files/index.js';
import { HeldDeliveries } from './held-deliveries.js';
import { NotificationReader, NotificationSetup, NotificationTriggersStore } from './notifications/index.js';
import { ScheduleFiring, ScheduleSetup, SchedulesStore } from './schedules/index.js';
import {
  ExposedWebhooks,
  ForgedSignatures,
  HooksController,
  HooksStore,
  WebhookBodies,
  WebhookIntake,
  WebhookRotation,
  WebhookSecrets,
  WebhookSetup,
} from './webhooks/index.js';

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
    WindowFiring,
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
