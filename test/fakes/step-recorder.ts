import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { type StepDelta, type StepRequest, type StepResult, streamStep } from '#libs/model-client/index.js';

export const PATIENT = { firstByteMs: 20_000, idleMs: 20_000 };
export const QUICK_RETRY = { attempts: 3, baseMs: 1, maxMs: 2_000 };

export interface RecordedStep {
  result: StepResult;
  /** What a reader saw last: deltas since the last restart. */
  deltas: StepDelta[];
  restarts: { attempt: number; delay_ms: number; message: string }[];
}

export function userPrompt(text: string): LanguageModelV4Prompt {
  return [{ role: 'user', content: [{ type: 'text', text }] }];
}

/** Runs a step and keeps what it reported on the way. */
export async function recordStep(
  model: LanguageModelV4 | undefined,
  request: Partial<StepRequest> = {},
): Promise<RecordedStep> {
  if (!model) throw new Error('There is no such model.');
  const deltas: StepDelta[] = [];
  const restarts: RecordedStep['restarts'] = [];
  const result = await streamStep({
    model,
    prompt: userPrompt('Hello'),
    tools: [],
    signal: new AbortController().signal,
    timeouts: PATIENT,
    retry: QUICK_RETRY,
    ...request,
    onDelta: delta => {
      deltas.push(delta);
      request.onDelta?.(delta);
    },
    onRestart: why => {
      deltas.length = 0;
      restarts.push(why);
      request.onRestart?.(why);
    },
  });
  return { result, deltas, restarts };
}
