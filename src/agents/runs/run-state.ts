import type { StepResult } from '#libs/model-client/index.js';
import type { Actor } from '../../platform/access/index.js';
import type { Row } from '../../platform/database/index.js';
import { defineTopic } from '../../platform/topics/index.js';
import type { ContextView } from '../chats/index.js';
import type { PinnedAgent } from '../subagents/index.js';

/**
 * queued: no worker has it; running: a worker does; waiting: people are asked about its calls, or about those of its tasks;
 * stopping: it is being ended from outside; done: it has ended, and its status says how.
 */
export const RUN_STATES = ['queued', 'running', 'waiting', 'stopping', 'done'] as const;
export type RunState = (typeof RUN_STATES)[number];

interface Transition {
  readonly from: readonly RunState[];
  readonly to: RunState;
}

/** All that moves a run from one state to another. Statements write a state by `transition` of these alone. */
export const TRANSITIONS = {
  /** A worker begins a new attempt; of a run that is running, the worker before is gone. */
  claim: { from: ['queued', 'running'], to: 'running' },
  /** Its worker shuts down. */
  release: { from: ['running'], to: 'queued' },
  /** People are asked. No worker has it meanwhile. */
  wait: { from: ['running'], to: 'waiting' },
  /** Nothing is to be decided any more. */
  resume: { from: ['waiting'], to: 'queued' },
  /** Its message enters another run, with which it ends. */
  merge: { from: ['queued'], to: 'running' },
  /** It is stopped from outside, whether a worker has it or not. */
  cancel: { from: ['queued', 'running', 'waiting'], to: 'stopping' },
  /** Its worker, or what cancels it, writes its end; a queued run is withdrawn. */
  end: { from: ['queued', 'running', 'stopping'], to: 'done' },
} as const satisfies Record<string, Transition>;

/** Another worker has claimed the run, or it is gone: stop at once and write nothing more. */
export class RunLost extends Error {
  constructor() {
    super('The run is gone, has ended, or another worker has claimed it');
  }
}

/** Published whenever a run has new events, or is gone. */
export const runTopic = defineTopic('run');

/** Published by a trigger of the database when a run that no request waits for has ended or was deleted: one of an automation or a loop. */
export const UNATTENDED_ENDS = defineTopic('unattended-ends')();

/** Published when a run has ended. */
export const endTopic = defineTopic('end');

/** Published when a run has started a task through an action. */
export const tasksTopic = defineTopic('run-tasks');

/** Published when the worker of a run must check whether its claim still stands. */
export const claimTopic = defineTopic('run-hold');

/** How a message reaches its chat while a run is in flight there. */
export type Delivery = 'queue' | 'reject' | 'steer' | 'interrupt';
/** What becomes of a run whose call needs a person's approval. */
export type OnApproval = 'wait' | 'fail' | 'refuse';

/** Tokens of a run or a step; null where a provider does not say. */
export interface Usage {
  input_tokens: number | null;
  output_tokens: number | null;
  cache_read_tokens: number | null;
  cache_write_tokens: number | null;
  reasoning_tokens: number | null;
}

/** Why a run ended in failure, for people and for programs. */
export interface RunFault {
  message: string;
  type: string;
}

export const NO_USAGE: Usage = {
  input_tokens: null,
  output_tokens: null,
  cache_read_tokens: null,
  cache_write_tokens: null,
  reasoning_tokens: null,
};

/** One answer of an agent to one message: model calls and tool calls until it is done. */
export type RunRow = Row<'run'>;

/** What a run may use, tasks that it hands over included, as the sender of its message set it. */
export interface RunBudget {
  cost_usd?: number;
  max_steps?: number;
  max_seconds?: number;
}

declare global {
  interface ColumnTypes {
    /** On whose authority its tools act, checked again at every call. */
    'run.actor': Actor;
    'run.error': RunFault;
    /** What its answer must be valid against, a JSON Schema. */
    'run.response_schema': Record<string, unknown>;
    /** The answer that is valid against it, in an object of its own as it may be null. */
    'run.response_json': { value: unknown };
    'run.usage': Usage;
    /** How full the window of its model was after its newest step. */
    'run.context': ContextView | null;
    'run_step.usage': Usage;
    /** What it may use, as its sender set it. */
    'run.budget': RunBudget;
    /** The allowlists of those above it, each of which must allow what it calls. */
    'run.tools_above': readonly (readonly string[])[];
    /** What an unattended run goes by, whatever the files of its workspace say by now. */
    'run.pinned': PinnedAgent | null;
  }
}

