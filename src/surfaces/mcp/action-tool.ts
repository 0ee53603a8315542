import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { ActionCaller } from '../../platform/actions/action-caller.js';
import type { ActionRunner } from '../../platform/actions/action-runner.js';
import type { CatalogAction } from '../../platform/actions/catalog-action.js';
import type { McpCall, Toolset } from './mcp-call.js';
import { HINTS, type Hint, type McpTool } from './mcp-tool.js';
import { undescribed } from './output-schema.js';
import { fits, fitted } from './result-limit.js';

export type Output = Record<string, unknown>;
type Input = Record<string, unknown>;

/** An output that fits, and where the rest of it is. */
export interface Shown {
  readonly output: Output;
  /** For a client that reads text; absent: the output as JSON. */
  readonly text?: string;
  readonly rest?: { readonly uri: string; readonly name: string };
}

/** How a tool deals with an output that may be too long. */
export type Show = (output: Output, input: Input, again: (input: Input) => Promise<Output>) => Promise<Shown>;

/** An action of the catalog that is a tool under a name of its own. */
export interface EverydayAction {
  readonly tool: string;
  readonly action: string;
  readonly toolset: Toolset;
  readonly hint: Hint;
  readonly title: string;
  readonly description: string;
  readonly show?: Show;
}

const cutTexts: Show = async output => ({ output: fits(output) ? output : fitted(output) });

/** A tool that is one action: its input, its output, its checks and its record. */
export class ActionTool implements McpTool {
  readonly toolset: Toolset;
  readonly definition: McpTool['definition'];
  private readonly show: Show;

  constructor(
    private readonly runner: ActionRunner,
    private readonly action: CatalogAction,
    { tool: name, toolset, hint, title, description, show = cutTexts }: EverydayAction,
  ) {
    const { input_schema, output_schema } = action.describe();
    this.toolset = toolset;
    this.show = show;
    this.definition = {
      name,
      title,
      description,
      inputSchema: input_schema as Tool['inputSchema'],
      outputSchema: undescribed(output_schema) as Tool['outputSchema'],
      annotations: { title, ...HINTS[hint] },
    };
  }

  permissions() {
    return [this.action.declaration.permission];
  }

  async call({ actor }: McpCall, input: Input): Promise<CallToolResult> {
    const run = async (given: Input): Promise<Output> => {
      const caller = ActionCaller.direct(actor, 'mcp');
      const { output } = await this.runner.run(caller, { name: this.action.name, input: given });
      // As it goes over the wire: times as text, nothing undefined.
      return JSON.parse(JSON.stringify(output));
    };
    const { output, text = JSON.stringify(output), rest } = await this.show(await run(input), input, run);
    const link = rest && { type: 'resource_link' as const, ...rest, description: 'All of it' };
    return {
      content: [{ type: 'text', text }, ...(link ? [link] : [])],
      structuredContent: output,
    };
  }
}
