export { ActionSurfaceModule } from './actions/action-surface.module.js';
export { LandingModule } from './landing/landing.module.js';
export { McpModule } from './mcp/mcp.module.js';
export type { McpExtension } from './mcp/mcp-extension.js';
