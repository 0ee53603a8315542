import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { validate as isUuid } from 'uuid';
import { jsonSchemaOf } from '../../platform/actions/json-schema.js';
import { Field } from '../../platform/http/field.js';
import { Invalid } from '../../platform/http/problem.js';
import type { Toolbox, Tool as WorkspaceTool } from '../../workspaces/index.js';
import type { McpCall, Toolset } from './mcp-call.js';
import { HINTS, type Hint, type McpTool } from './mcp-tool.js';
import { undescribed } from './output-schema.js';
import { cutText, MOST_CHARACTERS } from './result-limit.js';

class Place {
  @Field.id('The workspace')
  workspace_id: string;
}

class ToolOutput {
  @Field.text('What it gave back', { max: 100_000 })
  output: string;
}

/** A tool that agents have too. */
export interface EverydayTool {
  readonly tool: string;
  readonly toolset: Toolset;
  readonly hint: Hint;
  readonly title: string;
}

export const EVERYDAY_TOOLS: readonly EverydayTool[] = [
  { tool: 'bash', toolset: 'code', hint: 'change', title: 'Run a bash script' },
  { tool: 'search_files', toolset: 'files', hint: 'read', title: 'Search in files' },
];

/** A tool of a workspace's toolbox, in the workspace that the input names. */
export class ToolboxTool implements McpTool {
  readonly toolset: Toolset;
  readonly definition: McpTool['definition'];

  constructor(
    private readonly toolbox: Toolbox,
    { name, description, input }: WorkspaceTool,
    { toolset, hint, title }: EverydayTool,
  ) {
    const place = jsonSchemaOf(Place);
    const own = jsonSchemaOf(input);
    this.toolset = toolset;
    this.definition = {
      name,
      title,
      description,
      inputSchema: {
        ...own,
        properties: { ...(place.properties as object), ...(own.properties as object) },
        required: ['workspace_id', ...(own.required as string[])],
      } as Tool['inputSchema'],
      outputSchema: undescribed(jsonSchemaOf(ToolOutput)) as Tool['outputSchema'],
      annotations: { title, ...HINTS[hint] },
    };
  }

  async call({ actor, signal }: McpCall, { workspace_id, ...input }: Record<string, unknown>) {
    if (!isUuid(workspace_id)) throw new Invalid('workspace_id must be a UUID');
    const context = { actor, workspaceId: String(workspace_id), signal };
    const { output, isError } = await this.toolbox.run(context, this.definition.name, input);
    const text = cutText(output, MOST_CHARACTERS / 2);
    const result: CallToolResult = {
      content: [{ type: 'text', text }],
      structuredContent: { output: text },
      isError,
    };
    return result;
  }
}
