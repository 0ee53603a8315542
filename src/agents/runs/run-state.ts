import { type RawBuilder, sql } from 'kysely';
import { defineTopic } from '../../platform/topics/index.js';
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
