import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { structured } from '#libs/mcp-http/index.js';
import {
  type ActionCall,
  ActionCaller,
  type ActionRunner,
  type CatalogAction,
  type ToolDeclaration,
} from '../../../platform/actions/index.js';
import type { McpCall, Toolset } from '../call/mcp-call.js';
import { HINTS, type Hint, type McpTool } from '../call/mcp-tool.js';
import { undescribed } from './output-schema.js';
import { fitted, MAX_CHARACTERS } from './result-limit.js';
import { withWaitLimit } from './wait-limit.js';

export type Output = Record<string, unknown>;
type Input = Record<string, unknown>;

/** An output that fits, and where the rest of it is. */
export interface Shown {
  readonly output: Output;
  /** For a client that reads text; absent: the output as JSON. */
  readonly text?: string;
  readonly rest?: { readonly uri: string; readonly name: string };
}

/** How a tool deals with an output that is too long. */
export type Show = (output: Output, input: Input, again: (input: Input) => Promise<Output>) => Promise<Shown>;

/** How MCP clients see an action that is a tool by itself. */
export interface ActionToolView {
  readonly toolset: Toolset;
  readonly hint: Hint;
  readonly show?: Show;
  /** A client that reads text gets what a model reads, instead of JSON. */
  readonly isPlain?: true;
}

const cutTexts: Show = async output => ({ output: fitted(output) });

/** A tool that is one action: its input, its output, its checks and its record. */
export class ActionTool implements McpTool {
  readonly toolset: Toolset;
  readonly definition: McpTool['definition'];
  private readonly show: Show;
  private readonly text: ((output: Output) => string) | undefined;

  constructor(
    private readonly runner: ActionRunner,
    private readonly action: CatalogAction,
    private readonly waitSeconds: number,
    { toolset, hint, show = cutTexts, isPlain }: ActionToolView,
    { name, title, description, agents }: ToolDeclaration,
  ) {
    const { output_schema } = action.describe();
    this.toolset = toolset;
    this.show = show;
    this.text = isPlain && agents ? output => agents.text(output) : undefined;
    this.definition = {
      name,
      title,
      description,
      inputSchema: action.toolSchema as Tool['inputSchema'],
      outputSchema: undescribed(output_schema) as Tool['outputSchema'],
      annotations: { title, ...HINTS[hint] },
    };
  }

  permissions() {
    return [this.action.declaration.permission];
  }

  actionCall(input: Input): ActionCall {
    return { name: this.action.name, input: this.action.ofTool(input) };
  }

  async call({ actor, signal }: McpCall, input: Input): Promise<CallToolResult> {
    const run = async (given: Input): Promise<Output> => {
      const caller = ActionCaller.direct(actor, 'mcp');
      const { output } = await this.runner.run(caller, {
        name: this.action.name,
        input: this.action.ofTool(withWaitLimit(given, this.waitSeconds)),
        signal,
      });
      return output as Output;
    };
    const output = await run(input);
    const json = JSON.stringify(output);
    if (json.length <= MAX_CHARACTERS) return structured(json, this.text?.(output));
    const shown = await this.show(JSON.parse(json), input, async given => wireOf(await run(given)));
    const { text, rest } = shown;
    const link = rest && { type: 'resource_link' as const, ...rest, description: 'All of it' };
    return structured(JSON.stringify(shown.output), text ?? this.text?.(shown.output), link && [link]);
  }
}

/** As it goes over the wire: times as text, nothing undefined. */
const wireOf = (output: Output): Output => JSON.parse(JSON.stringify(output));
