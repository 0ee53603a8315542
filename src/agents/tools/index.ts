export { BASH } from './bash.tool.js';
export { LongOutputs } from './long-outputs.js';
export { RecordedScripts } from './recorded-scripts.js';
export {
  type CallHooks,
  type CallSubject,
  failed,
  type ListedTool,
  type ListScope,
  MAX_OUTPUT,
  type OpenTools,
  shorten,
  type Tool,
  type ToolOffer,
  type ToolProvider,
  type ToolResult,
  type ToolScope,
} from './tool-provider.js';
export { Toolbox, ToolProviders } from './toolbox.js';
export { ToolsModule } from './tools.module.js';
