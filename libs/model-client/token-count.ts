import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider';

/** A model whose provider counts tokens without answering. */
export interface CountingModel extends LanguageModelV4 {
  /** Undefined where it cannot count these. */
  countTokens(options: LanguageModelV4CallOptions): Promise<number | undefined>;
}

/** A count is worth a short wait, and no more. */
const COUNT_MS = 10_000;

/** How many tokens the provider counts in a prompt; undefined where it does not count, or cannot now. */
export async function countTokens({
  model,
  prompt,
  tools,
  signal,
}: {
  model: LanguageModelV4;
  prompt: LanguageModelV4Prompt;
  tools: LanguageModelV4FunctionTool[];
  signal: AbortSignal;
}): Promise<number | undefined> {
  if (!isCounting(model)) return undefined;
  const abortSignal = AbortSignal.any([signal, AbortSignal.timeout(COUNT_MS)]);
  try {
    return await model.countTokens({ prompt, tools: tools.length > 0 ? tools : undefined, abortSignal });
  } catch {
    // The caller goes by its own estimate, as with all other providers.
    signal.throwIfAborted();
    return undefined;
  }
}

export const isCounting = (model: LanguageModelV4): model is CountingModel => 'countTokens' in model;
