import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action, ActionAllowlist, allows, inputSchemaOf } from '../../platform/actions/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { AgentGuide, requireAgent, SKILL_TOOL, type Subagent, SubagentsService } from '../subagents/index.js';
import { taskTool } from '../tasks/index.js';
import { ACTION_TOOLS, ToolsService, type ToolView } from '../tools/index.js';
import { AgentToolListView, type AgentToolView, ListAgentTools } from './agent-tools.dto.js';

type ToolShape = Parameters<typeof inputSchemaOf>[0];

/** What agents can use in a workspace, and why not the rest. */
@Injectable()
export class AgentToolsService {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly tools: ToolsService,
    private readonly subagents: SubagentsService,
  ) {}

  @Action({
    name: 'tool_list',
    on: 'workspace_id',
    summary: 'List the tools that an agent can use in a workspace, and why it cannot use others',
    effect: 'read',
    permission: 'workspace.read',
    input: ListAgentTools,
    output: AgentToolListView,
    refuses: { 404: 'No such workspace or agent' },
  })
  async list(actor: Actor, { workspace_id, agent_name }: ListAgentTools): Promise<AgentToolListView> {
    const workspace = await this.workspaces.require(actor, 'workspace.read', workspace_id);
    const contents = await this.subagents.inWorkspace(workspace);
    const agent = agent_name === undefined ? null : requireAgent(contents.agents, agent_name);
    const guide = new AgentGuide(agent, contents, [], false);
    const views = (await this.tools.list(actor, workspace)).map(tool => ({ ...tool, agents_only: false }));
    return { items: [...views, ...ofAgents(guide)].map(tool => limited(tool, agent)) };
  }
}

function ofAgents({ colleagues, hasSkills }: AgentGuide): (ToolView & { agents_only: boolean })[] {
  const task =
    colleagues.length > 0 ? null : 'No agent is defined in .agents/ to which a task could be handed';
  const skill = hasSkills ? null : 'No skill is defined in .agents/skills/';
  return [
    ofAgent(taskTool(colleagues), 'write', task),
    ofAgent(SKILL_TOOL, 'read', skill),
    ...ACTION_TOOLS.map(tool => ofAgent(tool, tool.name === 'actions_run' ? 'write' : 'read', null)),
  ];
}

function ofAgent(
  { name, description, input }: { name: string; description: string; input: ToolShape },
  effect: string,
  reason: string | null,
) {
  const input_schema = inputSchemaOf(input);
  return { name, description, effect, input_schema, available: reason === null, reason, agents_only: true };
}

/** Actions are offered where the list names one of them, too. */
function limited(tool: Omit<AgentToolView, 'allowed_by'>, agent: Subagent | null): AgentToolView {
  if (!agent) return { ...tool, allowed_by: null };
  const isOfActions = ACTION_TOOLS.some(({ name }) => name === tool.name);
  const covers = (pattern: string) =>
    isOfActions ? !ActionAllowlist.ofTools([pattern]).isEmpty : allows([pattern], tool.name);
  const allowed_by = agent.tools.find(covers) ?? null;
  if (allowed_by !== null) return { ...tool, allowed_by };
  const reason = `The list of tools of the agent ${agent.name} does not name it`;
  return { ...tool, available: false, reason: tool.reason ?? reason, allowed_by };
}
