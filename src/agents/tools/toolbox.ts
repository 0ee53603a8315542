import { Injectable, OnModuleInit } from '@nestjs/common';
import { requireInWorkspace } from '../../platform/access/index.js';
import { ActionCatalog } from '../../platform/actions/index.js';
import { Forbidden, problemOf } from '../../platform/errors/index.js';
import { writingAs } from '../../workspaces/changes/index.js';
import { ActionTool } from './action-tool.js';
import { BashTool } from './bash.tool.js';
import { failed, type Tool, type ToolContext, type ToolResult } from './tool.js';
import {
  type ListedTool,
  type ListScope,
  type OpenTools,
  type ToolProvider,
  ToolProviders,
  type ToolScope,
} from './tool-provider.js';

/** The tools of every workspace: bash, and the actions that are tools by themselves. Whoever calls one calls it here. */
@Injectable()
export class Toolbox implements ToolProvider, OnModuleInit {
  readonly kind = 'workspace';
  private known: ReadonlyMap<string, Tool> | undefined;

  constructor(
    private readonly bash: BashTool,
    private readonly catalog: ActionCatalog,
    private readonly providers: ToolProviders,
  ) {}

  onModuleInit(): void {
    this.providers.register(this);
  }

  /** The catalog knows its actions when all modules are initialised. */
  private get tools(): ReadonlyMap<string, Tool> {
    this.known ??= new Map(
      [this.bash, ...ActionTool.allOf(this.catalog.list())].map(tool => [tool.name, tool] as const),
    );
    return this.known;
  }

  get names(): readonly string[] {
    return [...this.tools.keys()];
  }

  all(): Tool[] {
    return [...this.tools.values()];
  }

  find(name: string): Tool | undefined {
    return this.tools.get(name);
  }

  /**
   * Runs a tool. What it refuses (a path that is not there, a role that is too low) is a result that says so, for a
   * model to act on; faults of ours are thrown.
   */
  async run(context: ToolContext, name: string, input: unknown): Promise<ToolResult> {
    const tool = this.tools.get(name);
    if (!tool) return failed(`There is no tool ${name}; there are ${this.names.join(', ')}`);
    try {
      const checked = tool.check(input, context.workspaceId);
      const { runId } = context;
      const work = () => tool.run(context, checked);
      return await (runId === undefined ? work() : writingAs({ type: 'run', id: runId }, work));
    } catch (error) {
      const problem = problemOf(error);
      if (!problem) throw error;
      return failed(problem.detail);
    }
  }

  /** The tools as the caller may use them in the workspace, and why they may not use others. */
  list(view: ListScope): Promise<ListedTool[]> {
    return Promise.all(
      this.all().map(async tool => {
        const { name, description, schema, effect } = tool;
        const reason = refusal(tool, view) ?? (await tool.fault?.()) ?? null;
        return { name, description, schema, effect, reason, agentsOnly: false };
      }),
    );
  }

  open({ runId, actor, workspaceId, guide, shell, inSandbox }: ToolScope): OpenTools {
    return {
      offered: this.all().filter(({ name }) => guide.allows(name)),
      subjectOf: name => {
        const tool = guide.allows(name) ? this.find(name) : undefined;
        return tool && { name, effect: tool.effect, isNamed: false };
      },
      call: (name, input, { signal, yieldSignal, onOutput }) => {
        const hooks = { signal, yieldSignal, onOutput };
        return this.run({ actor, workspaceId, runId, actions: inSandbox, shell, ...hooks }, name, input);
      },
    };
  }
}

function refusal(
  { permission }: Tool,
  { actor, workspace }: Pick<ListScope, 'actor' | 'workspace'>,
): string | null {
  try {
    requireInWorkspace(actor, permission, workspace);
    return null;
  } catch (error) {
    if (error instanceof Forbidden) return error.detail;
    throw error;
  }
}
