import { DynamicModule, Module } from '@nestjs/common';
import { AgentModule } from './agents/agent.module.js';
import { AutomationModule } from './automation/automation.module.js';
import { ConnectionsModule } from './connections/connections.module.js';
import { HostingModule } from './hosting/hosting.module.js';
import { IdentityModule, identityEntities } from './identity/identity.module.js';
import { HealthModule } from './platform/health/index.js';
import { PlatformModule, PlatformParts } from './platform/platform.module.js';
import { PublishingModule } from './publishing/publishing.module.js';
import type { McpExtension } from './surfaces/mcp/index.js';
import { SurfacesModule } from './surfaces/surfaces.module.js';
import { WorkspacesModule } from './workspaces/workspaces.module.js';

export const entities = [...identityEntities];

/** What the service is built with. */
export interface ServiceParts extends Omit<PlatformParts, 'entities'> {
  /** What the MCP endpoint offers besides; nothing, unless a test passes something in. */
  mcp?: McpExtension;
}

/** The whole service. */
@Module({})
export class AppModule {
  static with({ mcp, ...parts }: ServiceParts): DynamicModule {
    return {
      module: AppModule,
      imports: [
        PlatformModule.with({ ...parts, entities }),
        IdentityModule,
        WorkspacesModule,
        PublishingModule,
        ConnectionsModule,
        AgentModule,
        HostingModule,
        AutomationModule,
        SurfacesModule.with(mcp),
        HealthModule,
      ],
    };
  }
}
