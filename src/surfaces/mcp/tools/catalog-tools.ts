import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { cutText, lengthOf } from '#libs/bounded-json/index.js';
import { parseJson, textOf } from '#libs/exact-json/index.js';
import { inputSchemaOf, outputSchemaOf, type Shape, undescribed } from '#libs/fields/index.js';
import { structured } from '#libs/mcp-http/index.js';
import {
  type Actor,
  EFFECTS,
  type Effect,
  type Permission,
  requireScope,
} from '../../../platform/access/index.js';
import {
  type ActionCall,
  ActionCaller,
  type ActionCatalog,
  type ActionListing,
  type ActionRunner,
  declarationFor,
  permissionToRun,
} from '../../../platform/actions/index.js';
import { checked } from '../../../platform/dto/index.js';
import { Invalid } from '../../../platform/errors/index.js';
import type { Approvals } from '../approvals/approvals.js';
import type { Dialogue, McpCall } from '../call/mcp-call.js';
import {
  HINTS,
  type Hint,
  MAX_CHARACTERS,
  type McpTool,
  type ToolAnswer,
  withWaitLimit,
} from '../call/mcp-tool.js';
import {
  ActionDetails,
  ActionName,
  ActionOutcome,
  ActionsFound,
  RunAction,
  SearchActions,
} from './catalog-tools.dto.js';

const DEFAULT_FOUND = 10;
const CHANGING = EFFECTS.filter(effect => effect !== 'read');

interface Definition<Input extends object> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly hint: Hint;
  readonly input: new () => Input;
  readonly output: Shape;
  readonly permissions: NonNullable<McpTool['permissions']>;
  readonly actionCall?: McpTool['actionCall'];
  readonly answer: (
    call: McpCall,
    input: Input,
    dialogue: Dialogue,
  ) => Promise<Record<string, unknown> | Instead>;
}

/** An answer instead of an output. */
class Instead {
  constructor(readonly answer: ToolAnswer) {}
}

/** The four tools that reach every other action of the service. */
export class CatalogTools {
  constructor(
    private readonly catalog: ActionCatalog,
    private readonly listing: ActionListing,
    private readonly runner: ActionRunner,
    private readonly approvals: Approvals,
    private readonly waitSeconds: number,
  ) {}

  list(): McpTool[] {
    return [
      catalogTool({
        name: 'actions_search',
        title: 'Search actions',
        description:
          'Find what you could do besides these tools, in words: workspaces, members, keys, chats, usage and more.',
        hint: 'read',
        permissions: () => ['action.read'],
        input: SearchActions,
        output: ActionsFound,
        answer: (call, input) => this.search(call, input),
      }),
      catalogTool({
        name: 'actions_describe',
        title: 'Describe an action',
        description: 'Show one action with the JSON Schemas of its input and output.',
        hint: 'read',
        permissions: () => ['action.read'],
        input: ActionName,
        output: ActionDetails,
        answer: (call, input) => this.describe(call, input),
      }),
      catalogTool({
        name: 'actions_read',
        title: 'Run a reading action',
        description: 'Run an action whose effect is read.',
        hint: 'read',
        permissions: ({ name }) => this.permissionsToRun(name),
        actionCall: callNamedBy,
        input: RunAction,
        output: ActionOutcome,
        answer: ({ actor }, input) => this.read(actor, input),
      }),
      catalogTool({
        name: 'actions_write',
        title: 'Run a changing action',
        description:
          'Run an action whose effect is write, destructive or expose. Before it destroys, or opens something to others, the person is asked.',
        hint: 'anything',
        permissions: ({ name }) => this.permissionsToRun(name),
        actionCall: callNamedBy,
        input: RunAction,
        output: ActionOutcome,
        answer: (call, input, dialogue) => this.write(call, input, dialogue),
      }),
    ];
  }

  private permissionsToRun(name: unknown): (Permission | null)[] {
    const { effect = 'read', permission = null } = this.catalog.get(textOf(name))?.declaration ?? {};
    return [permissionToRun(effect), permission];
  }

  private async search({ actor, view }: McpCall, { query, workspace_id, ...asked }: SearchActions) {
    requireScope(actor, 'action.read');
    const { effect, limit = DEFAULT_FOUND } = asked;
    const found = await this.listing.of(ActionCaller.direct(actor, 'mcp'), {
      q: query,
      effect,
      workspaceId: workspace_id,
      readonly: view.readonly,
    });
    const actions = found
      .slice(0, limit)
      .map(({ name, declaration }) => ({ name, effect: declaration.effect, summary: declaration.summary }));
    return { actions, more: found.length - actions.length };
  }

