import { Module } from '@nestjs/common';
import { KeysModule } from '../keys/index.js';
import { OrganizationsModule } from '../organizations/index.js';
import { ServiceAccountKeysService } from './service-account-keys.service.js';
import { ServiceAccountsController } from './service-accounts.controller.js';
import { ServiceAccountsService } from './service-accounts.service.js';
import { ServiceAccountsStore } from './service-accounts.store.js';

/** Identities that are no person's, and their keys. */
@Module({
  imports: [KeysModule, OrganizationsModule],
  controllers: [ServiceAccountsController],
  providers: [ServiceAccountsService, ServiceAccountsStore, ServiceAccountKeysService],
})
export class ServiceAccountsModule {}
