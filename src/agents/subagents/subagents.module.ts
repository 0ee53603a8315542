import { Module } from '@nestjs/common';
import { CoreModule } from '../../workspaces/core/index.js';
import { ModelsModule } from '../models/index.js';
import { AgentLint, ToolNames } from './agent-lint.js';
import { AgentsFolder } from './agents-folder.js';
import { SubagentsController } from './subagents.controller.js';
import { SubagentsService } from './subagents.service.js';

/** The agents, skills and instructions that a workspace defines in its files. */
@Module({
  imports: [CoreModule, ModelsModule],
  controllers: [SubagentsController],
  providers: [AgentLint, AgentsFolder, SubagentsService, ToolNames],
  exports: [SubagentsService, ToolNames],
})
export class SubagentsModule {}
