import { Controller, Get, Put } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { ReadWorkspaceBudget, SetWorkspaceBudget } from './budgets.dto.js';
import { WorkspaceBudgetsService } from './workspace-budgets.service.js';

@Controller()
export class WorkspaceBudgetsController {
  constructor(private readonly budgets: WorkspaceBudgetsService) {}

  @Serves(WorkspaceBudgetsService, 'read')
  @Get('/api/workspaces/:workspaceId/budget')
  read(@Caller() actor: Actor, @Input() input: ReadWorkspaceBudget) {
    return this.budgets.read(actor, input);
  }

  @Serves(WorkspaceBudgetsService, 'set')
  @Put('/api/workspaces/:workspaceId/budget')
  set(@Caller() actor: Actor, @Input() input: SetWorkspaceBudget) {
    return this.budgets.set(actor, input);
  }
}
