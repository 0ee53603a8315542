import { Module } from '@nestjs/common';
import { BillingModule } from '../../identity/billing/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { DuplicateModule } from '../../workspaces/duplicate/index.js';
import { WorkspaceBudgetsService } from './workspace-budgets.service.js';

/** What the agents of a workspace may spend. */
@Module({
  imports: [BillingModule, CoreModule, DuplicateModule],
  controllers: [RoutesOf(WorkspaceBudgetsService)],
  providers: [WorkspaceBudgetsService],
})
export class BudgetsModule {}
