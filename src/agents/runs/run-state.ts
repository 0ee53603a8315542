import { type RawBuilder, sql } from 'kysely';
import type { Actor } from '../../platform/access/index.js';
import type { Row } from '../../platform/database/index.js';
import { defineTopic } from '../../platform/topics/index.js';
import type { RunBudget } from './run-limits.js';

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

/** All that moves a run from one state to another. Statements write a state by {@link transition} alone. */
const TRANSITIONS = {
  /** A worker takes it for a new attempt; of one that is running, the worker before is gone. */
  claim: { from: ['queued', 'running'], to: 'running' },
  /** Its worker is told to stop, and gives it back. */
  release: { from: ['running'], to: 'queued' },
  /** People are asked; no worker has it meanwhile. */
  wait: { from: ['running'], to: 'waiting' },
  /** Nothing is to be decided any more. */
  resume: { from: ['waiting'], to: 'queued' },
  /** Its message enters another run, with which it ends. */
  merge: { from: ['queued'], to: 'running' },
  /** Somebody ends it, whether a worker has it or not. */
  cancel: { from: ['queued', 'running', 'waiting'], to: 'stopping' },
  /** Its end is written, by its worker or by who cancels it; of one that is queued, that it is withdrawn. */
  end: { from: ['queued', 'running', 'stopping'], to: 'done' },
} as const satisfies Record<string, Transition>;

/** A transition as SQL: what it sets, and the states in which it can be made. */
export function transition(name: keyof typeof TRANSITIONS): {
  set: RawBuilder<unknown>;
  from: RawBuilder<unknown>;
} {
  const { from, to } = TRANSITIONS[name];
  return {
    set: sql`state = ${sql.lit(to)}`,
    from: sql`state in (${sql.join(from.map(state => sql.lit(state)))})`,
  };
}

/** Another worker has taken the run up, or it is gone: whoever gets this stops at once and writes nothing more. */
export class RunLost extends Error {
  constructor() {
    super('The run is gone, has ended, or another worker has taken it up');
  }
}

/** The topic that is signalled when a run waits for a worker. */
export const RUNS_DUE = defineTopic('runs-due')();

/** The topic that is signalled whenever a run has new events, or is gone. */
export const runTopic = defineTopic('run');

/** The topic that is signalled when a run has ended. */
export const endTopic = defineTopic('end');

/** The topic that is signalled when a run has started a task through an action. */
export const tasksTopic = defineTopic('run-tasks');

/** The topic that is signalled when whoever carries a run should look whether it is still theirs. */
export const holdTopic = defineTopic('run-hold');

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
    'run_step.usage': Usage;
    /** What it may use, as its sender set it. */
    'run.budget': RunBudget;
    /** The allowlists of those above it, each of which must allow what it calls. */
    'run.tools_above': readonly (readonly string[])[];
  }
}
