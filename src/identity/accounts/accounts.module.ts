import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { OrganizationsModule } from '../organizations/index.js';
import { AccountsService } from './accounts.service.js';

/** The accounts of people. */
@Module({
  imports: [OrganizationsModule],
  controllers: [RoutesOf(AccountsService)],
  providers: [AccountsService],
  exports: [AccountsService],
})
export class AccountsModule {}
