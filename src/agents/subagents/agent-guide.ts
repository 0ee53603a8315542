import { allows } from '../../platform/actions/index.js';
import type { AgentsFolderContents, WorkspaceInstructions } from './agents-folder.js';
import type { Skill } from './skill.js';
import { SKILL } from './skill.js';
import type { Subagent } from './subagent.js';

/** Who works in a run, and what the workspace tells them. */
export class AgentGuide {
  /** Each of these lists must allow a tool: those of the agents above, and the agent's own. None: every tool may be used. */
  readonly allowlists: readonly (readonly string[])[];
  /** Where the agent is defined; null for the default assistant. */
  readonly file: string | null;
  readonly instructions: WorkspaceInstructions | null;
  /** The skills that the agent may read. */
  readonly skills: readonly Skill[];
  /** Whether the workspace has any skill. */
  readonly hasSkills: boolean;
  /** The agents to which tasks can be handed. */
  readonly colleagues: readonly Subagent[];

  constructor(
    /** Null: the default assistant. */
    readonly agent: Subagent | null,
    contents: AgentsFolderContents | null,
    toolsAbove: readonly (readonly string[])[],
    /** Whether it works on a task of another agent. */
    readonly isTask: boolean,
  ) {
    this.allowlists = agent ? [...toolsAbove, agent.tools] : toolsAbove;
    this.file = contents?.agents.find(({ value }) => value !== null && value === agent)?.path ?? null;
    this.instructions = contents?.instructions ?? null;
    this.colleagues = valuesOf(contents?.agents);
    const skills = valuesOf(contents?.skills);
    this.hasSkills = skills.length > 0;
    this.skills = this.allows(SKILL) ? skills : [];
  }

  allows(tool: string): boolean {
    return this.allowlists.every(list => allows(list, tool));
  }
}

function valuesOf<T>(readings: readonly { value: T | null }[] = []): T[] {
  return readings.flatMap(({ value }) => (value === null ? [] : [value]));
}

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
