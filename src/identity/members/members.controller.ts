import { Controller, Delete, Get, Patch, Post } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { OrganizationId } from '../organizations/index.js';
import { ListMembers, MemberId, SetMemberRole, TransferOwnership } from './members.dto.js';
import { MembersService } from './members.service.js';

const ORGANIZATION = '/api/organizations/:orgId';

@Controller()
export class MembersController {
  constructor(private readonly members: MembersService) {}

  @Serves(MembersService, 'list')
  @Get(`${ORGANIZATION}/members`)
  list(@Caller() actor: Actor, @Input() input: ListMembers) {
    return this.members.list(actor, input);
  }

  @Serves(MembersService, 'setRole')
  @Patch(`${ORGANIZATION}/members/:userId`)
  setRole(@Caller() actor: Actor, @Input() input: SetMemberRole) {
    return this.members.setRole(actor, input);
  }

  @Serves(MembersService, 'remove')
  @Delete(`${ORGANIZATION}/members/:userId`)
  remove(@Caller() actor: Actor, @Input() input: MemberId) {
    return this.members.remove(actor, input);
  }

  @Serves(MembersService, 'leave')
  @Post(`${ORGANIZATION}/leave`)
  leave(@Caller() actor: Actor, @Input() input: OrganizationId) {
    return this.members.leave(actor, input);
  }

  @Serves(MembersService, 'transfer')
  @Post(`${ORGANIZATION}/transfer`)
  transfer(@Caller() actor: Actor, @Input() input: TransferOwnership) {
    return this.members.transfer(actor, input);
  }

  @Serves(MembersService, 'roles')
  @Get(`${ORGANIZATION}/roles`)
  roles(@Caller() actor: Actor, @Input() input: OrganizationId) {
    return this.members.roles(actor, input);
  }
}
