import { Controller, Get, Put } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { ReadBilling, ReadUsage, SetBudget } from './billing.dto.js';
import { BillingService } from './billing.service.js';

@Controller()
export class BillingController {
  constructor(private readonly billing: BillingService) {}

  @Serves(BillingService, 'read')
  @Get('/api/organizations/:orgId/billing')
  read(@Caller() actor: Actor, @Input() input: ReadBilling) {
    return this.billing.read(actor, input);
  }

  @Serves(BillingService, 'readUsage')
  @Get('/api/organizations/:orgId/billing/usage')
  readUsage(@Caller() actor: Actor, @Input() input: ReadUsage) {
    return this.billing.readUsage(actor, input);
  }

  @Serves(BillingService, 'setBudget')
  @Put('/api/organizations/:orgId/billing/budget')
  setBudget(@Caller() actor: Actor, @Input() input: SetBudget) {
    return this.billing.setBudget(actor, input);
  }
}
