import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { AutomationsModule } from '../automation/index.js';
import { HeldDeliveries } from './held-deliveries.js';
import { ScheduleFiring, ScheduleSetup, SchedulesStore } from './schedules/index.js';
import {
  ForgedSignatures,
  HooksController,
  HooksStore,
  WebhookIntake,
  WebhookRotation,
  WebhookSecrets,
  WebhookSetup,
} from './webhooks/index.js';

/** What starts automations, besides people. */
@Module({
  imports: [AutomationsModule],
  controllers: [HooksController, RoutesOf(WebhookRotation)],
  providers: [
    ...[SchedulesStore, ScheduleSetup, ScheduleFiring, HeldDeliveries],
    ...[HooksStore, WebhookSecrets, WebhookSetup, WebhookIntake, WebhookRotation, ForgedSignatures],
  ],
})
export class TriggersModule {}
