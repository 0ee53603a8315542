import type { Actor } from '../../../platform/access/index.js';
import type { Row } from '../../../platform/database/index.js';
import { defineEvent } from '../../../platform/events/index.js';
import { defineTopic } from '../../../platform/topics/index.js';
import type { Language } from '../../../workspaces/sandboxes/index.js';

/**
 * waiting: its next iteration is due at `next_at`; running: an agent is at work; grading: what it left is looked at; done: it has
 * ended, and its outcome says how.
 */
export const LOOP_STATES = ['waiting', 'running', 'grading', 'done'] as const;
export type LoopState = (typeof LOOP_STATES)[number];

/**
 * satisfied: all that was pinned holds; exhausted: its iterations are used up; budget: its money or its time is; stalled: iterations
 * changed nothing; blocked: its agent cannot go on without a person; stopped: by a person; error: it could not go on.
 */
export const OUTCOMES = [
  'satisfied',
  'exhausted',
  'budget',
  'stalled',
  'blocked',
  'stopped',
  'error',
] as const;
export type Outcome = NonNullable<Row<'loop'>['outcome']>;

export const CONTEXTS = ['continue', 'fresh'] as const;

interface Transition {
  readonly from: readonly LoopState[];
  readonly to: LoopState;
}

/** All that moves a loop from one state to another. `LoopWriter.move` writes a state by these alone. */
export const TRANSITIONS = {
  /** The run of its next iteration is added, in the same transaction. */
  begin: { from: ['waiting'], to: 'running' },
  /** Its next iteration cannot begin just now. */
  postpone: { from: ['waiting'], to: 'waiting' },
  /** The run has ended, and a process takes what it left to grade it. */
  grade: { from: ['running'], to: 'grading' },
  /** A process takes it over from one that is gone or could not grade it. */
  regrade: { from: ['grading'], to: 'grading' },
  /** It could not be graded just now: another process, or this one, tries again. */
  release: { from: ['grading'], to: 'grading' },
  /** Something is not met. */
  repeat: { from: ['grading'], to: 'waiting' },
  end: { from: ['waiting', 'running', 'grading'], to: 'done' },
  resume: { from: ['done'], to: 'waiting' },
} as const satisfies Record<string, Transition>;
export type TransitionName = keyof typeof TRANSITIONS;

/** One thing that a grader says yes or no to. */
export interface Criterion {
  readonly id: string;
  readonly text: string;
}

/** What must hold, as it was pinned when the loop was made. The bytes of a check are in `loop_check`. */
export interface Goal {
  readonly check: {
    readonly run: Language;
    /** Where it was read; null: it was given as it is. */
    readonly path: string | null;
    readonly sha256: string;
    readonly bytes: number;
  } | null;
  /** Of the agent's last message. */
  readonly schema: Record<string, unknown> | null;
  readonly rubric: {
    readonly text: string;
    readonly criteria: readonly Criterion[];
    /** The model that grades. */
    readonly model: string;
  } | null;
}

export interface LoopBudget {
  readonly cost_usd?: number;
  readonly max_seconds?: number;
}

/** What a check or a schema said. */
export interface CheckResult {
  readonly kind: 'check' | 'schema';
  readonly met: boolean;
  /** For a check, the end of what it printed; for a schema, what is wrong. */
  readonly detail: string;
}

/** What the grader said. */
export interface Verdict {
  readonly criteria: readonly { readonly id: string; readonly met: boolean; readonly evidence: string }[];
  readonly summary: string;
}

declare global {
  interface ColumnTypes {
    /** On whose authority its runs and checks act. */
    'loop.actor': Actor;
    /** The allowlists of the run that made it, each of which must allow what its agents call. */
    'loop.tools_above': readonly (readonly string[])[];
    'loop.goal': Goal;
    'loop.budget': LoopBudget;
    'loop_iteration.checks': readonly CheckResult[];
    'loop_iteration.verdict': Verdict;
    'loop_event.data': Record<string, unknown>;
  }
}

export type LoopRow = Row<'loop'>;
export type IterationRow = Row<'loop_iteration'>;

export interface NewLoopEvent {
  readonly type:
    | 'loop.created'
    | 'iteration.started'
    | 'iteration.ended'
    | 'iteration.checked'
    | 'iteration.graded'
    | 'loop.waiting'
    | 'loop.resumed'
    | 'loop.finished';
  readonly data: Record<string, unknown>;
}

/** How a loop ends, with a sentence for people. */
export interface LoopEnd {
  readonly outcome: Outcome;
  readonly reason: string;
}

/** Published whenever a loop has changed. */
export const loopTopic = defineTopic('loop');
/** Iterations are due. */
export const LOOPS_DUE = defineTopic('loops-due')();

/** A loop has ended. */
export const loopFinished = defineEvent<{ loop_id: string }>('loop.finished');
