import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../organizations/index.js';
import { MembersController } from './members.controller.js';
import { MembersService } from './members.service.js';
import { MembersStore } from './members.store.js';

/** Members of organizations, and their roles. */
@Module({
  imports: [OrganizationsModule],
  controllers: [MembersController],
  providers: [MembersService, MembersStore],
})
export class MembersModule {}
