import { Controller, Delete, Get } from '@nestjs/common';
import { type Actor, Caller } from '../../../platform/access/index.js';
import { Input } from '../../../platform/dto/index.js';
import { Serves } from '../../../platform/openapi/index.js';
import { GrantId, ListGrants } from './grants.dto.js';
import { GrantsService } from './grants.service.js';

@Controller()
export class GrantsController {
  constructor(private readonly grants: GrantsService) {}

  @Serves(GrantsService, 'list')
  @Get('/api/oauth/grants')
  list(@Caller() actor: Actor, @Input() input: ListGrants) {
    return this.grants.list(actor, input);
  }

  @Serves(GrantsService, 'revoke')
  @Delete('/api/oauth/grants/:id')
  revoke(@Caller() actor: Actor, @Input() input: GrantId) {
    return this.grants.revoke(actor, input);
  }
}
