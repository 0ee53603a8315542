import { Injectable } from '@nestjs/common';
import { didYouMean } from '#libs/did-you-mean/index.js';
import { type Finding, Findings } from '#libs/front-matter/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action, ActionCatalog, allows } from '../../platform/actions/index.js';
import { Invalid, NotFound } from '../../platform/errors/index.js';
import { WorkspaceId, WorkspacesStore } from '../../workspaces/core/index.js';
import { ModelSettingsStore, ModelUnusable } from '../models/index.js';
import { AgentFiles } from './agent-guide.js';
import type { Reading, Skill, Subagent } from './definitions.js';
import { AgentListView, type SkillView, type SubagentView } from './subagents.dto.js';

const ACTION = 'action:';
/** The names of all tools that agents can have. Features with tools register theirs. */
@Injectable()
export class ToolNames {
  private readonly sources: (() => readonly string[])[] = [];
  private readonly families: string[] = [];

  add(source: () => readonly string[]): void {
    this.sources.push(source);
  }

  /** Names that begin like this are up to each workspace, and may be of tools that are yet to come. */
  addFamily(prefix: string): void {
    this.families.push(prefix);
  }

  all(): string[] {
    return this.sources.flatMap(source => source());
  }

  /** Whether a name or a pattern can be told to be wrong: it is of no family. */
  isFixed(pattern: string): boolean {
    return !this.families.some(prefix => pattern.startsWith(prefix));
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
      if (names.some(name => allows([wanted], name)) || !this.toolNames.isFixed(pattern)) continue;
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

/** The agents and skills that a workspace defines in its `.agents/` folder. */
@Injectable()
export class SubagentsService {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly files: AgentFiles,
    private readonly lint: AgentLint,
  ) {}

  @Action('agent_list', 'GET /api/workspaces/:workspaceId/agents', {
    summary: 'List the subagents and skills of a workspace, and what is wrong with their files',
    permission: 'file.read',
    input: WorkspaceId,
    output: AgentListView,
  })
  async list(actor: Actor, { workspace_id }: WorkspaceId): Promise<AgentListView> {
    const workspace = await this.workspaces.require(actor, 'file.read', workspace_id);
    const { agents, skills, instructions, findings } = await this.files.inWorkspace(workspace);
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

  /** The agent called `name`: 404 where no file defines it, 422 where its file is not valid. */
  async require(actor: Actor, workspaceId: string, name: string): Promise<Subagent> {
    const { agents } = await this.files.read(actor, workspaceId);
    return requireAgent(agents, name);
  }
}

/** So many are named where one is asked for that is none. */
const MAX_NAMES = 30;

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
  const names = agents.filter(({ value }) => value).map(({ name: its }) => its);
  const known = names.length > 0 ? `; there are ${names.slice(0, MAX_NAMES).join(', ')}` : '';
  throw new NotFound(`No agent "${name}" is defined in the .agents/ folder of this workspace${known}`);
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
