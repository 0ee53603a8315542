import { Global, Module } from '@nestjs/common';
import { Maintenance } from './maintenance.js';

@Global()
@Module({
  providers: [Maintenance],
  exports: [Maintenance],
})
export class MaintenanceModule {}
