import { Module } from '@nestjs/common';
import { ConnectorsModule } from '../../connections/connectors/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ChangesModule } from '../../workspaces/changes/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { EgressModule } from '../../workspaces/egress/index.js';
import { SandboxesModule } from '../../workspaces/sandboxes/index.js';
import { SubagentsModule } from '../subagents/index.js';
import { AgentActions } from './agent-actions.js';
import { BashKillTool, BashOutputTool } from './background.tools.js';
import { BackgroundCommands } from './background-commands.js';
import { BashTool } from './bash.tool.js';
import { ConnectorTools } from './connector-tools.js';
import { LongOutputs } from './long-outputs.js';
import { PlanTool } from './plan.tool.js';
import { SessionCommands } from './session-commands.js';
import { ShellTools } from './shell.tools.js';
import { SkillTools } from './skill-tools.js';
import { Toolbox, ToolProviders } from './toolbox.js';
import { ToolsController } from './tools.controller.js';
import { ToolsService } from './tools.service.js';
import { WebFetchTool } from './web-fetch.tool.js';
import { WebPages } from './web-pages.js';

/** The tools that agents have, and how they are offered and run. */
@Module({
  imports: [ConnectorsModule, CoreModule, ChangesModule, EgressModule, SandboxesModule, SubagentsModule],
  controllers: [ToolsController, RoutesOf(ToolsService)],
  providers: [
    ToolProviders,
    Toolbox,
    SkillTools,
    PlanTool,
    AgentActions,
    BackgroundCommands,
    BashKillTool,
    BashOutputTool,
    ConnectorTools,
    BashTool,
    ShellTools,
    LongOutputs,
    SessionCommands,
    ToolsService,
    WebFetchTool,
    WebPages,
  ],
  exports: [BackgroundCommands, LongOutputs, SessionCommands, ShellTools, Toolbox, ToolProviders],
})
export class ToolsModule {}
