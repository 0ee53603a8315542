import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Invalid, NotFound } from '../../platform/errors/index.js';
import { type VisibleWorkspace, WorkspacesStore } from '../../workspaces/core/index.js';
import { AgentLint } from './agent-lint.js';
import { AgentsFolder, type AgentsFolderContents } from './agents-folder.js';
import type { Finding, Reading } from './finding.js';
import type { Skill } from './skill.js';
import type { Subagent } from './subagent.js';
import { AgentListView, ListAgents, type SkillView, type SubagentView } from './subagents.dto.js';

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
    on: 'workspace_id',
    summary: 'List the subagents and skills of a workspace, and what is wrong with their files',
    effect: 'read',
    permission: 'file.read',
    input: ListAgents,
    output: AgentListView,
  })
  async list(actor: Actor, { workspace_id }: ListAgents): Promise<AgentListView> {
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

  /** Everything that a workspace tells its agents. */
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
