import { Injectable } from '@nestjs/common';
import { type Actor, requireInWorkspace } from '../../platform/access/index.js';
import { Action, inputSchemaOf } from '../../platform/actions/index.js';
import { LimitReached } from '../../platform/concurrency/index.js';
import { Forbidden, Invalid, NotFound, problemOf } from '../../platform/errors/index.js';
import { type VisibleWorkspace, WorkspacesStore } from '../../workspaces/core/index.js';
import { NamedShells, type Shell } from '../../workspaces/sandboxes/index.js';
import { BASH } from './bash.tool.js';
import { failed, type Tool, type ToolContext, type ToolResult } from './tool.js';
import { Toolbox } from './toolbox.js';
import { RunTool, ToolRunView, type ToolView } from './tools.dto.js';

/** A call that may be made: the caller may use the tool, and what they gave it makes sense. */
type ReadyTool = (hooks: Pick<ToolContext, 'signal' | 'onOutput'>) => Promise<ToolRunView>;

/** The tools of agents, for people and programs to see and use as agents do. */
@Injectable()
export class ToolsService {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly toolbox: Toolbox,
    private readonly shells: NamedShells,
  ) {}

  /** The tools as the caller may use them in the workspace, and why they may not use others. */
  list(actor: Actor, workspace: VisibleWorkspace): Promise<ToolView[]> {
    return Promise.all(this.toolbox.list().map(tool => viewOf(tool, actor, workspace)));
  }

  @Action({
    name: 'tool_run',
    on: 'workspace_id',
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
    if (!tool) throw new NotFound(`There is no tool ${name}`);
    const checked = this.toolbox.check(tool, input);
    if (session !== undefined && name !== BASH) throw new Invalid(`Only ${BASH} has sessions`);
    return async hooks => {
      const started = performance.now();
      const work = (shell?: Shell) => outcomeOf(tool.run({ actor, workspaceId, shell, ...hooks }, checked));
      const {
        output,
        isError,
        newSession = null,
      } = await (session === undefined ? work() : this.shells.use(actor, workspaceId, session, work));
      const duration_ms = Math.round(performance.now() - started);
      return { output, is_error: isError, duration_ms, new_session: newSession };
    };
  }
}

/** What a tool refuses on its way is a result, as for an agent; what keeps us from running it is not: a caller may come again. */
async function outcomeOf(work: Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work;
  } catch (error) {
    const problem = problemOf(error);
    if (!problem || problem.status >= 500 || problem instanceof LimitReached) throw error;
    return failed(problem.detail);
  }
}

async function viewOf(tool: Tool, actor: Actor, workspace: VisibleWorkspace): Promise<ToolView> {
  const { name, description, effect, input } = tool;
  const reason = refusal(tool, actor, workspace) ?? (await tool.fault?.()) ?? null;
  return {
    name,
    description,
    effect,
    input_schema: inputSchemaOf(input),
    available: reason === null,
    reason,
  };
}

function refusal({ permission }: Tool, actor: Actor, workspace: VisibleWorkspace): string | null {
  try {
    requireInWorkspace(actor, permission, workspace);
    return null;
  } catch (error) {
    if (error instanceof Forbidden) return error.detail;
    throw error;
  }
}
