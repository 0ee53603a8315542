import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { KeysModule } from '../keys/index.js';
import { OrganizationsModule } from '../organizations/index.js';
import { ServiceAccountKeysService } from './service-account-keys.service.js';
import { ServiceAccountsService } from './service-accounts.service.js';
import { ServiceAccountsStore } from './service-accounts.store.js';

/** Identities that are no person's, and their keys. */
@Module({
  imports: [KeysModule, OrganizationsModule],
  controllers: [RoutesOf(ServiceAccountsService), RoutesOf(ServiceAccountKeysService)],
  providers: [ServiceAccountsService, ServiceAccountsStore, ServiceAccountKeysService],
  exports: [ServiceAccountsStore],
})
export class ServiceAccountsModule {}
