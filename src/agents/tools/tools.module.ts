import { Module } from '@nestjs/common';
import { ChangesModule } from '../../workspaces/changes/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { FilesModule } from '../../workspaces/files/index.js';
import { SandboxesModule } from '../../workspaces/sandboxes/index.js';
import { SearchModule } from '../../workspaces/search/index.js';
import { AgentActions } from './agent-actions.js';
import { BashTool } from './bash.tool.js';
import { EditFileTool, ListFilesTool, ReadFileTool, SearchFilesTool, WriteFileTool } from './file.tools.js';
import { LongOutputs } from './long-outputs.js';
import { Toolbox } from './toolbox.js';
import { ToolsController } from './tools.controller.js';
import { ToolsService } from './tools.service.js';

/** The tools that agents have, and how they are offered and run. */
@Module({
  imports: [CoreModule, ChangesModule, FilesModule, SandboxesModule, SearchModule],
  controllers: [ToolsController],
  providers: [
    AgentActions,
    BashTool,
    ReadFileTool,
    WriteFileTool,
    EditFileTool,
    ListFilesTool,
    SearchFilesTool,
    LongOutputs,
    Toolbox,
    ToolsService,
  ],
  exports: [AgentActions, LongOutputs, Toolbox, ToolsService],
})
export class ToolsModule {}
