import type { LanguageModelV4FunctionTool, LanguageModelV4Prompt } from '@ai-sdk/provider';

export const EPHEMERAL = { type: 'ephemeral' };

interface Input {
  readonly prompt: LanguageModelV4Prompt;
  readonly tools: LanguageModelV4FunctionTool[];
}

/**
 * Marks what Anthropic is to keep: the tools, which are the same in all conversations, the instructions, and the place where the
 * request before this one ended. It marks the end of this one by itself, which makes four, the most that it takes. The third
 * mark is there because it looks for what it kept only 20 blocks before a mark, and a step of ten calls has as many.
 * Providers read only what is theirs.
 */
export function withCacheBreakpoints({ prompt, tools }: Input): Input {
  const instructions = prompt.findLastIndex(({ role }) => role === 'system');
  const before = prompt.findLastIndex(({ role }) => role === 'assistant') - 1;
  return {
    prompt: prompt.map((message, index) =>
      index === instructions || (index === before && message.role !== 'assistant')
        ? marked(message)
        : message,
    ),
    tools: tools.map((tool, index) => (index === tools.length - 1 ? markedTool(tool) : tool)),
  };
}

/** The same object for the same tool, by which its JSON is found again. */
const markedTools = new WeakMap<LanguageModelV4FunctionTool, LanguageModelV4FunctionTool>();

function markedTool(tool: LanguageModelV4FunctionTool): LanguageModelV4FunctionTool {
  const known = markedTools.get(tool) ?? marked(tool);
  markedTools.set(tool, known);
  return known;
}

function marked<T extends Pick<LanguageModelV4FunctionTool, 'providerOptions'>>(one: T): T {
  const { anthropic, ...others } = one.providerOptions ?? {};
  return { ...one, providerOptions: { ...others, anthropic: { cacheControl: EPHEMERAL, ...anthropic } } };
}
