import type {
  JSONSchema7,
  LanguageModelV4,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import { pause, type RetryPolicy, retryDelayMs } from './backoff.js';
import { EPHEMERAL, withCacheBreakpoints } from './cache-breakpoints.js';
import type { StreamTimeouts } from './lifeline.js';
import { ModelError } from './model-error.js';
import { readAnswer } from './model-stream.js';
import { StepAssembler, type StepDelta, type StepResult } from './step-assembler.js';
import { isStrict } from './strict-schema.js';

export interface StepRequest {
  model: LanguageModelV4;
  prompt: LanguageModelV4Prompt;
  tools: LanguageModelV4FunctionTool[];
  /** Aborts at once, also between two attempts. */
  signal: AbortSignal;
  timeouts?: StreamTimeouts;
  retry?: RetryPolicy;
  onDelta: (delta: StepDelta) => void;
  /**
   * Attempt `attempt` (1, 2, …) failed for the reason in `message`; the next begins in `delay_ms`. All deltas
   * of this step so far are void.
   */
  onRestart: (why: { attempt: number; delay_ms: number; message: string }) => void;
  providerOptions?: SharedV4ProviderOptions;
  /** Names what calls have in common, such as a conversation: providers that cache by it find the cache again. */
  cacheKey?: string;
  /**
   * JSON Schema of the answer. Providers that can be held to one are; of the others it must be asked in words. A caller that
   * needs a valid answer checks it: a provider may know less than the schema says, or cut the answer off.
   */
  responseSchema?: Record<string, unknown>;
  /** Waits until an attempt may begin; what it resolves with is called at the attempt's end, and so not while it pauses. */
  enter?: () => Promise<() => void>;
}

const TIMEOUTS: StreamTimeouts = { firstByteMs: 240_000, idleMs: 120_000 };
const RETRY: RetryPolicy = { attempts: 5, baseMs: 1_000, maxMs: 60_000 };

/**
 * One call of a model: one step of a run. Transient failures are tried again from the start; what remains is
 * thrown as {@link ModelError}. Whatever `onDelta` or `onRestart` throws passes through and ends the step.
 */
export async function streamStep(request: StepRequest): Promise<StepResult> {
  const retry = request.retry ?? RETRY;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attemptStep(request);
    } catch (error) {
      if (!(error instanceof ModelError) || !error.retryable || attempt >= retry.attempts) throw error;
      const delay_ms = retryDelayMs(attempt, retry, error.retryAfterMs);
      request.onRestart({ attempt, delay_ms, message: error.message });
      await pause(delay_ms, request.signal);
    }
  }
}

async function attemptStep(request: StepRequest): Promise<StepResult> {
  const leave = await request.enter?.();
  try {
    return await streamOnce(request);
  } finally {
    leave?.();
  }
}

async function streamOnce(request: StepRequest): Promise<StepResult> {
  const { prompt, tools } = withCacheBreakpoints(request);
  const options = {
    prompt,
    // Some servers refuse an empty list.
    tools: tools.length > 0 ? tools : undefined,
    ...responseFormat(request),
    providerOptions: withDefaults(request),
  };
  const assembler = new StepAssembler();
  await readAnswer(request.model, options, request.timeouts ?? TIMEOUTS, request.signal, part => {
    const delta = assembler.add(part);
    if (delta) request.onDelta(delta);
  });
  return assembler.result();
}

/**
 * Each provider reads only its own key. OpenAI keeps no copy of the conversation, so a run does not depend on
 * what it stored; Anthropic caches the whole prompt, which every next step of a run repeats.
 */
function withDefaults(request: StepRequest): SharedV4ProviderOptions {
  const { providerOptions: given = {}, cacheKey, responseSchema } = request;
  const promptCacheKey = cacheKey ? { promptCacheKey: cacheKey } : {};
  const strict = responseSchema ? { strictJsonSchema: isStrict(responseSchema) } : {};
  return {
    ...given,
    openai: { store: false, ...promptCacheKey, ...strict, ...given.openai },
    anthropic: { cacheControl: EPHEMERAL, ...given.anthropic },
  };
}

/** Compatible servers differ in what they make of a schema, and some then call no tools any more: they are asked in words. */
function responseFormat({ model, responseSchema: schema }: StepRequest) {
  if (!schema || !/^(openai|anthropic|google|atelier)\b/.test(model.provider)) return {};
  return { responseFormat: { type: 'json' as const, name: 'response', schema: schema as JSONSchema7 } };
}
