import type { ApprovalRow } from '../approvals/index.js';
import type { ChatSummary } from '../context/index.js';
import type { FinishedStep, NewEvent, PlannedCall } from './run-journal.js';

export const RUN_EVENT_TYPES = [
  'run.queued',
  'run.started',
  'run.completed',
  'run.failed',
  'step.started',
  'step.restarted',
  'step.finished',
  'step.waiting',
  'model.fallback',
  'context.compacting',
  'context.compacted',
  'response.invalid',
  'text.delta',
  'reasoning.delta',
  'tool.started',
  'tool.output',
  'tool.finished',
  'file.changed',
  'message.accepted',
  'message.injected',
  'message.withdrawn',
  'approval.requested',
  'approval.resolved',
] as const;
export type RunEventType = (typeof RUN_EVENT_TYPES)[number];

/** The event types after which nothing follows. */
export const LAST_EVENTS: readonly RunEventType[] = ['run.completed', 'run.failed'];

declare global {
  interface ColumnTypes {
    'run_event.data': Record<string, unknown>;
  }
}

export const stepStarted = (step: number): NewEvent => ({ type: 'step.started', data: { step } });

/** What was shown of the step so far is void. */
export const stepRestarted = (
  step: number,
  why: { attempt: number; delay_ms: number; message: string },
): NewEvent => ({ type: 'step.restarted', data: { step, ...why } });

/** The conversation is too long for the model: older messages are being summarized. */
export const contextCompacting = (step: number): NewEvent => ({ type: 'context.compacting', data: { step } });

export const contextCompacted = (summary: ChatSummary): NewEvent => ({
  type: 'context.compacted',
  data: {
    step: summary.step,
    messages: summary.messageCount,
    tokens_before: summary.tokensBefore,
    tokens_after: summary.tokensAfter,
    usage: summary.usage,
    cost_usd: summary.costUsd,
  },
});

/** A provider is given no more calls at once: this one waits its turn. */
export const stepWaiting = (step: number, provider: string): NewEvent => ({
  type: 'step.waiting',
  data: { step, provider },
});

/** A model could not answer, and another is asked from now on. */
export const modelFellBack = (step: number, from: string, to: string, message: string): NewEvent => ({
  type: 'model.fallback',
  data: { step, from, to, message },
});

export const stepFinished = ({ number, result, costUsd }: FinishedStep): NewEvent => ({
  type: 'step.finished',
  data: { step: number, finish_reason: result.finish_reason, usage: result.usage, cost_usd: costUsd },
});

/** The answer does not fit the schema that was asked for; the model is told why, and answers again. */
export const responseInvalid = (step: number, faults: readonly string[]): NewEvent => ({
  type: 'response.invalid',
  data: { step, faults },
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

/** Receipts, told by the run in flight: of a message that waits behind it, enters it, or is taken back. */
export const messageAccepted = (data: {
  message_id: string;
  call_id: string;
  delivery: string;
  queue_position: number;
}): NewEvent => ({ type: 'message.accepted', data });

export const messageInjected = (data: {
  message_id: string;
  call_id: string;
  into_call_id: string;
  step: number;
}): NewEvent => ({ type: 'message.injected', data });

export const messageWithdrawn = (data: { message_id: string; call_id: string }): NewEvent => ({
  type: 'message.withdrawn',
  data,
});

/** What those who watch a run are told of a call that is to be approved. */
export interface ToldOfApproval {
  readonly summary: string;
  /** The page on which a person decides. */
  readonly link: string;
  /** Without secrets. */
  readonly input: unknown;
}

/** A call that is to be approved before it is made. */
export interface AskedCall {
  readonly approvalId: string;
  readonly call: PlannedCall;
  /** The tool, or the action. */
  readonly name: string;
  readonly effect: string;
  readonly expiresAt: Date;
  readonly told: ToldOfApproval;
}

export const approvalRequested = ({
  approvalId,
  call,
  name,
  effect,
  expiresAt,
  told,
}: AskedCall): NewEvent => ({
  type: 'approval.requested',
  data: {
    approval_id: approvalId,
    id: call.callId,
    step: call.step,
    tool: name,
    effect,
    ...told,
    expires_at: expiresAt.toISOString(),
  },
});

export const approvalResolvedEvent = (row: ApprovalRow): NewEvent => ({
  type: 'approval.resolved',
  data: {
    approval_id: row.id,
    id: row.call_id,
    status: row.status,
    scope: row.scope,
    note: row.note,
    decided_by: row.decided_by,
  },
});

/** What a page of events may take, besides its first one. */
export const PAGE_BYTES = 128 * 1024;

/** What an event may take that older versions wrote; of a larger one only the small fields are told. */
export const MAX_EVENT_BYTES = 512 * 1024;

/** What one field of an event may take. */
export const MAX_FIELD_BYTES = 256 * 1024;

/**
 * The data of an event as it is told: of a field that is too large only its name, in `omitted`. Many may watch a run, and
 * the answer, the input and the output of a call are kept with the run, where each is read once.
 */
export function withinBounds(data: Record<string, unknown>): Record<string, unknown> {
  const omitted = Object.keys(data).filter(name => isLarge(data[name]));
  if (omitted.length === 0) return data;
  const kept = Object.entries(data).filter(([name]) => !omitted.includes(name));
  return { ...Object.fromEntries(kept), omitted };
}

function isLarge(value: unknown): boolean {
  if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return false;
  // As JSON, which is what is stored and sent; what is short in letters is never too large in bytes.
  if (typeof value === 'string' && value.length * 6 <= MAX_FIELD_BYTES) return false;
  return Buffer.byteLength(JSON.stringify(value)) > MAX_FIELD_BYTES;
}
