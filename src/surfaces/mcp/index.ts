export type { McpExtension } from './call/mcp-tool.js';
export { McpModule } from './mcp.module.js';
