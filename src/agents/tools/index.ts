export { BackgroundCommands } from './background-commands.js';
export { startedInReport } from './background-report.js';
export { BASH } from './bash.tool.js';
export { inputOf } from './field-fault.js';
export { LongOutputs } from './long-outputs.js';
export { SessionCommands } from './session-commands.js';
export { ShellTools } from './shell.tools.js';
export {
  type AskedQuestion,
  type CallHooks,
  type CallSubject,
  failed,
  type ListedTool,
  type ListScope,
  MAX_OUTPUT,
  type OpenTools,
  type RunKnowledge,
  shorten,
  succeeded,
  type Tool,
  type ToolOffer,
  type ToolProvider,
  type ToolResult,
  type ToolScope,
} from './tool-provider.js';
export { type OpenedProvider, Toolbox, ToolProviders } from './toolbox.js';
export { SESSION_NAME } from './tools.dto.js';
export { ToolsModule } from './tools.module.js';
