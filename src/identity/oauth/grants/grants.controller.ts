import { Controller, Delete, Get } from '@nestjs/common';
import { Caller } from '../../../platform/access/access.js';
import type { Actor } from '../../../platform/access/actor.js';
import { Input } from '../../../platform/dto/input.js';
import { Serves } from '../../../platform/openapi/serves.js';
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
