import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../core/index.js';
import { OperationsModule } from '../operations/index.js';
import { DuplicateProcessor } from './duplicate.processor.js';
import { DuplicateService, OPERATIONS } from './duplicate.service.js';
import { WorkspaceCopy } from './workspace-copy.js';

/** Copies of workspaces. */
@Module({
  imports: [
    BullModule.registerQueue({ name: OPERATIONS }),
    OrganizationsModule,
    CoreModule,
    OperationsModule,
  ],
  controllers: [RoutesOf(DuplicateService)],
  providers: [WorkspaceCopy, DuplicateProcessor, DuplicateService],
  exports: [DuplicateService],
})
export class DuplicateModule {}
