import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { ModelsModule } from '../models/index.js';
import { AgentsFolder } from './agents-folder.js';
import { AgentLint, SubagentsService, ToolNames } from './subagents.service.js';

/** The agents, skills and instructions that a workspace defines in its files. */
@Module({
  imports: [CoreModule, ModelsModule],
  controllers: [RoutesOf(SubagentsService)],
  providers: [AgentLint, AgentsFolder, SubagentsService, ToolNames],
  exports: [SubagentsService, ToolNames],
})
export class SubagentsModule {}
