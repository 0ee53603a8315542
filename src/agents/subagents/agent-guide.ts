import { allows } from '../../platform/actions/index.js';
import type { AgentsFolderContents, WorkspaceInstructions } from './agents-folder.js';
import type { Skill } from './skill.js';
import { SKILL } from './skill-tool.js';
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
