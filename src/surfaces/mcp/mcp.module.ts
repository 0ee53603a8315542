import { DynamicModule, Module } from '@nestjs/common';
import { ApprovalsModule } from '../../agents/approvals/index.js';
import { RunsModule } from '../../agents/runs/index.js';
import { SubagentsModule } from '../../agents/subagents/index.js';
import { CredentialsModule } from '../../identity/credentials/index.js';
import { OAuthModule } from '../../identity/oauth/index.js';
import { SessionsModule } from '../../identity/sessions/index.js';
import { AccessTokenGuard } from '../../platform/credentials/index.js';
import { ChangesModule } from '../../workspaces/changes/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { FilesModule } from '../../workspaces/files/index.js';
import { ToolsModule } from '../../workspaces/tools/index.js';
import { Approvals } from './approvals/approvals.js';
import { ClientNames } from './approvals/client-names.js';
import { McpController } from './mcp.controller.js';
import { McpGuard } from './mcp.guard.js';
import { McpCompletions } from './mcp-completions.js';
import { McpEndpoint } from './mcp-endpoint.js';
import { MCP_EXTENSION, type McpExtension, NO_EXTENSION } from './mcp-extension.js';
import { McpOrigins } from './mcp-origins.js';
import { McpPrompts } from './mcp-prompts.js';
import { McpResources } from './mcp-resources.js';
import { McpServers } from './mcp-servers.js';
import { McpTools } from './mcp-tools.js';
import { RequestMemory } from './request-memory.js';
import { ScopeChallenges } from './scope-challenges.js';
import { Cancellations } from './sessions/cancellations.js';
import { Questions } from './sessions/questions.js';
import { SessionEndpoint } from './sessions/session-endpoint.js';
import { SessionStream } from './sessions/session-stream.js';
import { SessionSubscriptions } from './sessions/session-subscriptions.js';
import { McpSessionsStore } from './sessions/sessions.store.js';
import { Shortcut } from './shortcut.js';
import { CredentialWatch } from './watch/credential-watch.js';
import { Listening } from './watch/listening.js';
import { ListsWatch } from './watch/lists-watch.js';
import { ResourceWatch } from './watch/resource-watch.js';

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
        RunsModule,
        SubagentsModule,
      ],
      controllers: [McpController],
      providers: [
        McpGuard,
        McpOrigins,
        McpEndpoint,
        McpServers,
        Shortcut,
        ScopeChallenges,
        McpTools,
        McpResources,
        McpPrompts,
        McpCompletions,
        RequestMemory,
        Approvals,
        ClientNames,
        SessionEndpoint,
        SessionStream,
        SessionSubscriptions,
        McpSessionsStore,
        Questions,
        Cancellations,
        Listening,
        ResourceWatch,
        ListsWatch,
        CredentialWatch,
        { provide: MCP_EXTENSION, useValue: extension },
        AccessTokenGuard,
      ],
    };
  }
}
