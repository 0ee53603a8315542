import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { OrganizationsModule } from '../organizations/index.js';
import { BillingService } from './billing.service.js';
import { BudgetAlerts } from './budget-alerts.js';
import { Budgets, DefaultBudgets } from './budgets.js';
import { BudgetsStore } from './budgets.store.js';
import { UsageStore } from './usage.store.js';

/** What organizations use, spend, and may spend. */
@Module({
  imports: [OrganizationsModule],
  controllers: [RoutesOf(BillingService)],
  providers: [BudgetAlerts, BillingService, Budgets, BudgetsStore, DefaultBudgets, UsageStore],
  exports: [Budgets],
})
export class BillingModule {}
