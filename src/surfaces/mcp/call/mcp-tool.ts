import {
  type CallToolResult,
  type GetPromptResult,
  type InputRequiredResult,
  type Prompt,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplateType,
  type ServerCapabilities,
  type ServerEvent,
  type Tool,
  type ToolAnnotations,
} from '@modelcontextprotocol/server';
import { type Permission } from '../../../platform/access/index.js';
import { type ActionCall } from '../../../platform/actions/index.js';
import { type Dialogue, type McpCall, type Toolset } from './mcp-call.js';

/** What a tool answers: its result, or what the client is asked before there is one. */
export type ToolAnswer = CallToolResult | InputRequiredResult;

/** A tool as the endpoint offers it. What it refuses is thrown as a problem. */
export interface McpTool {
  readonly toolset: Toolset;
  /** What a call with this input takes, as far as it is known beforehand. */
  permissions?(input: Record<string, unknown>): (Permission | null)[];
  /** The call of an action that one with this input comes to, where it comes to one. */
  actionCall?(input: Record<string, unknown>): ActionCall;
  readonly definition: Tool & { annotations: Required<Omit<ToolAnnotations, 'title'>> & { title: string } };
  call(call: McpCall, input: Record<string, unknown>, dialogue: Dialogue): Promise<ToolAnswer>;
}

/** Asks the person behind a client what an output says that somebody is asked. */
export interface OutputQuestions {
  /** Whether this client can be asked, and was not just now. */
  canAsk(dialogue: Dialogue): boolean;
  /** Takes in what the client brings back, before the action is run. */
  take(call: McpCall, dialogue: Dialogue): Promise<void>;
  /** What the client is asked; undefined where there is nothing, or it cannot ask. */
  ask(call: McpCall, output: Record<string, unknown>, dialogue: Dialogue): Promise<ToolAnswer | undefined>;
}

/** What a client learns of the harm that a tool can do. */
export const HINTS = {
  read: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  /** Sets what is there to what is given: twice is once. */
  replace: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  change: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  /** Changes nothing but what is given next. */
  advance: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  /** Whatever the service can do, opening things to the world included. */
  anything: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  /** Sets an agent to work, which reaches a model elsewhere. */
  delegate: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
} as const;
export type Hint = keyof typeof HINTS;

/** A refusal, for a model to act on. */
export const refused = (text: string): CallToolResult => ({
  content: [{ type: 'text', text }],
  isError: true,
});

/**
 * What the endpoint offers besides what the service can do, on the same way in: nothing, unless the code that builds the server
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

/** Longest result of a tool, in characters of JSON. */
export const MAX_CHARACTERS = 40_000;

/** The input of an action, with a `wait` of no more than `seconds`: clients give up on a call that takes long. */
export function withWaitLimit<Input>(input: Input, seconds: number): Input {
  const { wait } = (input ?? {}) as { wait?: unknown };
  return typeof wait === 'number' && wait > seconds ? { ...input, wait: seconds } : input;
}
