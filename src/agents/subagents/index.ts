export { AgentGuide, instructionsOf } from './agent-guide.js';
export { ToolNames } from './agent-lint.js';
export { SKILL, type Skill } from './skill.js';
export type { Subagent } from './subagent.js';
export { AGENT_NAME } from './subagents.dto.js';
export { SubagentsModule } from './subagents.module.js';
export { requireAgent, SubagentsService } from './subagents.service.js';
