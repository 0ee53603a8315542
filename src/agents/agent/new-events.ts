import type { FinishedStep, NewEvent, PlannedCall } from './run-journal.js';

export const stepStarted = (step: number): NewEvent => ({ type: 'step.started', data: { step } });

/** What was shown of the step so far is void. */
export const stepRestarted = (
  step: number,
  why: { attempt: number; delay_ms: number; message: string },
): NewEvent => ({ type: 'step.restarted', data: { step, ...why } });

export const stepFinished = ({ number, result, costUsd }: FinishedStep): NewEvent => ({
  type: 'step.finished',
  data: { step: number, finish_reason: result.finish_reason, usage: result.usage, cost_usd: costUsd },
});

export const toolStarted = ({ callId, tool, input, step }: PlannedCall): NewEvent => ({
  type: 'tool.started',
  data: { id: callId, tool, input, step },
});

export const toolFinished = (
  { callId, tool, step }: PlannedCall,
  { output, isError }: { output: string; isError: boolean },
): NewEvent => ({ type: 'tool.finished', data: { id: callId, tool, step, output, is_error: isError } });

export const fileChanged = ({ callId }: PlannedCall, path: string): NewEvent => ({
  type: 'file.changed',
  data: { path, id: callId },
});