  private async describe({ actor }: McpCall, { name }: ActionName) {
    requireScope(actor, 'action.read');
    const action = this.catalog.require(name);
    this.caller(actor, name).requireMayRun(declarationFor(action.declaration));
    return { ...action.describe() };
  }

  private async write(call: McpCall, asked: RunAction, dialogue: Dialogue) {
    const { actor } = call;
    await this.requireLetIn(actor, asked, CHANGING);
    const declaration = declarationFor(this.catalog.require(asked.name).declaration, asked.input);
    const isAsked =
      declaration.effect === 'destructive' || ActionCaller.direct(actor, 'mcp').isToAsk(declaration);
    if (isAsked && !asked.dry_run) {
      const checked = await this.runner.check(this.caller(actor, asked.name), this.callOf(asked));
      const question = await this.unlessRefused(actor, asked, () =>
        this.approvals.ask(call, checked, dialogue),
      );
      if (question) return new Instead(question);
    }
    return this.run(actor, asked);
  }

  private async read(actor: Actor, asked: RunAction) {
    await this.requireLetIn(actor, asked, ['read']);
    return this.run(actor, asked);
  }

  private async run(actor: Actor, asked: RunAction) {
    return { ...(await this.runner.run(this.caller(actor, asked.name), this.callOf(asked))) };
  }

  private requireLetIn(actor: Actor, asked: RunAction, effects: readonly Effect[]): Promise<void> {
    const { effect } = declarationFor(this.catalog.require(asked.name).declaration, asked.input);
    return this.unlessRefused(actor, asked, async () => {
      requireScope(actor, permissionToRun(effect));
      if (!effects.includes(effect))
        throw new Invalid(`The effect of ${asked.name} is ${effect}: use ${toolFor(effect)}`);
    });
  }

  /** What is refused before the action is looked at is written down, too. */
  private async unlessRefused<T>(actor: Actor, asked: RunAction, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw await this.runner.refuse(this.caller(actor, asked.name), this.callOf(asked), error);
    }
  }

  private callOf({ name, input, workspace_id: workspaceId, dry_run: dryRun }: RunAction): ActionCall {
    return { name, input: withWaitLimit(input, this.waitSeconds), workspaceId, dryRun };
  }

  /** The caller as which `name` is run, or rehearsed: its person is asked before it gets here. */
  private caller(actor: Actor, name: string): ActionCaller {
    return ActionCaller.direct(actor, 'mcp', name);
  }
}

/** A call as it came, of an input that nothing has checked yet. */
const callNamedBy = ({ name, input, workspace_id, dry_run }: Record<string, unknown>): ActionCall => ({
  name: typeof name === 'string' ? name : '',
  input,
  workspaceId: typeof workspace_id === 'string' ? workspace_id : undefined,
  dryRun: dry_run === true,
});

const toolFor = (effect: Effect) => (effect === 'read' ? 'actions_read' : 'actions_write');

function catalogTool<Input extends object>(definition: Definition<Input>): McpTool {
  const { name, title, description, hint, permissions, actionCall } = definition;
  const { input: shape, output, answer } = definition;
  return {
    toolset: 'actions',
    permissions,
    actionCall,
    definition: {
      name,
      title,
      description,
      inputSchema: inputSchemaOf(shape) as Tool['inputSchema'],
      outputSchema: undescribed(outputSchemaOf(output)) as Tool['outputSchema'],
      annotations: { title, ...HINTS[hint] },
    },
    call: async (call, given, dialogue) => {
      const output = await answer(call, checked(shape, given) as Input, dialogue);
      return output instanceof Instead ? output.answer : outcome(JSON.stringify(output));
    },
  };
}

/** An outcome that is too long loses its output, and tells its beginning as text. */
function outcome(json: string): CallToolResult {
  if (json.length <= MAX_CHARACTERS) return structured(json);
  const value = parseJson(json) as Record<string, unknown>;
  const text = cutText(JSON.stringify(value.output), MAX_CHARACTERS / 2);
  return structured(
    JSON.stringify({ ...value, output: null, left_out: lengthOf(value.output) }),
    `${text}\nAsk for less: with limit, or for some lines.`,
  );
}
