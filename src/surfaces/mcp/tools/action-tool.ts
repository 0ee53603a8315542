import { type CallToolResult, type Tool } from '@modelcontextprotocol/server';
import { firstLines, fitted, lengthOf } from '#libs/bounded-json/index.js';
import { parseJson } from '#libs/exact-json/index.js';
import { undescribed } from '#libs/fields/index.js';
import { structured } from '#libs/mcp-http/index.js';
import {
  type ActionCall,
  ActionCaller,
  type ActionRunner,
  type CatalogAction,
  type ToolDeclaration,
  type ToolImage,
} from '../../../platform/actions/index.js';
import { type Dialogue, type McpCall, type Toolset } from '../call/mcp-call.js';
import {
  HINTS,
  type Hint,
  MAX_CHARACTERS,
  type McpTool,
  type OutputQuestions,
  type ToolAnswer,
  withWaitLimit,
} from '../call/mcp-tool.js';
import { fileUri, runUri } from '../resources/resource-uri.js';

type Output = Record<string, unknown>;
type Input = Record<string, unknown>;

/** An output that fits, and where the rest of it is. */
interface Shown {
  readonly output: Output;
  /** For a client that reads text; absent: the output as JSON. */
  readonly text?: string;
  readonly rest?: { readonly uri: string; readonly name: string };
}

/** How a tool deals with an output that is too long. */
type Show = (output: Output, input: Input, again: (input: Input) => Promise<Output>) => Promise<Shown>;

/** How MCP clients see an action that is a tool by itself. */
interface ActionToolView {
  readonly toolset: Toolset;
  readonly hint: Hint;
  readonly show?: Show;
  /** A client that reads text gets what a model reads, instead of JSON. */
  readonly isPlain?: true;
  /** What the client is asked with an output, instead of being given it. */
  readonly asks?: true;
}

const cutTexts: Show = async output => ({ output: fitted(output, MAX_CHARACTERS) });

/** What all of them work with. */
export interface ActionToolParts {
  readonly runner: ActionRunner;
  readonly waitSeconds: number;
  readonly questions: OutputQuestions;
}

/** A tool that is one action: its input, its output, its checks and its record. */
export class ActionTool implements McpTool {
  readonly toolset: Toolset;
  readonly definition: McpTool['definition'];
  private readonly runner: ActionRunner;
  private readonly waitSeconds: number;
  private readonly show: Show;
  private readonly text: ((output: Output) => string) | undefined;
  private readonly images: ((output: Output) => readonly ToolImage[]) | undefined;
  private readonly questions: OutputQuestions | undefined;

  constructor(
    { runner, waitSeconds, questions }: ActionToolParts,
    private readonly action: CatalogAction,
    { toolset, hint, show = cutTexts, isPlain, asks }: ActionToolView,
    { name, title, description, agents }: ToolDeclaration,
  ) {
    this.runner = runner;
    this.waitSeconds = waitSeconds;
    this.questions = asks && questions;
    const { output_schema } = action.describe();
    this.toolset = toolset;
    this.show = show;
    this.images = agents?.images && (output => agents.images?.(output) ?? []);
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

  /** Images as such; what a program reads has all of them but their bytes. */
  private shownImages(output: Output, images: readonly ToolImage[]): CallToolResult {
    const { image, ...rest } = output;
    const { data: _, ...described } = image as Record<string, unknown>;
    const blocks = images.map(({ data, mediaType }) => ({
      type: 'image' as const,
      data,
      mimeType: mediaType,
    }));
    return structured(JSON.stringify({ ...rest, image: described }), this.text?.(output), blocks);
  }

  permissions() {
    return [this.action.declaration.permission];
  }

  actionCall(input: Input): ActionCall {
    return { name: this.action.name, input: this.action.ofTool(input) };
  }

  async call(call: McpCall, input: Input, dialogue: Dialogue): Promise<ToolAnswer> {
    const { actor, signal } = call;
    await this.questions?.take(call, dialogue);
    const run = async (given: Input): Promise<Output> => {
      const caller = ActionCaller.direct(actor, 'mcp');
      const { output } = await this.runner.run(caller, {
        name: this.action.name,
        input: this.action.ofTool(withWaitLimit(given, this.waitSeconds)),
        signal,
      });
      return output as Output;
    };
    const ask = (output: Output) => this.questions?.ask(call, output, dialogue);
    // Nothing comes of waiting for what waits for an answer.
    const { wait, ...atOnce } = input;
    const early = wait && this.questions?.canAsk(dialogue) ? await ask(await run(atOnce)) : undefined;
    if (early) return early;
    const output = await run(input);
    const asked = await ask(output);
    if (asked) return asked;
    const images = this.images?.(output) ?? [];
    if (images.length > 0) return this.shownImages(output, images);
    const json = JSON.stringify(output);
    if (json.length <= MAX_CHARACTERS) return structured(json, this.text?.(output));
    const shown = await this.show(parseJson(json) as Output, input, async given => wireOf(await run(given)));
    const { text, rest } = shown;
    const link = rest && { type: 'resource_link' as const, ...rest, description: 'All of it' };
    return structured(JSON.stringify(shown.output), text ?? this.text?.(shown.output), link && [link]);
  }
}

/** As it goes over the wire: times as text, nothing undefined. */
const wireOf = (output: Output): Output => parseJson(JSON.stringify(output)) as Output;

/** A page that is too long is asked for again with fewer items, so that its cursor stays right. */
const fewerItems: Show = async (output, input, again) => {
  let page = output;
  while (lengthOf(page) > MAX_CHARACTERS && itemsOf(page) > 1)
    page = await again({ ...input, limit: Math.floor(itemsOf(page) / 2) });
  return { output: page };
};

const itemsOf = ({ items }: Output): number => (Array.isArray(items) ? items.length : 0);

/** The lines that fit, with a link to the file. */
const fewerLines: Show = async (output, { workspace_id }) => {
  const content = String(output.content);
  const { text, lines } = firstLines(content, MAX_CHARACTERS - lengthOf({ ...output, content: '' }));
  const end_line = Number(output.start_line) - 1 + lines;
  const path = String(output.path);
  return {
    output: { ...output, content: text, end_line, truncated: true },
    text: `${text}\n… up to line ${end_line}${output.total_lines === null ? '' : ` of ${output.total_lines}`}; ask for the lines after it with start_line`,
    rest: { uri: fileUri(String(workspace_id), path), name: path },
  };
};

const shorterTexts: Show = async output => ({
  output: fitted(output, MAX_CHARACTERS),
  rest: { uri: runUri(String(output.call_id)), name: 'The whole result' },
});

/** How MCP clients see the actions that are tools by themselves. */
export const TOOL_VIEWS: Readonly<Record<string, ActionToolView>> = {
  list_workspaces: { toolset: 'workspaces', hint: 'read', show: fewerItems },
  list_files: { toolset: 'files', hint: 'read', show: fewerItems },
  find_files: { toolset: 'coding', hint: 'read', show: fewerItems, isPlain: true },
  read_file: { toolset: 'files', hint: 'read', show: fewerLines, isPlain: true },
  search_files: { toolset: 'files', hint: 'read', show: fewerItems, isPlain: true },
  write_file: { toolset: 'files', hint: 'replace' },
  edit_file: { toolset: 'files', hint: 'change' },
  multi_edit: { toolset: 'coding', hint: 'change', isPlain: true },
  apply_patch: { toolset: 'coding', hint: 'change', isPlain: true },
  send_message: { toolset: 'agents', hint: 'delegate' },
  run_status: { toolset: 'agents', hint: 'read', show: shorterTexts, asks: true },
};
