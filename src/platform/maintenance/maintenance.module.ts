import { BullModule } from '@nestjs/bullmq';
import { Global, Module } from '@nestjs/common';
import { MAINTENANCE_QUEUE, Maintenance, MaintenanceProcessor } from './maintenance.js';

@Global()
@Module({
  imports: [BullModule.registerQueue({ name: MAINTENANCE_QUEUE })],
  providers: [Maintenance, MaintenanceProcessor],
  exports: [Maintenance],
})
export class MaintenanceModule {}
