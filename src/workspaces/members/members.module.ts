import { Module } from '@nestjs/common';
import { CoreModule } from '../core/index.js';
import { WorkspaceMembersController } from './workspace-members.controller.js';
import { WorkspaceMembersService } from './workspace-members.service.js';
import { WorkspaceMembersStore } from './workspace-members.store.js';

/** Members of workspaces. */
@Module({
  imports: [CoreModule],
  controllers: [WorkspaceMembersController],
  providers: [WorkspaceMembersService, WorkspaceMembersStore],
})
export class WorkspaceMembersModule {}
