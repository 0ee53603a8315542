import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action, allows, type ToolImage } from '../../platform/actions/index.js';
import { Invalid, NotFound } from '../../platform/errors/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { AgentFiles, AgentGuide, requireAgent, type Subagent } from '../subagents/index.js';
import { SessionCommands } from './session-commands.js';
import { ShellTools } from './shell.tools.js';
import { type ListedTool, outcomeOf, type ToolContext } from './tool-provider.js';
import { Toolbox, ToolProviders } from './toolbox.js';
import { AgentToolListView, type AgentToolView, ListAgentTools, RunTool, ToolRunView } from './tools.dto.js';

/** A call that may be made: the caller may use the tool, and what they gave it makes sense. */
type ReadyTool = (hooks: Pick<ToolContext, 'signal' | 'onOutput'>) => Promise<ToolRunView>;

/** The tools of agents, for people and programs to see and use as agents do. */
@Injectable()
export class ToolsService {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly toolbox: Toolbox,
    private readonly providers: ToolProviders,
    private readonly agents: AgentFiles,
    private readonly sessions: SessionCommands,
    private readonly shellTools: ShellTools,
  ) {}

  @Action('tool_list', 'GET /api/workspaces/:workspaceId/tools', {
    summary: 'List the tools that an agent can use in a workspace, and why it cannot use others',
    permission: 'workspace.read',
    input: ListAgentTools,
    output: AgentToolListView,
    refuses: { 404: 'No such workspace or agent' },
  })
  async list(actor: Actor, { workspace_id, agent_name }: ListAgentTools): Promise<AgentToolListView> {
    const workspace = await this.workspaces.require(actor, 'workspace.read', workspace_id);
    const contents = await this.agents.inWorkspace(workspace);
    const agent = agent_name === undefined ? null : requireAgent(contents.agents, agent_name);
    const guide = new AgentGuide(agent, contents, [], false);
    const tools = await this.providers.list({ actor, workspace, guide });
    return { items: tools.map(tool => viewOf(tool, agent)) };
  }

  @Action('tool_run', {
    summary: 'Run a tool as an agent would; with Accept: text/event-stream, its output as it comes',
    effect: 'write',
    permission: 'file.read',
    input: RunTool,
    output: ToolRunView,
    evidence: 'look at what it was to do, e.g. at the changes of the workspace',
    // Not for agents, whose allowlists name tools.
    restOnly: true,
    refuses: {
      404: 'No such workspace or tool',
      409: 'The caller has too many sessions',
      429: 'As much runs at once as may; Retry-After says when to come back',
      503: 'Code cannot run here',
    },
  })
  async run(actor: Actor, call: RunTool): Promise<ReadyTool> {
    const { workspace_id: workspaceId, tool_name: name, input, session } = call;
    const tool = this.toolbox.find(name);
    await this.workspaces.require(actor, tool?.permission ?? 'workspace.read', workspaceId);
    if (!tool) throw new NotFound(`There is no tool ${name}; there are ${this.toolbox.names.join(', ')}`);
    const checked = tool.check(input, workspaceId);
    const { names } = this.shellTools;
    if (session !== undefined && !names.includes(name))
      throw new Invalid(`Only ${names.join(', ')} have sessions`);
    return async hooks => {
      const started = performance.now();
      const {
        output,
        isError,
        images = [],
        newSession = null,
        exitCode = null,
        workingDirectory = null,
        commandId = null,
      } = await (session === undefined
        ? outcomeOf(tool.run({ actor, workspaceId, ...hooks }, checked))
        : this.sessions.run({ actor, workspaceId, session, tool: name, input: checked }, hooks));
      const duration_ms = Math.round(performance.now() - started);
      return {
        output,
        is_error: isError,
        duration_ms,
        new_session: newSession,
        ...(images.length > 0 ? { images: images.map(imageView) } : {}),
        exit_code: exitCode,
        working_directory: workingDirectory,
        command_id: commandId,
      };
    };
  }
}

const imageView = ({ path, mediaType: media_type, data }: ToolImage) => ({ path, media_type, data });

function viewOf(tool: ListedTool, agent: Subagent | null): AgentToolView {
  const { name, description, effect, schema: input_schema, reason, agentsOnly: agents_only } = tool;
  const view = { name, description, effect, input_schema, available: reason === null, reason, agents_only };
  if (!agent) return { ...view, allowed_by: null };
  const allowedBy = tool.allowedBy ?? ((pattern: string) => allows([pattern], name));
  const allowed_by = agent.tools.find(allowedBy) ?? null;
  if (allowed_by !== null) return { ...view, allowed_by };
  const unlisted = `The list of tools of the agent ${agent.name} does not name it`;
  return { ...view, available: false, reason: reason ?? unlisted, allowed_by };
}
