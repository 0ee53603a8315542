import { Injectable, OnModuleInit } from '@nestjs/common';
import { didYouMean } from '#libs/did-you-mean/index.js';
import { inputSchemaOf } from '#libs/fields/index.js';
import { EFFECTS, type Effect } from '../../platform/access/index.js';
import {
  ActionAllowlist,
  type ActionCall,
  ActionCaller,
  ActionCatalog,
  ActionListing,
  ActionRunner,
  type CatalogAction,
  declarationFor,
} from '../../platform/actions/index.js';
import { Field } from '../../platform/dto/index.js';
import { Forbidden, NotFound, problemOf } from '../../platform/errors/index.js';
import { fieldFault, inputOf } from './field-fault.js';
import { listingOf } from './listing-hint.js';
import { signatureOf } from './signature.js';
import {
  type CallSubject,
  failed,
  type ListedTool,
  MAX_OUTPUT,
  type OpenTools,
  succeeded,
  type ToolOffer,
  type ToolProvider,
  type ToolResult,
  type ToolScope,
} from './tool-provider.js';
import { ToolProviders } from './toolbox.js';

const DEFAULT_FOUND = 10;

class SearchActions {
  @Field.text('What is to be done, in a few words; absent: every action', { max: 500, optional: true })
  query?: string;

  @Field.choice('Only actions with this effect', EFFECTS, { optional: true }) effect?: Effect;
  @Field.integer('Most actions to list', { min: 1, max: 100, optional: true }) limit?: number;
}

class DescribeAction {
  @Field.text('Name of the action', { max: 64, example: 'chat_list' }) name: string;
}

class RunAction {
  @Field.text('Name of the action', { max: 64, example: 'chat_list' }) name: string;

  @Field.json('Its input, as its input_schema says; workspace_id is filled in', { optional: true })
  input?: unknown;

  @Field.boolean('Only check whether it could be run', { optional: true }) dry_run?: boolean;
}

/** The tool that runs an action. */
const RUN_TOOL = 'actions_run';

const OFFERS: readonly ToolOffer[] = [
  {
    name: 'actions_search',
    description:
      'Find what the service can do besides these tools: actions, each with its effect and the fields of its input.',
    brief:
      'Find what else this service can do: sites, servers, shares, chats, automations, members and more.',
    schema: inputSchemaOf(SearchActions),
    told: { query: '' },
  },
  {
    name: 'actions_describe',
    description: 'Show one action with the JSON Schemas of its input and output.',
    schema: inputSchemaOf(DescribeAction),
  },
  {
    name: RUN_TOOL,
    description: 'Run an action in this workspace, on the authority of the person you work for.',
    brief: 'Run an action that actions_search found.',
    schema: inputSchemaOf(RunAction),
    told: { name: '', input: '' },
  },
];

/** The others: a search says what is needed to run what it finds, and a schema in full is seldom wanted. */
const OFFERED: readonly ToolOffer[] = OFFERS.filter(({ name }) => name !== 'actions_describe');

/** The run for which an agent works. */
type AgentRun = Pick<ToolScope, 'runId' | 'actor' | 'workspaceId'>;

/** The catalog as one agent run may use it. Refusals are results for the model; internal faults are thrown. */
class RunActions implements OpenTools {
  /** None where the agent's allowlist names no action. */
  readonly offered: readonly ToolOffer[];

  constructor(
    private readonly catalog: ActionCatalog,
    private readonly listing: ActionListing,
    private readonly runner: ActionRunner,
    private readonly run: AgentRun,
    private readonly allowlist: ActionAllowlist,
    /** The lists of tools of the agent and of those it works for. */
    private readonly lists: readonly (readonly string[])[],
    /** A person saved the file that names actions in full. */
    private readonly isFileTheirs: boolean,
  ) {
    this.offered = allowlist.isEmpty ? [] : OFFERED;
  }

  /** What a call does, for which action; undefined where it cannot be made at all. */
  subjectOf(tool: string, input: unknown): CallSubject | undefined {
    if (this.offered.length === 0) return undefined;
    if (tool !== RUN_TOOL) return { name: tool, effect: 'read', isNamed: false };
    const { name, dry_run } = input as RunAction;
    const declared = this.catalog.get(name)?.declaration;
    const declaration = declared && declarationFor(declared, (input as RunAction).input);
    if (!declaration || this.approvedCaller(name).objection(declaration)) return undefined;
    const effect = dry_run === true ? 'read' : declaration.effect;
    return { name, effect, isNamed: this.isFileTheirs && this.allowlist.patterns.includes(name) };
  }

