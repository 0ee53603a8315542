import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../core/index.js';
import { OperationsModule } from '../operations/index.js';
import { DuplicateService } from './duplicate.service.js';
import { WorkspaceCopy } from './workspace-copy.js';

/** Copies of workspaces. */
@Module({
  imports: [OrganizationsModule, CoreModule, OperationsModule],
  controllers: [RoutesOf(DuplicateService)],
  providers: [WorkspaceCopy, DuplicateService],
  exports: [DuplicateService],
})
export class DuplicateModule {}
