export type { McpExtension } from './call/mcp-extension.js';
export { McpModule } from './mcp.module.js';
