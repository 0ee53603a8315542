import { Injectable, OnModuleInit } from '@nestjs/common';
import {
  isWorkspacePermission,
  requireInWorkspace,
  type WorkspacePermission,
} from '../../platform/access/index.js';
import {
  ActionAllowlist,
  ActionCatalog,
  type CatalogAction,
  type ToolDeclaration,
} from '../../platform/actions/index.js';
import { Forbidden, Invalid, problemOf } from '../../platform/errors/index.js';
import { ToolNames } from '../subagents/index.js';
import { fieldFault } from './field-fault.js';
import { type FieldWords, leanSchema } from './lean-schema.js';
import { ShellTools } from './shell.tools.js';
import {
  failed,
  KINDS,
  type ListedTool,
  type ListScope,
  type OpenTools,
  shorten,
  type Tool,
  type ToolContext,
  type ToolOffer,
  type ToolProvider,
  type ToolResult,
  type ToolScope,
} from './tool-provider.js';
import { WebFetchTool } from './web-fetch.tool.js';

/** An action that agents have as a tool by itself, in the workspace that they work in. */
export class ActionTool implements Tool {
  readonly schema: Readonly<Record<string, unknown>>;

  constructor(
    private readonly action: CatalogAction,
    private readonly tool: ToolDeclaration & Pick<Required<ToolDeclaration>, 'agents'>,
  ) {
    const { workspace_id: _, ...own } = action.toolSchema.properties as Record<string, unknown>;
    const required = (action.toolSchema.required as string[]).filter(name => name !== 'workspace_id');
    this.schema = { ...action.toolSchema, properties: own, required };
  }

  /** Those of the catalog. */
  static allOf(actions: readonly CatalogAction[]): ActionTool[] {
    return actions.flatMap(action => {
      const { tool } = action.declaration;
      return tool?.agents ? [new ActionTool(action, { ...tool, agents: tool.agents })] : [];
    });
  }

  get name(): string {
    return this.tool.name;
  }

  get brief(): string {
    return this.tool.agents.brief;
  }

  get told(): FieldWords {
    return this.tool.agents.told;
  }

  get title(): string {
    return this.tool.title;
  }

  get description(): string {
    return this.tool.description;
  }

  get effect() {
    return this.action.declaration.effect;
  }

  get permission(): WorkspacePermission {
    const { permission } = this.action.declaration;
    if (!isWorkspacePermission(permission))
      throw new Error(`${this.name} takes no permission in a workspace`);
    return permission;
  }

  check(input: unknown, workspaceId: string): object {
    if (typeof input === 'object' && input !== null && 'workspace_id' in input)
      throw new Invalid('workspace_id is not a field of this tool');
    try {
      return this.action.readInput(this.action.ofTool(input), workspaceId);
    } catch (error) {
      throw error instanceof Invalid ? this.inItsWords(error) : error;
    }
  }

  /** The refusal, with the name that the tool has for the field. */
  private inItsWords({ detail }: Invalid): Invalid {
    const [its] =
      Object.entries(this.tool.renamed ?? {}).find(([, ours]) => detail.startsWith(`${ours} `)) ?? [];
    return new Invalid(its === undefined ? detail : detail.replace(/^\S+/, its));
  }

  async run({ actor, signal }: ToolContext, input: object): Promise<ToolResult> {
    const { text, images, changed, defaults } = this.tool.agents;
    const given = { ...defaults, ...input };
    const output = (await this.action.invoke(actor, given, signal)) as object;
    const whole = text(output);
    return {
      output: shorten(whole),
      whole,
      isError: false,
      changed: changed?.(output),
      images: images?.(output),
    };
  }
}

/** All that has tools for agents. */
@Injectable()
export class ToolProviders {
  private readonly all: ToolProvider[] = [];

  constructor(private readonly toolNames: ToolNames) {}

  register(provider: ToolProvider): void {
    this.all.push(provider);
    this.all.sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
    this.toolNames.add(() => provider.names);
  }

