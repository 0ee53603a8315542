export { ToolNames } from './agent-lint.js';
export { SKILL, type Skill, type Subagent } from './definitions.js';
export { AGENT_NAME } from './subagents.dto.js';
export { SubagentsModule } from './subagents.module.js';
export { AgentGuide, instructionsOf, requireAgent, SubagentsService } from './subagents.service.js';
