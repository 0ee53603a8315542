import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../core/index.js';
import { WorkspaceMembersService } from './workspace-members.service.js';
import { WorkspaceMembersStore } from './workspace-members.store.js';

/** Members of workspaces. */
@Module({
  imports: [CoreModule],
  controllers: [RoutesOf(WorkspaceMembersService)],
  providers: [WorkspaceMembersService, WorkspaceMembersStore],
})
export class WorkspaceMembersModule {}
