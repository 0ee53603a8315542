import type { JSONObject, LanguageModelV4Usage } from '@ai-sdk/provider';
import type { AnthropicUsage } from './anthropic-events.js';

/** Anthropic counts what is read from its cache and written to it apart from the other input. */
export function anthropicUsage(usage: AnthropicUsage): LanguageModelV4Usage {
  const cacheWrite = usage.cache_creation_input_tokens ?? 0;
  const cacheRead = usage.cache_read_input_tokens ?? 0;
  const reasoning = usage.output_tokens_details?.thinking_tokens ?? undefined;
  const { input, output } = totals(usage);
  return {
    inputTokens: { total: input + cacheWrite + cacheRead, noCache: input, cacheRead, cacheWrite },
    outputTokens: {
      total: output,
      text: reasoning === undefined ? undefined : output - reasoning,
      reasoning,
    },
    raw: usage as JSONObject,
  };
}

/** A call that was compacted on its way counts its parts, and its total leaves them out; one that another model took over counts right. */
function totals({ input_tokens, output_tokens, iterations }: AnthropicUsage): {
  input: number;
  output: number;
} {
  const parts = iterations ?? [];
  const own = parts.filter(({ type }) => type === 'compaction' || type === 'message');
  if (own.length === 0 || parts.some(({ type }) => type === 'fallback_message'))
    return { input: input_tokens ?? 0, output: output_tokens ?? 0 };
  return {
    input: own.reduce((sum, part) => sum + part.input_tokens, 0),
    output: own.reduce((sum, part) => sum + part.output_tokens, 0),
  };
}
