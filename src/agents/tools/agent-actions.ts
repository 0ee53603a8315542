import { Injectable } from '@nestjs/common';
import { type Actor, EFFECTS, type Effect } from '../../platform/access/index.js';
import {
  ActionAllowlist,
  type ActionCall,
  ActionCaller,
  ActionCatalog,
  ActionListing,
  ActionRunner,
  type Limit,
} from '../../platform/actions/index.js';
import { assertValid, Field, hydrate, type Shape } from '../../platform/dto/index.js';
import { Forbidden, problemOf } from '../../platform/errors/index.js';

const FEWEST_FOUND = 10;
/** Longest result that a model is given, in characters. */
const MOST_OUTPUT = 50_000;

class SearchActions {
  @Field.text('What is to be done, in a few words; absent: every action', { max: 500, optional: true })
  query?: string;

  @Field.choice('Only actions with this effect', EFFECTS, { optional: true })
  effect?: Effect;

  @Field.integer('Most actions to list', { min: 1, max: 100, optional: true })
  limit?: number;
}

class DescribeAction {
  @Field.text('Name of the action', { max: 64, example: 'chat_list' })
  name: string;
}

class RunAction {
  @Field.text('Name of the action', { max: 64, example: 'chat_list' })
  name: string;

  @Field.json('Its input, as its input_schema says; workspace_id is filled in', { optional: true })
  input?: unknown;

  @Field.boolean('Only check whether it could be run', { optional: true })
  dry_run?: boolean;
}

/** The tool that runs an action. */
const RUN_TOOL = 'actions_run';

/** A tool with which a model uses the catalog. */
export interface ActionTool {
  readonly name: string;
  readonly description: string;
  readonly input: Shape;
}

export const ACTION_TOOLS: readonly ActionTool[] = [
  {
    name: 'actions_search',
    description: 'Find what the service can do besides these tools: actions, each with its effect.',
    input: SearchActions,
  },
  {
    name: 'actions_describe',
    description: 'Show one action with the JSON Schemas of its input and output.',
    input: DescribeAction,
  },
  {
    name: RUN_TOOL,
    description: 'Run an action in this workspace, on the authority of the person you work for.',
    input: RunAction,
  },
];

/** The run for which an agent works. */
export interface AgentRun {
  readonly id: string;
  readonly actor: Actor;
  readonly workspaceId: string;
}

/** The catalog as one agent run may use it. What is refused is told to the model; faults of ours are thrown. */
export class RunActions {
  /** The tools to offer; none where the agent's allowlist names no action. */
  readonly tools: readonly ActionTool[];

  constructor(
    private readonly catalog: ActionCatalog,
    private readonly listing: ActionListing,
    private readonly runner: ActionRunner,
    private readonly run: AgentRun,
    private readonly allowlist: ActionAllowlist,
    /** The lists of tools of the agent and of those it works for. */
    private readonly lists: readonly (readonly string[])[],
  ) {
    this.tools = allowlist.isEmpty ? [] : ACTION_TOOLS;
  }

  offers(tool: string): boolean {
    return this.tools.some(({ name }) => name === tool);
  }

  /**
   * Who the `actions` command acts as in this run's sandboxes; undefined where there is no such command. Nobody can be asked
   * there, so `limit` says of each call whether it may be made unasked.
   */
  inSandbox(limit: Limit): ActionCaller | undefined {
    return this.allowlist.isEmpty ? undefined : this.caller('sandbox', { limit });
  }

  /** What a call does, for which action; undefined where it cannot be made at all. */
  subjectOf(tool: string, input: unknown): { name: string; effect: Effect; isNamed: boolean } | undefined {
    if (tool !== RUN_TOOL) return { name: tool, effect: 'read', isNamed: false };
    const { name, dry_run } = input as RunAction;
    const declaration = this.catalog.get(name)?.declaration;
    if (!declaration || this.approvedCaller(name).objection(declaration)) return undefined;
    const effect = dry_run === true ? 'read' : declaration.effect;
    return { name, effect, isNamed: this.allowlist.patterns.includes(name) };
  }

  async call(tool: string, input: unknown): Promise<{ output: string; isError: boolean }> {
    try {
      const text = JSON.stringify(await this.answer(tool, input), null, 1);
      const output =
        text.length > MOST_OUTPUT ? `${text.slice(0, MOST_OUTPUT).toWellFormed()}\n… cut off` : text;
      return { output, isError: false };
    } catch (error) {
      const problem = problemOf(error);
      if (!problem) throw error;
      if (tool === RUN_TOOL) await this.runner.refuse(this.caller('agent'), callOf(input), problem);
      return { output: problem.detail, isError: true };
    }
  }

  /** Writes down that a call of an action was not let through, and why. */
  async refuse(input: unknown, reason: string): Promise<void> {
    await this.runner.refuse(this.caller('agent'), callOf(input), new Forbidden(reason));
  }

  private answer(tool: string, input: unknown): unknown {
    if (tool === 'actions_search') return this.search(checked(SearchActions, input));
    if (tool === 'actions_describe') return this.describe(checked(DescribeAction, input));
    const { name, input: given, dry_run } = checked(RunAction, input);
    return this.runner.run(this.approvedCaller(name), { name, input: given, dryRun: dry_run });
  }

  private async search({ query, effect, limit = FEWEST_FOUND }: SearchActions): Promise<unknown> {
    const found = await this.listing.of(this.caller('agent'), { q: query, effect });
    const actions = found
      .slice(0, limit)
      .map(({ name, declaration }) => ({ name, effect: declaration.effect, summary: declaration.summary }));
    return { actions, more: Math.max(0, found.length - limit) };
  }

  private describe({ name }: DescribeAction): unknown {
    const action = this.catalog.require(name);
    this.caller('agent').requireMayRun(action.declaration);
    return action.describe();
  }

  /** Whether it may be done without asking was settled before the call: so an agent without a list may also destroy. */
  private approvedCaller(name: string): ActionCaller {
    return this.caller('agent', this.lists.length === 0 ? { allowlist: this.allowlist.with(name) } : {});
  }

  private caller(
    surface: 'agent' | 'sandbox',
    { allowlist = this.allowlist, limit }: { allowlist?: ActionAllowlist; limit?: Limit } = {},
  ): ActionCaller {
    const { id, actor, workspaceId } = this.run;
    const limits = { actor, workspaceId, allowlist, limit, tools: this.lists };
    return ActionCaller.program({ kind: 'run', id }, surface, limits);
  }
}

/** Opens the catalog for agent runs. */
@Injectable()
export class AgentActions {
  constructor(
    private readonly catalog: ActionCatalog,
    private readonly listing: ActionListing,
    private readonly runner: ActionRunner,
  ) {}

  /** `allowlists` are those of the agent and of those it works for; none for one that may use every tool. */
  open(run: AgentRun, allowlists: readonly (readonly string[])[]): RunActions {
    return new RunActions(
      this.catalog,
      this.listing,
      this.runner,
      run,
      ActionAllowlist.ofAllTools(allowlists),
      allowlists,
    );
  }
}

/** The call that the input of {@link RUN_TOOL} comes to, of which nothing was checked yet. */
function callOf(input: unknown): ActionCall {
  const { name, input: given, dry_run: dryRun } = (input ?? {}) as Record<string, unknown>;
  return { name: typeof name === 'string' ? name : '', input: given, dryRun: dryRun === true };
}

function checked<T extends object>(shape: new () => T, input: unknown): T {
  const instance = hydrate(shape, input);
  assertValid(instance);
  return instance as T;
}
