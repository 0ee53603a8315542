import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { PageSessionsModule } from '../../identity/page-sessions/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { DuplicateModule } from '../../workspaces/duplicate/index.js';
import { ChatsModule } from '../chats/index.js';
import { ToolsModule } from '../tools/index.js';
import { ApprovalAccess } from './approval-access.js';
import { ApprovalPageController } from './approval-page.controller.js';
import { ApprovalPageService } from './approval-page.service.js';
import { ApprovalPoliciesService } from './approval-policies.service.js';
import { ApprovalPolicies } from './approval-policies.store.js';
import { ApprovalRequests } from './approval-requests.js';
import { ApprovalWording } from './approval-wording.js';
import { ApprovalDeadlines, ApprovalsService } from './approvals.service.js';
import { ApprovalsStore } from './approvals.store.js';

/** Calls that a person is asked about first. */
@Module({
  imports: [OrganizationsModule, PageSessionsModule, CoreModule, DuplicateModule, ToolsModule, ChatsModule],
  controllers: [RoutesOf(ApprovalsService), RoutesOf(ApprovalPoliciesService), ApprovalPageController],
  providers: [
    ApprovalAccess,
    ApprovalDeadlines,
    ApprovalPoliciesService,
    ApprovalPolicies,
    ApprovalRequests,
    ApprovalWording,
    ApprovalsService,
    ApprovalsStore,
    ApprovalPageService,
  ],
  exports: [ApprovalPolicies, ApprovalRequests, ApprovalWording, ApprovalsStore],
})
export class ApprovalsModule {}
