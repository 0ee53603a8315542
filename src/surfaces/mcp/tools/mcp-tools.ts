import type { Tool } from '@modelcontextprotocol/server';
import { Inject, Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { SessionCommands, ShellTools, Toolbox } from '../../../agents/tools/index.js';
import type { Permission } from '../../../platform/access/index.js';
import { ActionCaller, ActionCatalog, ActionListing, ActionRunner } from '../../../platform/actions/index.js';
import { Config } from '../../../platform/config/index.js';
import { problemOf } from '../../../platform/errors/index.js';
import { WorkspacesStore } from '../../../workspaces/core/index.js';
import { Approvals } from '../approvals/approvals.js';
import { RunQuestions } from '../approvals/run-questions.js';
import { type Dialogue, type McpCall, SILENCE, type ToolView } from '../call/mcp-call.js';
import {
  MCP_EXTENSION,
  type McpExtension,
  type McpTool,
  refused,
  type ToolAnswer,
} from '../call/mcp-tool.js';
import { ActionTool, TOOL_VIEWS } from './action-tool.js';
import { CatalogTools } from './catalog-tools.js';
import { ShellTool } from './shell-tool.js';

/** The tools of the endpoint: few, sorted, and the same for every caller who asks for the same view. */
@Injectable()
export class McpTools implements OnApplicationBootstrap {
  private tools: ReadonlyMap<string, McpTool> = new Map();

  constructor(
    private readonly catalog: ActionCatalog,
    private readonly listing: ActionListing,
    private readonly runner: ActionRunner,
    private readonly toolbox: Toolbox,
    private readonly shellTools: ShellTools,
    private readonly sessions: SessionCommands,
    private readonly workspaces: WorkspacesStore,
    private readonly approvals: Approvals,
    private readonly questions: RunQuestions,
    private readonly config: Config,
    @Inject(MCP_EXTENSION) private readonly extension: McpExtension,
  ) {}

  /** The catalog knows its actions once every module is initialised. */
  onApplicationBootstrap(): void {
    const { toolbox, sessions, runner, workspaces } = this;
    const waitSeconds = this.config.mcpWaitSeconds;
    const parts = { toolbox, sessions, runner, workspaces };
    const actionParts = { runner, waitSeconds, questions: this.questions };
    const all = [
      ...this.catalog.list().flatMap(action => {
        const { tool } = action.declaration;
        const view = tool && TOOL_VIEWS[tool.name];
        return view ? [new ActionTool(actionParts, action, view, tool)] : [];
      }),
      ...this.shellTools.all.map(tool => new ShellTool(parts, tool)),
      ...new CatalogTools(this.catalog, this.listing, this.runner, this.approvals, waitSeconds).list(),
      ...this.extension.tools,
    ];
    const byName = all.map((tool): [string, McpTool] => [tool.definition.name, tool]);
    this.tools = new Map(byName.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  list(view: ToolView): Tool[] {
    return [...this.tools.values()].filter(tool => isIn(view, tool)).map(({ definition }) => definition);
  }

  /** What a call takes; nothing where the view has no such tool. */
  permissions(view: ToolView, name: string, input: Record<string, unknown>): Permission[] {
    const tool = this.tools.get(name);
    if (!tool || !isIn(view, tool)) return [];
    return (tool.permissions?.(input) ?? []).filter(permission => permission !== null);
  }

  /**
   * Writes down that a call of an action was refused, where that was not done yet; returns the error, with the name of the
   * entry. What is no call of an action has none.
   */
  async refuse(
    { actor, view }: McpCall,
    { name, input }: { name: string; input: Record<string, unknown> },
    error: unknown,
  ): Promise<unknown> {
    const tool = this.tools.get(name);
    const asked = tool && isIn(view, tool) ? tool.actionCall?.(input) : undefined;
    if (!asked) return error;
    return this.runner.refuse(ActionCaller.direct(actor, 'mcp'), asked, error);
  }

  /** Undefined where the view has no such tool. What the tool refuses is a result; faults of ours are thrown. */
  async call(
    call: McpCall,
    name: string,
    input: Record<string, unknown>,
    dialogue: Dialogue = SILENCE,
  ): Promise<ToolAnswer | undefined> {
    const tool = this.tools.get(name);
    if (!tool || !isIn(call.view, tool)) return undefined;
    try {
      return await tool.call(call, input, dialogue);
    } catch (error) {
      const problem = problemOf(error);
      if (!problem) throw error;
      await this.refuse(call, { name, input }, problem);
      return refused(problem.detail);
    }
  }
}

const isIn = ({ toolsets, readonly }: ToolView, { toolset, definition }: McpTool): boolean =>
  toolsets.includes(toolset) && (!readonly || definition.annotations.readOnlyHint);
