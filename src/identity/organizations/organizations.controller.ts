import { Controller, Delete, Get, Patch, Post } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import {
  CreateOrganization,
  ListOrganizations,
  OrganizationId,
  UpdateOrganization,
} from './organizations.dto.js';
import { OrganizationsService } from './organizations.service.js';

@Controller()
export class OrganizationsController {
  constructor(private readonly organizations: OrganizationsService) {}

  @Serves(OrganizationsService, 'list')
  @Get('/api/organizations')
  list(@Caller() actor: Actor, @Input() input: ListOrganizations) {
    return this.organizations.list(actor, input);
  }

  @Serves(OrganizationsService, 'create')
  @Post('/api/organizations')
  create(@Caller() actor: Actor, @Input() input: CreateOrganization) {
    return this.organizations.create(actor, input);
  }

  @Serves(OrganizationsService, 'read')
  @Get('/api/organizations/:orgId')
  read(@Caller() actor: Actor, @Input() input: OrganizationId) {
    return this.organizations.read(actor, input);
  }

  @Serves(OrganizationsService, 'update')
  @Patch('/api/organizations/:orgId')
  update(@Caller() actor: Actor, @Input() input: UpdateOrganization) {
    return this.organizations.update(actor, input);
  }

  @Serves(OrganizationsService, 'delete')
  @Delete('/api/organizations/:orgId')
  delete(@Caller() actor: Actor, @Input() input: OrganizationId) {
    return this.organizations.delete(actor, input);
  }
}
