export { ACTION_TOOLS, type ActionTool, AgentActions, RunActions } from './agent-actions.js';
export { BASH } from './bash.tool.js';
export { LongOutputs } from './long-outputs.js';
export { failed, shorten, type Tool, type ToolResult } from './tool.js';
export { Toolbox } from './toolbox.js';
export { ToolView } from './tools.dto.js';
export { ToolsModule } from './tools.module.js';
export { ToolsService } from './tools.service.js';
