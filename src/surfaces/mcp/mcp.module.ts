import { DynamicModule, Module } from '@nestjs/common';
import { ApprovalsModule } from '../../agents/approvals/index.js';
import { QuestionsModule } from '../../agents/questions/index.js';
import { RunsModule } from '../../agents/runs/index.js';
import { SubagentsModule } from '../../agents/subagents/index.js';
import { ToolsModule } from '../../agents/tools/index.js';
import { CredentialsModule } from '../../identity/credentials/index.js';
import { OAuthModule } from '../../identity/oauth/index.js';
import { SessionsModule } from '../../identity/sessions/index.js';
import { AccessTokenGuard } from '../../platform/credentials/index.js';
import { ChangesModule } from '../../workspaces/changes/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { FilesModule } from '../../workspaces/files/index.js';
import { Approvals } from './approvals/approvals.js';
import { ClientNames } from './approvals/client-names.store.js';
import { RunQuestions } from './approvals/run-questions.js';
import { MCP_EXTENSION, type McpExtension, NO_EXTENSION } from './call/mcp-tool.js';
import { McpController } from './mcp.controller.js';
import { McpGuard, McpOrigins } from './mcp.guard.js';
import { McpEndpoint } from './mcp-endpoint.js';
import { McpCompletions, McpResources } from './resources/mcp-resources.js';
import { McpPrompts } from './server/mcp-prompts.js';
import { McpServers, RequestMemory } from './server/mcp-servers.js';
import { McpCancellations, McpQuestionsStore, McpSessionsStore } from './sessions/sessions.store.js';
import { McpTools } from './tools/mcp-tools.js';
import { ScopeChallenges } from './tools/scope-challenges.js';
import { ListsWatch } from './watch/lists-watch.js';
import { ResourceWatch } from './watch/resource-watch.js';
import { VisibleChanges } from './watch/visible-changes.js';

/** The service as a server of the Model Context Protocol, at `/mcp`. */
@Module({})
export class McpModule {
  /** With what else is offered there, see {@link McpExtension}. */
  static with(extension: McpExtension = NO_EXTENSION): DynamicModule {
    return {
      module: McpModule,
      imports: [
        CredentialsModule,
        OAuthModule,
        SessionsModule,
        ChangesModule,
        CoreModule,
        FilesModule,
        ToolsModule,
        ApprovalsModule,
        QuestionsModule,
        RunsModule,
        SubagentsModule,
      ],
      controllers: [McpController],
      providers: [
        McpGuard,
        McpOrigins,
        McpEndpoint,
        McpServers,
        ScopeChallenges,
        McpTools,
        McpResources,
        McpPrompts,
        McpCompletions,
        RequestMemory,
        Approvals,
        RunQuestions,
        ClientNames,
        McpSessionsStore,
        McpQuestionsStore,
        McpCancellations,
        ResourceWatch,
        VisibleChanges,
        ListsWatch,
        { provide: MCP_EXTENSION, useValue: extension },
        AccessTokenGuard,
      ],
    };
  }
}
