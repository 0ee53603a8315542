import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import type { Actor } from '../../platform/access/actor.js';
import { type Permission, requireScope } from '../../platform/access/policy.js';
import type { Effect } from '../../platform/actions/action.js';
import { ActionCaller } from '../../platform/actions/action-caller.js';
import type { ActionCatalog } from '../../platform/actions/action-catalog.js';
import { actionsFor } from '../../platform/actions/action-listing.js';
import type { ActionRunner } from '../../platform/actions/action-runner.js';
import { jsonSchemaOf } from '../../platform/actions/json-schema.js';
import type { Shape } from '../../platform/http/field.js';
import { assertValid, hydrate } from '../../platform/http/input.js';
import { Invalid } from '../../platform/http/problem.js';
import type { Approvals } from './approvals/approvals.js';
import {
  ActionDetails,
  ActionName,
  ActionOutcome,
  ActionsFound,
  RunAction,
  SearchActions,
} from './catalog-tools.dto.js';
import type { Dialogue, McpCall } from './mcp-call.js';
import { HINTS, type Hint, type McpTool, structured, type ToolAnswer } from './mcp-tool.js';
import { undescribed } from './output-schema.js';
import { cutText, lengthOf, MOST_CHARACTERS } from './result-limit.js';

const FEWEST_FOUND = 10;

interface Definition<Input extends object> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly hint: Hint;
  readonly input: new () => Input;
  readonly output: Shape;
  readonly converses?: boolean;
  readonly permissions: NonNullable<McpTool['permissions']>;
  readonly answer: (
    call: McpCall,
    input: Input,
    dialogue: Dialogue,
  ) => Promise<Record<string, unknown> | Instead>;
}

/** What is answered in the place of an output. */
class Instead {
  constructor(readonly answer: ToolAnswer) {}
}

/** The four tools that reach every other action of the service. */
export class CatalogTools {
  constructor(
    private readonly catalog: ActionCatalog,
    private readonly runner: ActionRunner,
    private readonly approvals: Approvals,
  ) {}

  list(): McpTool[] {
    return [
      catalogTool({
        name: 'actions_search',
        title: 'Search actions',
        description:
          'Find what the service can do besides these tools, in words: workspaces, members, keys, chats, usage and more.',
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
        input: RunAction,
        output: ActionOutcome,
        answer: ({ actor }, input) => this.run(actor, input, ['read']),
      }),
      catalogTool({
        name: 'actions_write',
        title: 'Run a changing action',
        description:
          'Run an action whose effect is write or destructive. Before a destructive one the person is asked.',
        hint: 'change',
        converses: true,
        permissions: ({ name }) => this.permissionsToRun(name),
        input: RunAction,
        output: ActionOutcome,
        answer: (call, input, dialogue) => this.write(call, input, dialogue),
      }),
    ];
  }

  private permissionsToRun(name: unknown): (Permission | null)[] {
    const action = this.catalog.list().find(each => each.name === name);
    return ['action.run', action?.declaration.permission ?? null];
  }

  private async search({ actor }: McpCall, { query, effect, limit = FEWEST_FOUND }: SearchActions) {
    requireScope(actor, 'action.read');
    const found = actionsFor(ActionCaller.direct(actor, 'mcp'), this.catalog, { q: query, effect });
    const actions = found
      .slice(0, limit)
      .map(({ name, declaration }) => ({ name, effect: declaration.effect, summary: declaration.summary }));
    return { actions, more: found.length - actions.length };
  }

  private async describe({ actor }: McpCall, { name }: ActionName) {
    requireScope(actor, 'action.read');
    const action = this.catalog.require(name);
    ActionCaller.direct(actor, 'mcp').requireMayRun(action.declaration);
    return { ...action.describe() };
  }

  private async write(call: McpCall, asked: RunAction, dialogue: Dialogue) {
    const { actor } = call;
    requireScope(actor, 'action.run');
    const { effect } = this.catalog.require(asked.name).declaration;
    if (effect === 'destructive' && !asked.dry_run) {
      const { name, input, workspace_id: workspaceId } = asked;
      const checked = await this.runner.check(ActionCaller.direct(actor, 'mcp'), {
        name,
        input,
        workspaceId,
      });
      const question = await this.approvals.ask(call, checked, dialogue);
      if (question) return new Instead(question);
    }
    return this.run(actor, asked, ['write', 'destructive']);
  }

  private async run(actor: Actor, asked: RunAction, effects: readonly Effect[]) {
    requireScope(actor, 'action.run');
    const { effect } = this.catalog.require(asked.name).declaration;
    if (!effects.includes(effect))
      throw new Invalid(`The effect of ${asked.name} is ${effect}: use ${toolFor(effect)}`);
    const { name, input, workspace_id: workspaceId, dry_run: dryRun } = asked;
    const call = { name, input, workspaceId, dryRun };
    return { ...(await this.runner.run(ActionCaller.direct(actor, 'mcp'), call)) };
  }
}

const toolFor = (effect: Effect) => (effect === 'read' ? 'actions_read' : 'actions_write');

function catalogTool<Input extends object>(definition: Definition<Input>): McpTool {
  const { name, title, description, hint, converses, permissions, input: shape, output, answer } = definition;
  return {
    toolset: 'actions',
    converses,
    permissions,
    definition: {
      name,
      title,
      description,
      inputSchema: jsonSchemaOf(shape) as Tool['inputSchema'],
      outputSchema: undescribed(jsonSchemaOf(output)) as Tool['outputSchema'],
      annotations: { title, ...HINTS[hint] },
    },
    call: async (call, given, dialogue) => {
      const input = hydrate(shape, given) as Input;
      assertValid(input);
      const output = await answer(call, input, dialogue);
      return output instanceof Instead ? output.answer : outcome(JSON.stringify(output));
    },
  };
}

/** An outcome that is too long loses its output, and tells its beginning as text. */
function outcome(json: string): CallToolResult {
  if (json.length <= MOST_CHARACTERS) return structured(json);
  const value = JSON.parse(json) as Record<string, unknown>;
  const text = cutText(JSON.stringify(value.output), MOST_CHARACTERS / 2);
  return structured(
    JSON.stringify({ ...value, output: null, left_out: lengthOf(value.output) }),
    `${text}\nAsk for less: with limit, or for some lines.`,
  );
}
