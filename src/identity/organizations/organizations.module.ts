import { Module } from '@nestjs/common';
import { OrganizationsController } from './organizations.controller.js';
import { OrganizationsService } from './organizations.service.js';
import { OrganizationsStore } from './organizations.store.js';

@Module({
  controllers: [OrganizationsController],
  providers: [OrganizationsService, OrganizationsStore],
  exports: [OrganizationsService, OrganizationsStore],
})
export class OrganizationsModule {}
