import { createAnthropic } from '@ai-sdk/anthropic';
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { CountingModel } from './token-count.js';

interface AnthropicServer {
  /** Including the version segment. */
  readonly baseURL: string;
  readonly apiKey: string;
  readonly fetch: typeof fetch;
}

/** Models of Anthropic's messages, which also count the tokens of a prompt without answering it. */
export function anthropicModels(server: AnthropicServer): { languageModel(id: string): CountingModel } {
  const answering = createAnthropic(server);
  const counting = createAnthropic({ ...server, fetch: countInstead(server.fetch) });
  return {
    languageModel: id => withCount(answering.languageModel(id), counting.languageModel(id)),
  };
}

function withCount(model: LanguageModelV4, counting: LanguageModelV4): CountingModel {
  return {
    specificationVersion: 'v4',
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: options => model.doGenerate(options),
    doStream: options => model.doStream(options),
    countTokens: async (options: LanguageModelV4CallOptions) =>
      (await counting.doGenerate(options)).usage.inputTokens.total,
  };
}

/**
 * A `fetch` that asks for the count of a request's tokens in place of an answer to it, and gives an empty answer that has
 * that usage: https://platform.claude.com/docs/en/api/messages-count-tokens
 */
function countInstead(ask: typeof fetch): typeof fetch {
  return async (input, init) => {
    const { model, system, messages, tools, tool_choice, thinking } = JSON.parse(String(init?.body));
    const response = await ask(`${input}/count_tokens`, {
      ...init,
      // What fills the window; the rest is refused where tokens are counted.
      body: JSON.stringify({ model, system, messages, tools, tool_choice, thinking }),
    });
    if (!response.ok) return response;
    const { input_tokens } = (await response.json()) as { input_tokens?: unknown };
    return Response.json({
      type: 'message',
      id: 'count',
      model,
      role: 'assistant',
      content: [],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens, output_tokens: 0 },
    });
  };
}
