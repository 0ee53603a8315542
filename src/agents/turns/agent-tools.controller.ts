import { Controller, Get } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { ListAgentTools } from './agent-tools.dto.js';
import { AgentToolsService } from './agent-tools.service.js';

@Controller()
export class AgentToolsController {
  constructor(private readonly tools: AgentToolsService) {}

  @Serves(AgentToolsService, 'list')
  @Get('/api/workspaces/:workspaceId/tools')
  list(@Caller() actor: Actor, @Input() input: ListAgentTools) {
    return this.tools.list(actor, input);
  }
}
