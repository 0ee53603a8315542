export { AgentActions } from './agent-actions.js';
export { BASH } from './bash.tool.js';
export { LongOutputs } from './long-outputs.js';
export { failed, shorten, type Tool, type ToolOffer, type ToolResult } from './tool.js';
export {
  type CallHooks,
  type CallSubject,
  type ListedTool,
  type ListScope,
  type OpenTools,
  type ToolProvider,
  ToolProviders,
  type ToolScope,
} from './tool-provider.js';
export { Toolbox } from './toolbox.js';
export { ToolsModule } from './tools.module.js';
