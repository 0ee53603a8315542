import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { ModelsModule } from '../models/index.js';
import { AgentFiles } from './agent-guide.js';
import { AgentsFolder } from './agents-folder.js';
import { ContentsCache } from './contents-cache.js';
import { ReadingCache } from './reading-cache.js';
import { AgentLint, SubagentsService, ToolNames } from './subagents.service.js';

/** The agents, skills and instructions that a workspace defines in its files. */
@Module({
  imports: [CoreModule, ModelsModule],
  controllers: [RoutesOf(SubagentsService)],
  providers: [AgentFiles, AgentLint, AgentsFolder, ContentsCache, ReadingCache, SubagentsService, ToolNames],
  exports: [AgentFiles, SubagentsService, ToolNames],
})
export class SubagentsModule {}
