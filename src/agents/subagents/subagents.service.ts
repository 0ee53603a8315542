import { Injectable } from '@nestjs/common';
import { didYouMean } from '#libs/did-you-mean/index.js';
import { type Finding, Findings } from '#libs/front-matter/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action, ActionCatalog, allows } from '../../platform/actions/index.js';
import { Invalid, NotFound } from '../../platform/errors/index.js';
import { type VisibleWorkspace, WorkspaceId, WorkspacesStore } from '../../workspaces/core/index.js';
import { ModelSettingsStore, ModelUnusable } from '../models/index.js';
import { AgentsFolder, type AgentsFolderContents, type WorkspaceInstructions } from './agents-folder.js';
import { type Reading, SKILL, type Skill, type Subagent } from './definitions.js';
import { AgentListView, type SkillView, type SubagentView } from './subagents.dto.js';

const ACTION = 'action:';
/** The names of all tools that agents can have. Features with tools register theirs. */
@Injectable()
export class ToolNames {
  private readonly sources: (() => readonly string[])[] = [];

  add(source: () => readonly string[]): void {
    this.sources.push(source);
  }

  all(): string[] {
    return this.sources.flatMap(source => source());
  }
}

/** Looks at what agents name beyond their file: tools, actions, a model. */
@Injectable()
export class AgentLint {
  constructor(
    private readonly toolNames: ToolNames,
    private readonly catalog: ActionCatalog,
    private readonly models: ModelSettingsStore,
  ) {}

  /** What is wrong with an agent, its file and what it names; `organizationId` decides which models there are. */
  async check(reading: Reading<Subagent>, organizationId: string): Promise<readonly Finding[]> {
    const { path, value: agent } = reading;
    if (!agent) return reading.findings;
    const findings = new Findings(path);
    this.checkTools(agent, findings);
    if (agent.model !== null) await this.checkModel(agent.model, organizationId, findings);
    return [...reading.findings, ...findings.all];
  }

  private checkTools({ tools }: Subagent, findings: Findings): void {
    const known = this.toolNames.all();
    const actions = this.catalog.list().map(({ name }) => name);
    for (const pattern of tools) {
      const isAction = pattern.startsWith(ACTION);
      const names = isAction ? actions : known;
      const wanted = isAction ? pattern.slice(ACTION.length) : pattern;
      if (names.some(name => allows([wanted], name))) continue;
      const meant = didYouMean(wanted, names);
      const kind = isAction ? 'action' : 'tool';
      findings.warn(
        `tools: no ${kind} is called "${wanted}"`,
        null,
        meant && `Did you mean "${isAction ? ACTION : ''}${meant}"?`,
      );
    }
  }

  private async checkModel(model: string, organizationId: string, findings: Findings): Promise<void> {
    try {
      await this.models.resolve(organizationId, model);
    } catch (error) {
      if (!(error instanceof ModelUnusable)) throw error;
      findings.error(error.detail, null, 'Name another model, or none for the default');
    }
  }
}

/** The agent of a run, and the instructions of its workspace. */
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

/** Anybody who can write files in the workspace may have written this, so it is framed and cannot end its frame. */
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

/** The agents and skills that a workspace defines in its `.agents/` folder. */
@Injectable()
export class SubagentsService {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly folder: AgentsFolder,
    private readonly lint: AgentLint,
  ) {}

  @Action({
    name: 'agent_list',
    route: 'GET /api/workspaces/:workspaceId/agents',
    on: 'workspace_id',
    summary: 'List the subagents and skills of a workspace, and what is wrong with their files',
    effect: 'read',
    permission: 'file.read',
    input: WorkspaceId,
    output: AgentListView,
  })
  async list(actor: Actor, { workspace_id }: WorkspaceId): Promise<AgentListView> {
    const workspace = await this.workspaces.require(actor, 'file.read', workspace_id);
    const { agents, skills, instructions, findings } = await this.folder.read(workspace);
    const items = await Promise.all(
      agents.map(async agent => subagentView(agent, await this.lint.check(agent, workspace.organization_id))),
    );
    return {
      items,
      skills: skills.map(skillView),
      instructions: instructions && {
        path: instructions.path,
        bytes: instructions.bytes,
        truncated: instructions.truncated,
      },
      findings: [...findings],
    };
  }

  /** The instructions, agents and skills of a workspace. */
  async read(actor: Actor, workspaceId: string): Promise<AgentsFolderContents> {
    return this.inWorkspace(await this.workspaces.require(actor, 'file.read', workspaceId));
  }

  /** As {@link read}, where the caller has been let into the workspace. */
  inWorkspace(workspace: VisibleWorkspace): Promise<AgentsFolderContents> {
    return this.folder.read(workspace);
  }

  /** The agent called `name`: 404 where no file defines it, 422 where its file is not valid. */
  async require(actor: Actor, workspaceId: string, name: string): Promise<Subagent> {
    const { agents } = await this.read(actor, workspaceId);
    return requireAgent(agents, name);
  }
}

/** The agent called `name` among those that were read: throws as {@link SubagentsService.require}. */
export function requireAgent(agents: readonly Reading<Subagent>[], name: string): Subagent {
  const found = agents.find(agent => agent.name === name && agent.value);
  if (found?.value) return found.value;
  const broken = agents.find(({ name: its, path }) => its === name || path.endsWith(`/${name}.md`));
  const fault = broken?.findings.find(({ severity }) => severity === 'error');
  if (fault)
    throw new Invalid(
      `agent_name: ${fault.file}${fault.line === null ? '' : `:${fault.line}`}: ${fault.message}`,
    );
  throw new NotFound(`No agent "${name}" is defined in the .agents/ folder of this workspace`);
}

function subagentView({ path, name, value }: Reading<Subagent>, findings: readonly Finding[]): SubagentView {
  return {
    name,
    description: value?.description ?? '',
    path,
    tools: [...(value?.tools ?? [])],
    model: value?.model ?? null,
    max_steps: value?.maxSteps ?? null,
    valid: !findings.some(({ severity }) => severity === 'error'),
    findings: [...findings],
  };
}

function skillView({ path, name, value, findings }: Reading<Skill>): SkillView {
  const description = value?.description ?? '';
  return { name, description, path, valid: value !== null, findings: [...findings] };
}
