import { Controller, Delete, Get, Put } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { ListWorkspaceMembers, PutWorkspaceMember, WorkspaceMemberId } from './workspace-members.dto.js';
import { WorkspaceMembersService } from './workspace-members.service.js';

const MEMBERS = '/api/workspaces/:workspaceId/members';

@Controller()
export class WorkspaceMembersController {
  constructor(private readonly members: WorkspaceMembersService) {}

  @Serves(WorkspaceMembersService, 'list')
  @Get(MEMBERS)
  list(@Caller() actor: Actor, @Input() input: ListWorkspaceMembers) {
    return this.members.list(actor, input);
  }

  @Serves(WorkspaceMembersService, 'put')
  @Put(`${MEMBERS}/:userId`)
  put(@Caller() actor: Actor, @Input() input: PutWorkspaceMember) {
    return this.members.put(actor, input);
  }

  @Serves(WorkspaceMembersService, 'remove')
  @Delete(`${MEMBERS}/:userId`)
  remove(@Caller() actor: Actor, @Input() input: WorkspaceMemberId) {
    return this.members.remove(actor, input);
  }
}
