import type {
  LanguageModelV4,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import { pause, type RetryPolicy, retryDelayMs } from './backoff.js';
import type { StreamTimeouts } from './lifeline.js';
import { ModelError } from './model-error.js';
import { streamAnswer } from './model-stream.js';
import { StepAssembler, type StepDelta, type StepResult } from './step-assembler.js';

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
  const options = {
    prompt: request.prompt,
    // Some servers refuse an empty list.
    tools: request.tools.length > 0 ? request.tools : undefined,
    providerOptions: withDefaults(request.providerOptions),
  };
  const assembler = new StepAssembler();
  for await (const part of streamAnswer(
    request.model,
    options,
    request.timeouts ?? TIMEOUTS,
    request.signal,
  )) {
    const delta = assembler.add(part);
    if (delta) request.onDelta(delta);
  }
  return assembler.result();
}

/**
 * Each provider reads only its own key. OpenAI keeps no copy of the conversation, so a run does not depend on
 * what it stored; Anthropic caches the prompt, which every next step of a run repeats.
 */
function withDefaults(given: SharedV4ProviderOptions = {}): SharedV4ProviderOptions {
  return {
    ...given,
    openai: { store: false, ...given.openai },
    anthropic: { cacheControl: { type: 'ephemeral' }, ...given.anthropic },
  };
}
