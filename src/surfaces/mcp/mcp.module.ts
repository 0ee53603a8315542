import { Module } from '@nestjs/common';
import { AgentModule } from '../../agents/index.js';
import { IdentityModule } from '../../identity/index.js';
import { AccessTokenGuard, ApiKeyGuard } from '../../platform/access/credential.guard.js';
import { WorkspacesModule } from '../../workspaces/index.js';
import { McpController } from './mcp.controller.js';
import { McpGuard } from './mcp.guard.js';
import { McpEndpoint } from './mcp-endpoint.js';
import { McpOrigins } from './mcp-origins.js';
import { McpPrompts } from './mcp-prompts.js';
import { McpResources } from './mcp-resources.js';
import { McpTools } from './mcp-tools.js';

/** The service as a server of the Model Context Protocol, at `/mcp`. */
@Module({
  imports: [IdentityModule, WorkspacesModule, AgentModule],
  controllers: [McpController],
  providers: [
    McpGuard,
    McpOrigins,
    McpEndpoint,
    McpTools,
    McpResources,
    McpPrompts,
    ApiKeyGuard,
    AccessTokenGuard,
  ],
})
export class McpModule {}