export type RunEventType =
  | 'run.queued'
  | 'run.started'
  | 'run.completed'
  | 'run.failed'
  | 'step.started'
  | 'step.restarted'
  | 'step.finished'
  | 'step.waiting'
  | 'model.fallback'
  | 'context.trimmed'
  | 'context.compacting'
  | 'context.compacted'
  | 'response.invalid'
  | 'text.delta'
  | 'reasoning.delta'
  | 'tool.started'
  | 'tool.output'
  | 'tool.finished'
  | 'file.changed'
  | 'plan.updated'
  | 'message.accepted'
  | 'message.injected'
  | 'message.withdrawn'
  | 'approval.requested'
  | 'approval.resolved'
  | 'question.asked'
  | 'question.answered'
  | 'question.withdrawn';

/** The event types after which nothing follows. */
export const LAST_EVENTS: readonly string[] = ['run.completed', 'run.failed'] satisfies RunEventType[];

declare global {
  interface ColumnTypes {
    'run_event.events': NewEvent[];
  }
}

export interface NewEvent {
  type: RunEventType;
  data: Record<string, unknown>;
}

/** A tool call as the model asked for it. */
export interface PlannedCall {
  step: number;
  position: number;
  callId: string;
  tool: string;
  input: unknown;
  /** Whether it begins right after its step; others begin when one before them has ended. */
  startsAtOnce: boolean;
}

/** A finished model call. */
export interface FinishedStep {
  number: number;
  startedAt: Date;
  result: StepResult;
  costUsd: number | null;
  calls: PlannedCall[];
  /** Id of the model that answered. */
  model: string;
  /** How full its window is with the answer. */
  context: ContextView;
}

export const stepStarted = (step: number): NewEvent => ({ type: 'step.started', data: { step } });

/** What was shown of the step so far is void. */
export const stepRestarted = (
  step: number,
  why: { attempt: number; delay_ms: number; message: string },
): NewEvent => ({ type: 'step.restarted', data: { step, ...why } });

export const stepFinished = ({ number, result, costUsd, context }: FinishedStep): NewEvent => ({
  type: 'step.finished',
  data: {
    step: number,
    finish_reason: result.finish_reason,
    usage: result.usage,
    cost_usd: costUsd,
    context,
  },
});

export const toolStarted = ({ callId, tool, input, step }: PlannedCall): NewEvent => ({
  type: 'tool.started',
  data: { id: callId, tool, input, step },
});

export const approvalResolvedEvent = (row: Row<'approval'>): NewEvent => {
  const { id: approval_id, call_id: id, status, scope, note, decided_by } = row;
  return { type: 'approval.resolved', data: { approval_id, id, status, scope, note, decided_by } };
};

export const questionClosedEvent = (row: Row<'question'>): NewEvent => {
  const { id: question_id, call_id: id, status, answer, answered_by } = row;
  if (status !== 'answered') return { type: 'question.withdrawn', data: { question_id, id, status } };
  return { type: 'question.answered', data: { question_id, id, ...answer, answered_by } };
};

/** The most that one field of an event may take. */
const MAX_FIELD_BYTES = 256 * 1024;

/**
 * The event with only the names of fields that are too large, in `omitted`. Many may watch a run; the answer, and the
 * input and output of a call, are kept with the run, where each is read once.
 */
export function bounded({ type, data }: NewEvent): NewEvent {
  const omitted = Object.keys(data).filter(name => isLarge(data[name]));
  if (omitted.length === 0) return { type, data };
  const kept = Object.entries(data).filter(([name]) => !omitted.includes(name));
  return { type, data: { ...Object.fromEntries(kept), omitted } };
}

function isLarge(value: unknown): boolean {
  if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return false;
  // Measured as JSON, which is what is stored and sent; no character takes more than six bytes there.
  if (typeof value === 'string' && value.length * 6 <= MAX_FIELD_BYTES) return false;
  return Buffer.byteLength(JSON.stringify(value)) > MAX_FIELD_BYTES;
}
