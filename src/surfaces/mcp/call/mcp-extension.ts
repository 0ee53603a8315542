import type {
  GetPromptResult,
  InputRequiredResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
  ServerCapabilities,
  ServerEvent,
} from '@modelcontextprotocol/server';
import type { Dialogue } from './mcp-call.js';
import type { McpTool } from './mcp-tool.js';

/**
 * What the endpoint offers besides what the service can do, on the same way in: nothing, unless whoever builds the server
 * in the same process passes it one. The conformance suite needs tools, resources and prompts of its own.
 */
export interface McpExtension {
  readonly capabilities: ServerCapabilities;
  readonly tools: readonly McpTool[];
  readonly resources: readonly Resource[];
  readonly templates: readonly ResourceTemplateType[];
  readonly prompts: readonly Prompt[];
  /** Undefined for an address that is not one of these. */
  readResource(uri: string): ReadResourceResult | undefined;
  /** Undefined for a name that is not one of these. */
  getPrompt(
    name: string,
    input: Record<string, string>,
    dialogue: Dialogue,
  ): GetPromptResult | InputRequiredResult | undefined;
  /** Calls `listener` when something of these changes; returns what ends it. */
  watch(listener: (event: ServerEvent) => void): () => void;
}

export const MCP_EXTENSION = Symbol('MCP extension');

export const NO_EXTENSION: McpExtension = {
  capabilities: {},
  tools: [],
  resources: [],
  templates: [],
  prompts: [],
  readResource: () => undefined,
  getPrompt: () => undefined,
  watch: () => () => undefined,
};
