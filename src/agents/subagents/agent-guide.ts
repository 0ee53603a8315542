import { Injectable } from '@nestjs/common';
import { type Finding, Findings } from '#libs/front-matter/index.js';
import { type Entry, type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { type Actor, SharedLookups } from '../../platform/access/index.js';
import { ActionAllowlist, allows } from '../../platform/actions/index.js';
import { type VisibleWorkspace, WorkspaceFolders, WorkspacesStore } from '../../workspaces/core/index.js';
import { AGENTS, AgentsFolder, INSTRUCTIONS } from './agents-folder.js';
import { ContentsCache } from './contents-cache.js';
import { type PinnedAgent, type Reading, SKILL, type Skill, type Subagent } from './definitions.js';
import { OVERHEAD, ReadingCache } from './reading-cache.js';

/** Of AGENTS.md, which goes into every prompt. */
const MAX_INSTRUCTION_BYTES = 32 * 1024;

/** The AGENTS.md of a workspace, cut off where it is too long. */
export interface WorkspaceInstructions {
  readonly path: string;
  readonly text: string;
  readonly bytes: number;
  readonly truncated: boolean;
}

/** The instructions, agents and skills of a workspace. */
export interface AgentsFolderContents {
  readonly instructions: WorkspaceInstructions | null;
  readonly agents: readonly Reading<Subagent>[];
  readonly skills: readonly Reading<Skill>[];
  /** About what is no agent and no skill. */
  readonly findings: readonly Finding[];
}

/**
 * Reads AGENTS.md and `.agents/` as they are now. Whatever is there is only text: links are not followed, and what is
 * too large or cannot be read is a finding. Files that did not change are not read again.
 */
@Injectable()
export class AgentFiles {
  private readonly readings = new SharedLookups<AgentsFolderContents>();

  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly folder: AgentsFolder,
    private readonly cache: ReadingCache,
    private readonly contents: ContentsCache,
  ) {}

  async read(actor: Actor, workspaceId: string): Promise<AgentsFolderContents> {
    return this.inWorkspace(await this.workspaces.require(actor, 'file.read', workspaceId));
  }

  /**
   * As {@link read}, where the caller has been let into the workspace. Those who ask at the same time share a reading that
   * begins after all of them asked.
   */
  inWorkspace(workspace: VisibleWorkspace): Promise<AgentsFolderContents> {
    return this.readings.get(workspace.id, () => {
      const files = this.folders.open(workspace);
      return this.contents.of(workspace.id, files, () => this.readNow(workspace, files));
    });
  }

  private async readNow(
    { id: workspaceId }: VisibleWorkspace,
    files: WorkspaceFs,
  ): Promise<AgentsFolderContents> {
    const findings = new Findings(AGENTS);
    const [instructions, top] = await Promise.all([
      this.instructions(workspaceId, files, findings),
      listed(files, AGENTS),
    ]);
    const list = (path: string) => listed(files, path);
    const defined = top
      ? await this.folder.read({ workspaceId, files, list, findings }, top)
      : { agents: [], skills: [] };
    return { instructions, ...defined, findings: findings.all };
  }

  private async instructions(
    workspaceId: string,
    files: WorkspaceFs,
    findings: Findings,
  ): Promise<WorkspaceInstructions | null> {
    try {
      const entry = await files.find(INSTRUCTIONS);
      if (!entry) return null;
      if (entry.type !== 'file') {
        findings.warn(`${INSTRUCTIONS} is not read: it is no regular file`);
        return null;
      }
      return await this.cache.of(workspaceId, entry, async () => {
        const options = { max_bytes: MAX_INSTRUCTION_BYTES };
        const { content, size } = await files.readText(INSTRUCTIONS, options);
        const truncated = Buffer.byteLength(content) < size;
        const value = { path: INSTRUCTIONS, text: content.trim(), bytes: size, truncated };
        return { value, weight: OVERHEAD + content.length };
      });
    } catch (error) {
      if (!(error instanceof WorkspaceFsError)) throw error;
      if (error.code !== 'not_found') findings.warn(`${INSTRUCTIONS} is not read: ${error.message}`);
      return null;
    }
  }
}

/** What is in a folder; undefined where there is none. */
async function listed(files: WorkspaceFs, path: string): Promise<Entry[] | undefined> {
  try {
    return (await files.list(path, { limit: 1000 })).entries;
  } catch (error) {
    if (error instanceof WorkspaceFsError) return undefined;
    throw error;
  }
}

/** The agent of a run, and the instructions of its workspace. */
export class AgentGuide {
  /** Each of these lists must allow a tool: those of the agents above, and the agent's own. None: every tool may be used. */
  readonly allowlists: readonly (readonly string[])[];
  /** The actions that it may run. */
  readonly actions: ActionAllowlist;
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
    readonly agent: Subagent | PinnedAgent | null,
    contents: AgentsFolderContents | null,
    toolsAbove: readonly (readonly string[])[],
    /** Whether it works on a task of another agent. */
    readonly isTask: boolean,
  ) {
    this.allowlists = agent ? [...toolsAbove, agent.tools] : toolsAbove;
    this.actions = ActionAllowlist.ofAllTools(this.allowlists);
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

/** The default agent, in what it is told. */
export const ASSISTANT = `You are the assistant of an Atelier workspace, which people and agents share. Do the work that is asked
for, and see it through: change the files, check what you did, and only then answer.`;
