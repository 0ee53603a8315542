import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../organizations/index.js';
import { AlertMails } from './alert-mails.js';
import { BillingController } from './billing.controller.js';
import { BillingService } from './billing.service.js';
import { Budgets } from './budgets.js';
import { DefaultBudgets } from './default-budgets.js';
import { UsageStore } from './usage.store.js';

/** What organizations use, spend, and may spend. */
@Module({
  imports: [OrganizationsModule],
  controllers: [BillingController],
  providers: [AlertMails, BillingService, Budgets, DefaultBudgets, UsageStore],
  exports: [Budgets],
})
export class BillingModule {}