  async list(view: ListScope): Promise<ListedTool[]> {
    return (await Promise.all(this.all.map(provider => provider.list(view)))).flat();
  }

  /** What each offers to a run, and the names that it answers to; those with nothing to offer are opened when they are called. */
  open(scope: ToolScope): Promise<OpenedProvider[]> {
    return Promise.all(
      this.all.map(async provider => (await prepared(provider, scope)) ?? this.opened(provider, scope)),
    );
  }

  private opened(provider: ToolProvider, scope: ToolScope): OpenedProvider {
    const { names, needs, offered: always } = provider;
    let opened: OpenTools | undefined;
    const tools = () => {
      opened ??= provider.open(scope);
      return opened;
    };
    const offered = needs && isNothing(scope.guide[needs]) ? [] : (always ?? tools().offered);
    return { names, offered: offered.map(leanOffer), tools };
  }
}

/** Offers as models get them: most are the same in every run. */
const leanOffers = new WeakMap<ToolOffer, ToolOffer>();

function leanOffer(tool: ToolOffer): ToolOffer {
  const { name, description, brief, schema, told } = tool;
  const offer = leanOffers.get(tool) ?? {
    name,
    description: brief ?? description,
    schema: leanSchema(schema, told),
  };
  leanOffers.set(tool, offer);
  return offer;
}

export interface OpenedProvider {
  readonly names: readonly string[];
  readonly offered: readonly ToolOffer[];
  readonly tools: () => OpenTools;
}

/** What comes from elsewhere keeps the schemas that it came with. */
async function prepared(provider: ToolProvider, scope: ToolScope): Promise<OpenedProvider | undefined> {
  const ready = await provider.prepare?.(scope);
  return ready && { names: ready.names, offered: ready.tools.offered, tools: () => ready.tools };
}

const isNothing = (had: readonly unknown[] | ActionAllowlist): boolean =>
  had instanceof ActionAllowlist ? had.isEmpty : had.length === 0;

/** The tools of every workspace: bash and what belongs to it, and the actions that are tools by themselves. All calls of them come here. */
@Injectable()
export class Toolbox implements ToolProvider, OnModuleInit {
  readonly kind = 'workspace';
  private known: ReadonlyMap<string, Tool> | undefined;

  constructor(
    private readonly shellTools: ShellTools,
    private readonly webFetch: WebFetchTool,
    private readonly catalog: ActionCatalog,
    private readonly providers: ToolProviders,
  ) {}

  onModuleInit(): void {
    this.providers.register(this);
  }

  /** The catalog knows its actions when all modules are initialised. */
  private get tools(): ReadonlyMap<string, Tool> {
    this.known ??= new Map(
      [...this.shellTools.all, this.webFetch, ...ActionTool.allOf(this.catalog.list())].map(
        tool => [tool.name, tool] as const,
      ),
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
      const fault = fieldFault(tool, input);
      if (fault) return failed(fault);
      const checked = tool.check(input, context.workspaceId);
      const { actor, runId, known } = context;
      const caller = runId === undefined ? actor : { ...actor, call: { runId, known } };
      return await tool.run({ ...context, actor: caller }, checked);
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

  open(scope: ToolScope): OpenTools {
    const { runId, actor, workspaceId, guide, shell, inSandbox, known } = scope;
    return {
      offered: this.all().filter(({ name, isOffered }) => guide.allows(name) && isOffered?.(scope) !== false),
      subjectOf: name => {
        const tool = guide.allows(name) ? this.find(name) : undefined;
        return tool && { name, effect: tool.effect, isNamed: false };
      },
      call: async (name, input, { signal, yieldSignal, onOutput }) => {
        const own = known.ofCall();
        const context = {
          actor,
          known: own,
          workspaceId,
          runId,
          actions: inSandbox,
          shell,
          signal,
          yieldSignal,
          onOutput,
        };
        const result = await this.run(context, name, input);
        return { ...result, seen: own.files };
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
