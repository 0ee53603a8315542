import type { JSONObject, LanguageModelV4Usage } from '@ai-sdk/provider';
import type { ChatUsage } from './chat-events.js';

/** Counts of tokens; cached ones are part of the input, and reasoning is part of the output. */
export function chatUsage(usage: ChatUsage | undefined): LanguageModelV4Usage {
  if (!usage) return { inputTokens: NO_INPUT, outputTokens: NO_OUTPUT };
  const input = usage.prompt_tokens ?? 0;
  const output = usage.completion_tokens ?? 0;
  const cacheRead = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const reasoning = usage.completion_tokens_details?.reasoning_tokens ?? 0;
  return {
    inputTokens: { total: input, noCache: input - cacheRead, cacheRead, cacheWrite: undefined },
    outputTokens: { total: output, text: Math.max(0, output - reasoning), reasoning },
    raw: usage as JSONObject,
  };
}

const NO_INPUT = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
const NO_OUTPUT = { total: undefined, text: undefined, reasoning: undefined };
