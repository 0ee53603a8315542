import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { OrganizationsService } from './organizations.service.js';
import { OrganizationsStore } from './organizations.store.js';

@Module({
  controllers: [RoutesOf(OrganizationsService)],
  providers: [OrganizationsService, OrganizationsStore],
  exports: [OrganizationsService, OrganizationsStore],
})
export class OrganizationsModule {}
