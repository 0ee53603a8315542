import { DynamicModule, Module } from '@nestjs/common';
import { AgentModule, agentEntities } from './agents/index.js';
import { IdentityModule, identityEntities } from './identity/index.js';
import { HealthModule } from './platform/health/health.module.js';
import { PlatformModule, PlatformParts } from './platform/platform.module.js';
import { ActionSurfaceModule, McpModule } from './surfaces/index.js';
import { WorkspacesModule, workspaceEntities } from './workspaces/index.js';

export const entities = [...identityEntities, ...workspaceEntities, ...agentEntities];

/** The whole service. */
@Module({})
export class AppModule {
  static with(parts: Omit<PlatformParts, 'entities'>): DynamicModule {
    return {
      module: AppModule,
      imports: [
        PlatformModule.with({ ...parts, entities }),
        IdentityModule,
        WorkspacesModule,
        AgentModule,
        ActionSurfaceModule,
        McpModule,
        HealthModule,
      ],
    };
  }
}
