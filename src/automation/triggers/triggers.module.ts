import { Module } from '@nestjs/common';
import { AutomationsModule } from '../automation/index.js';
import { HeldDeliveries } from './held-deliveries.js';
import { ScheduleFiring, ScheduleSetup, SchedulesStore } from './schedules/index.js';

/** What starts automations, besides people. */
@Module({
  imports: [AutomationsModule],
  providers: [SchedulesStore, ScheduleSetup, ScheduleFiring, HeldDeliveries],
})
export class TriggersModule {}
