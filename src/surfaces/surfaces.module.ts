import { DynamicModule, Module } from '@nestjs/common';
import { ActionSurfaceModule } from './actions/index.js';
import { LandingModule } from './landing/index.js';
import { type McpExtension, McpModule } from './mcp/index.js';

/** Ways to the service besides the routes of its features. */
@Module({})
export class SurfacesModule {
  static with(mcp?: McpExtension): DynamicModule {
    return { module: SurfacesModule, imports: [ActionSurfaceModule, LandingModule, McpModule.with(mcp)] };
  }
}
