import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { MembersService } from './members.service.js';
import { MembersStore } from './members.store.js';
import { OrganizationsService } from './organizations.service.js';
import { OrganizationsStore } from './organizations.store.js';

/** Organizations, their members, and who may do what in them. */
@Module({
  controllers: [RoutesOf(OrganizationsService), RoutesOf(MembersService)],
  providers: [OrganizationsService, OrganizationsStore, MembersService, MembersStore],
  exports: [OrganizationsService, OrganizationsStore],
})
export class OrganizationsModule {}
