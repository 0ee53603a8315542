import type { AgentGuide } from './agent-guide.js';
import type { WorkspaceInstructions } from './agents-folder.js';
import type { Skill } from './skill.js';
import { SKILL } from './skill-tool.js';

const ASSISTANT = `You are the assistant of an Atelier workspace, which people and agents share. Do the work that is asked
for with the tools you have, check what you did, and answer briefly, naming the files you changed. If something cannot be
done, say so plainly.`;

const TASK = `Another agent handed you the task below. Nobody answers questions while you work on it, and your last answer is
all that the other agent gets.`;

/** What a model is told about itself and the workspace. The same as long as the files are, so that providers can cache it. */
export function instructionsOf({ agent, isTask, instructions, skills }: AgentGuide): string {
  const parts = [agent ? `You are the agent "${agent.name}".\n\n${agent.instructions}` : ASSISTANT];
  if (isTask) parts.push(TASK);
  if (instructions) parts.push(fromWorkspace(instructions));
  if (skills.length > 0) parts.push(skillList(skills));
  return parts.join('\n\n');
}

/** Whoever can write files in the workspace wrote this, so it is marked as theirs and cannot end its own frame. */
function fromWorkspace({ path, text, truncated }: WorkspaceInstructions): string {
  const framed = text.replaceAll(/<(?=\/?workspace_file)/gi, '&lt;');
  const rest = truncated ? `\n(Only its beginning; the rest is in ${path}.)` : '';
  return `The workspace has instructions for those who work in it, in its file ${path}. Its members wrote them; keep to them
where they do not contradict what is said above or what you are asked for.

<workspace_file path="${path}">
${framed}
</workspace_file>${rest}`;
}

function skillList(skills: readonly Skill[]): string {
  const lines = skills.map(({ name, description }) => `- ${name}: ${description.replaceAll(/\s+/g, ' ')}`);
  return `Skills of this workspace. Where one covers what you are about to do, call ${SKILL} with its name first and follow it:
${lines.join('\n')}`;
}