  async call(tool: string, input: unknown): Promise<ToolResult> {
    if (this.offered.length === 0) return failed(`There is no tool ${tool} here`);
    try {
      const text = JSON.stringify(await this.answer(tool, input), null, 1);
      const output =
        text.length > MAX_OUTPUT ? `${text.slice(0, MAX_OUTPUT).toWellFormed()}\n… cut off` : text;
      return succeeded(output);
    } catch (error) {
      const problem = problemOf(error);
      if (!problem) throw error;
      if (tool !== RUN_TOOL) return failed(problem.detail);
      await this.runner.refuse(this.caller(), callOf(input), problem);
      return failed(problem.status === 422 ? this.taught(callOf(input), problem.detail) : problem.detail);
    }
  }

  /** What is wrong with the input of an action, with the fields that there are, or where ids come from. */
  private taught({ name, input = {} }: ActionCall, detail: string): string {
    const schema = this.catalog.get(name)?.describe().input_schema;
    if (!schema || Array.isArray(input)) return detail;
    const required = (schema.required as string[]).filter(field => field !== 'workspace_id');
    const fault = fieldFault({ name, schema: { ...schema, required } }, input);
    const [, field] = /^(\w+) must be a UUID/.exec(detail) ?? [];
    const names = new Set(this.catalog.list().map(action => action.name));
    const listing = field && listingOf(name, field, names);
    return fault ?? (listing ? `${detail}; ${listing} has them` : detail);
  }

  /** Writes down that a call of an action was not let through, and why. */
  async refused(tool: string, input: unknown, reason: string): Promise<void> {
    if (tool === RUN_TOOL) await this.runner.refuse(this.caller(), callOf(input), new Forbidden(reason));
  }

  private answer(tool: string, input: unknown): unknown {
    if (tool === 'actions_search') return this.search(inputOf(tool, SearchActions, input));
    if (tool === 'actions_describe') return this.describe(inputOf(tool, DescribeAction, input));
    const { name, input: given, dry_run } = inputOf(tool, RunAction, input);
    this.known(name);
    return this.runner.run(this.approvedCaller(name), { name, input: given, dryRun: dry_run });
  }

  private async search({ query, effect, limit = DEFAULT_FOUND }: SearchActions): Promise<unknown> {
    const found = await this.listing.of(this.caller(), { q: query, effect });
    const actions = found.slice(0, limit).map(action => ({
      name: action.name,
      effect: action.declaration.effect,
      summary: action.declaration.summary,
      input: signatureOf(action.describe().input_schema, ['workspace_id']),
    }));
    return { actions, more: Math.max(0, found.length - limit) };
  }

  /** Throws NotFound, which says where names come from. */
  private known(name: string): CatalogAction {
    const action = this.catalog.get(name);
    if (action) return action;
    const names = this.catalog.list().map(({ name }) => name);
    const meant = didYouMean(name, names);
    const hint = meant ? `; did you mean ${meant}?` : '.';
    throw new NotFound(`There is no action ${name}${hint} actions_search finds their names`);
  }

  private describe({ name }: DescribeAction): unknown {
    const action = this.known(name);
    this.caller().requireMayRun(declarationFor(action.declaration));
    return action.describe();
  }

  /** Whether it may be done without asking was settled before the call: so an agent without a list may also destroy. */
  private approvedCaller(name: string): ActionCaller {
    return this.caller(this.lists.length === 0 ? this.allowlist.with(name) : undefined);
  }

  private caller(allowlist = this.allowlist): ActionCaller {
    const { runId: id, actor, workspaceId } = this.run;
    const limits = { actor, workspaceId, allowlist, tools: this.lists };
    return ActionCaller.program({ kind: 'run', id }, 'agent', limits);
  }
}

/** The catalog of actions, as agents use it. */
@Injectable()
export class AgentActions implements ToolProvider, OnModuleInit {
  readonly kind = 'action';
  readonly needs = 'actions';
  readonly offered = OFFERED;
  readonly names = OFFERS.map(({ name }) => name);

  constructor(
    private readonly catalog: ActionCatalog,
    private readonly listing: ActionListing,
    private readonly runner: ActionRunner,
    private readonly providers: ToolProviders,
  ) {}

  onModuleInit(): void {
    this.providers.register(this);
  }

  async list(): Promise<ListedTool[]> {
    // They are offered where a list names an action, too.
    const allowedBy = (pattern: string) => !ActionAllowlist.ofTools([pattern]).isEmpty;
    return OFFERS.map(offer => {
      const effect = offer.name === RUN_TOOL ? 'write' : 'read';
      return { ...offer, effect, reason: null, agentsOnly: true, allowedBy };
    });
  }

  open({ guide: { actions, allowlists }, isFileTheirs, ...run }: ToolScope): OpenTools {
    const { catalog, listing, runner } = this;
    return new RunActions(catalog, listing, runner, run, actions, allowlists, isFileTheirs);
  }
}

/** The call that the input of {@link RUN_TOOL} comes to, of which nothing was checked yet. */
function callOf(input: unknown): ActionCall {
  const { name, input: given, dry_run: dryRun } = (input ?? {}) as Record<string, unknown>;
  return { name: typeof name === 'string' ? name : '', input: given, dryRun: dryRun === true };
}
