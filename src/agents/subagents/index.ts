export { AgentGuide, instructionsOf } from './agent-guide.js';
export { openSkill, SKILL, SKILL_TOOL, SkillInput } from './skill-tool.js';
export type { Subagent } from './subagent.js';
export { AGENT_NAME } from './subagents.dto.js';
export { SubagentsModule } from './subagents.module.js';
export { requireAgent, SubagentsService } from './subagents.service.js';
