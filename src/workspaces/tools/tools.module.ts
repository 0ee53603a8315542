import { Module } from '@nestjs/common';
import { ChangesModule } from '../changes/index.js';
import { CoreModule } from '../core/index.js';
import { FilesModule } from '../files/index.js';
import { SandboxesModule } from '../sandboxes/index.js';
import { SearchModule } from '../search/index.js';
import { BashTool } from './bash.tool.js';
import { EditFileTool, ListFilesTool, ReadFileTool, SearchFilesTool, WriteFileTool } from './file.tools.js';
import { LongOutputs } from './long-outputs.js';
import { Toolbox } from './toolbox.js';
import { ToolsController } from './tools.controller.js';
import { ToolsService } from './tools.service.js';

/** Tools that agents use on a workspace. */
@Module({
  imports: [CoreModule, ChangesModule, FilesModule, SandboxesModule, SearchModule],
  controllers: [ToolsController],
  providers: [
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
  exports: [LongOutputs, Toolbox, ToolsService],
})
export class ToolsModule {}
