import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../core/index.js';
import { OperationRunner } from './operation-runner.js';
import { OperationsController } from './operations.controller.js';
import { OperationsService } from './operations.service.js';
import { OperationsStore } from './operations.store.js';

/** Work that goes on after its request was answered. */
@Module({
  imports: [CoreModule],
  controllers: [RoutesOf(OperationsService), OperationsController],
  providers: [OperationRunner, OperationsService, OperationsStore],
  exports: [OperationRunner, OperationsStore],
})
export class OperationsModule {}
