import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { requireScope } from '../../platform/access/policy.js';
import type { Effect } from '../../platform/actions/action.js';
import { ActionCaller } from '../../platform/actions/action-caller.js';
import type { ActionCatalog } from '../../platform/actions/action-catalog.js';
import { actionsFor } from '../../platform/actions/action-listing.js';
import type { ActionRunner } from '../../platform/actions/action-runner.js';
import { jsonSchemaOf } from '../../platform/actions/json-schema.js';
import type { Shape } from '../../platform/http/field.js';
import { assertValid, hydrate } from '../../platform/http/input.js';
import { Invalid } from '../../platform/http/problem.js';
import {
  ActionDetails,
  ActionName,
  ActionOutcome,
  ActionsFound,
  ReadAction,
  SearchActions,
  WriteAction,
} from './catalog-tools.dto.js';
import type { McpSession } from './mcp-session.js';
import { HINTS, type Hint, type McpTool } from './mcp-tool.js';
import { undescribed } from './output-schema.js';
import { cutText, fits, lengthOf, MOST_CHARACTERS } from './result-limit.js';

const FEWEST_FOUND = 10;

interface Definition<Input extends object> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly hint: Hint;
  readonly input: new () => Input;
  readonly output: Shape;
  readonly answer: (session: McpSession, input: Input) => Promise<Record<string, unknown>>;
}

/** The four tools that reach every other action of the service. */
export class CatalogTools {
  constructor(
    private readonly catalog: ActionCatalog,
    private readonly runner: ActionRunner,
  ) {}

  list(): McpTool[] {
    return [
      catalogTool({
        name: 'actions_search',
        title: 'Search actions',
        description:
          'Find what the service can do besides these tools, in words: workspaces, members, keys, chats, usage and more.',
        hint: 'read',
        input: SearchActions,
        output: ActionsFound,
        answer: (session, input) => this.search(session, input),
      }),
      catalogTool({
        name: 'actions_describe',
        title: 'Describe an action',
        description: 'Show one action with the JSON Schemas of its input and output.',
        hint: 'read',
        input: ActionName,
        output: ActionDetails,
        answer: (session, input) => this.describe(session, input),
      }),
      catalogTool({
        name: 'actions_read',
        title: 'Run a reading action',
        description: 'Run an action whose effect is read.',
        hint: 'read',
        input: ReadAction,
        output: ActionOutcome,
        answer: (session, input) => this.run(session, input, ['read']),
      }),
      catalogTool({
        name: 'actions_write',
        title: 'Run a changing action',
        description:
          'Run an action whose effect is write or destructive. A destructive one needs confirm, once the person has agreed.',
        hint: 'change',
        input: WriteAction,
        output: ActionOutcome,
        answer: (session, input) => this.run(session, input, ['write', 'destructive']),
      }),
    ];
  }

  private async search({ actor }: McpSession, { query, effect, limit = FEWEST_FOUND }: SearchActions) {
    requireScope(actor, 'action.read');
    const found = actionsFor(ActionCaller.direct(actor, 'mcp'), this.catalog, { q: query, effect });
    const actions = found
      .slice(0, limit)
      .map(({ name, declaration }) => ({ name, effect: declaration.effect, summary: declaration.summary }));
    return { actions, more: found.length - actions.length };
  }

  private async describe({ actor }: McpSession, { name }: ActionName) {
    requireScope(actor, 'action.read');
    const action = this.catalog.require(name);
    ActionCaller.direct(actor, 'mcp').requireMayRun(action.declaration);
    return { ...action.describe() };
  }

  private async run({ actor }: McpSession, asked: WriteAction, effects: readonly Effect[]) {
    requireScope(actor, 'action.run');
    const { effect } = this.catalog.require(asked.name).declaration;
    if (!effects.includes(effect))
      throw new Invalid(`The effect of ${asked.name} is ${effect}: use ${toolFor(effect)}`);
    if (effect === 'destructive' && !asked.confirm && !asked.dry_run)
      throw new Invalid(
        `${asked.name} is destructive: ask the person you work for, then call again with confirm: true`,
      );
    const { name, input, workspace_id: workspaceId, dry_run: dryRun } = asked;
    const call = { name, input, workspaceId, dryRun };
    return { ...(await this.runner.run(ActionCaller.direct(actor, 'mcp'), call)) };
  }
}

const toolFor = (effect: Effect) => (effect === 'read' ? 'actions_read' : 'actions_write');

function catalogTool<Input extends object>(definition: Definition<Input>): McpTool {
  const { name, title, description, hint, input: shape, output, answer } = definition;
  return {
    toolset: 'actions',
    definition: {
      name,
      title,
      description,
      inputSchema: jsonSchemaOf(shape) as Tool['inputSchema'],
      outputSchema: undescribed(jsonSchemaOf(output)) as Tool['outputSchema'],
      annotations: { title, ...HINTS[hint] },
    },
    call: async (session, given) => {
      const input = hydrate(shape, given) as Input;
      assertValid(input);
      return outcome(JSON.parse(JSON.stringify(await answer(session, input))));
    },
  };
}

/** An outcome that is too long loses its output, and tells its beginning as text. */
function outcome(value: Record<string, unknown>): CallToolResult {
  if (fits(value))
    return { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: value };
  const text = cutText(JSON.stringify(value.output), MOST_CHARACTERS / 2);
  return {
    content: [{ type: 'text', text: `${text}\nAsk for less: with limit, or for some lines.` }],
    structuredContent: { ...value, output: null, left_out: lengthOf(value.output) },
  };
}
