import { Controller, Delete, Get, Patch, Post } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import {
  CreateWorkspace,
  ListWorkspaces,
  SetVisibility,
  UpdateWorkspace,
  WorkspaceId,
} from './workspaces.dto.js';
import { WorkspacesService } from './workspaces.service.js';

@Controller()
export class WorkspacesController {
  constructor(private readonly workspaces: WorkspacesService) {}

  @Serves(WorkspacesService, 'list')
  @Get('/api/workspaces')
  list(@Caller() actor: Actor, @Input() input: ListWorkspaces) {
    return this.workspaces.list(actor, input);
  }

  @Serves(WorkspacesService, 'create')
  @Post('/api/workspaces')
  create(@Caller() actor: Actor, @Input() input: CreateWorkspace) {
    return this.workspaces.create(actor, input);
  }

  @Serves(WorkspacesService, 'read')
  @Get('/api/workspaces/:workspaceId')
  read(@Caller() actor: Actor, @Input() input: WorkspaceId) {
    return this.workspaces.read(actor, input);
  }

  @Serves(WorkspacesService, 'update')
  @Patch('/api/workspaces/:workspaceId')
  update(@Caller() actor: Actor, @Input() input: UpdateWorkspace) {
    return this.workspaces.update(actor, input);
  }

  @Serves(WorkspacesService, 'setVisibility')
  @Patch('/api/workspaces/:workspaceId/visibility')
  setVisibility(@Caller() actor: Actor, @Input() input: SetVisibility) {
    return this.workspaces.setVisibility(actor, input);
  }

  @Serves(WorkspacesService, 'delete')
  @Delete('/api/workspaces/:workspaceId')
  delete(@Caller() actor: Actor, @Input() input: WorkspaceId) {
    return this.workspaces.delete(actor, input);
  }
}
