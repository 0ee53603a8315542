export { AgentFiles, AgentGuide, ASSISTANT, type WorkspaceInstructions } from './agent-guide.js';
export { type PinnedAgent, readSubagent, SKILL, type Skill, type Subagent } from './definitions.js';
export { AGENT_NAME } from './subagents.dto.js';
export { SubagentsModule } from './subagents.module.js';
export { requireAgent, SubagentsService, ToolNames } from './subagents.service.js';
