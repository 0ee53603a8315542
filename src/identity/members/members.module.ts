import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { OrganizationsModule } from '../organizations/index.js';
import { MembersService } from './members.service.js';
import { MembersStore } from './members.store.js';

/** Members of organizations, and their roles. */
@Module({
  imports: [OrganizationsModule],
  controllers: [RoutesOf(MembersService)],
  providers: [MembersService, MembersStore],
})
export class MembersModule {}
