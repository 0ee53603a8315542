export { ACTION_TOOLS, type ActionTool, AgentActions, RunActions } from './agent-actions.js';
export { AgentToolsModule } from './tools.module.js';
