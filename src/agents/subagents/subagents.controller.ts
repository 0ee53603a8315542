import { Controller, Get } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { ListAgents } from './subagents.dto.js';
import { SubagentsService } from './subagents.service.js';

@Controller()
export class SubagentsController {
  constructor(private readonly subagents: SubagentsService) {}

  @Serves(SubagentsService, 'list')
  @Get('/api/workspaces/:workspaceId/agents')
  list(@Caller() actor: Actor, @Input() input: ListAgents) {
    return this.subagents.list(actor, input);
  }
}
