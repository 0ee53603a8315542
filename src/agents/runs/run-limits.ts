import type { RunRow } from './run-state.js';

/** A limit that a run has reached: its stop reason, and what to say. */
export interface ReachedLimit {
  readonly stopReason: 'max_steps' | 'max_cost' | 'max_seconds';
  readonly text: string;
}

/** A limit was reached in the middle of a step. */
export class LimitReached extends Error {
  constructor(readonly limit: ReachedLimit) {
    super(`The run has reached ${limit.text}`);
  }
}

/** Model calls, and their cost in USD; null where that is not known. */
export interface Spent {
  readonly steps: number;
  readonly usd: number | null;
}

/** What a run's limits are made of. */
interface LimitsParts {
  readonly run: Pick<RunRow, 'id' | 'budget' | 'waited_ms' | 'step_count' | 'cost_usd'> & {
    /** How long ago a worker first claimed it, by the clock of the database; in milliseconds. */
    readonly ran_ms: number;
  };
  /** The operator's limit. */
  readonly maxSteps: number;
  /** Those of the run that handed this one over as a task. */
  readonly above?: RunLimits;
  /** What its tasks had used before this attempt. */
  readonly spentOnTasks?: ReadonlyMap<string, Spent>;
}

/**
 * The limits of one run. Steps and cost are looked at between model calls, the time at any moment. What a task uses counts
 * for the budget of every run above it; all of them are executed in one process.
 */
export class RunLimits {
  /** Aborted when the time is over. */
  readonly expired: AbortSignal;
  /** Model calls, that under way included. */
  private steps: number;
  private usd: number | null;
  private readonly tasks: Map<string, Spent | RunLimits>;

  constructor(private readonly parts: LimitsParts) {
    const { run, above, spentOnTasks } = parts;
    this.steps = run.step_count;
    this.usd = run.step_count === 0 ? (run.cost_usd ?? 0) : run.cost_usd;
    this.tasks = new Map(spentOnTasks);
    this.expired = expiry(run);
    above?.tasks.set(run.id, this);
  }

  /**
   * The limit that keeps the run from another model call; `ofAgent` is the limit of its agent, and `underWay` one
   * for a run that is in the middle of a step.
   */
  reached(ofAgent: number, underWay = 0): ReachedLimit | undefined {
    const maxSteps = Math.min(this.parts.maxSteps, ofAgent);
    if (this.steps - underWay >= maxSteps)
      return { stopReason: 'max_steps', text: `its limit of ${count(maxSteps, 'step')}` };
    return this.reachedBudget('its', underWay);
  }

  /** A model call begins, and counts. */
  begin(): void {
    this.steps++;
  }

  /** Counts what a model call cost; null where that is not known, and then nothing is. */
  add(costUsd: number | null): void {
    this.usd = sum(this.usd, costUsd);
  }

  /** The limit of time, once it is over. */
  get reachedTime(): ReachedLimit {
    const { max_seconds = 0 } = this.parts.run.budget ?? {};
    return { stopReason: 'max_seconds', text: `its limit of ${count(max_seconds, 'second')}` };
  }

  private reachedBudget(whose: string, underWay: number): ReachedLimit | undefined {
    const { run, above } = this.parts;
    const { cost_usd, max_steps } = run.budget ?? {};
    const { steps, usd } = this.total();
    if (max_steps !== undefined && steps - underWay >= max_steps)
      return { stopReason: 'max_steps', text: `${whose} limit of ${count(max_steps, 'step')}` };
    if (cost_usd !== undefined && usd !== null && usd >= cost_usd)
      return { stopReason: 'max_cost', text: `${whose} budget of $${cost_usd}` };
    return above?.reachedBudget('the whole run’s', underWay);
  }

  private total(): Spent {
    let steps = this.steps;
    let usd = this.usd;
    for (const task of this.tasks.values()) {
      const spent = task instanceof RunLimits ? task.total() : task;
      steps += spent.steps;
      usd = sum(usd, spent.usd);
    }
    return { steps, usd };
  }
}

const sum = (a: number | null, b: number | null) => (a === null || b === null ? null : a + b);
const count = (number: number, unit: string) => `${number} ${number === 1 ? unit : `${unit}s`}`;

/** The time counts from when a worker first claimed the run, over all its attempts, but not while it waited for people. */
function expiry({ budget, ran_ms, waited_ms }: LimitsParts['run']): AbortSignal {
  if (budget?.max_seconds === undefined) return new AbortController().signal;
  // A timer takes whole milliseconds only.
  return AbortSignal.timeout(Math.max(0, Math.ceil(budget.max_seconds * 1000 + Number(waited_ms) - ran_ms)));
}

/**
 * What a worker knows of messages that wait to enter the run that it executes. They enter between two steps; until then
 * a tool that takes long is asked to end, and calls that have not begun are not made. So it is in the tasks of
 * the run, which end at their next step.
 */
export class Steering {
  private arrival = new AbortController();

  /** `above` is that of the run which handed this one over as a task. */
  constructor(private readonly above?: Steering) {}

  /** Whether one waits, as far as is known. */
  get waits(): boolean {
    return this.arrival.signal.aborted;
  }

  /** Whether one waits to enter a run above, which this one keeps from going on. */
  get isInTheWay(): boolean {
    return this.above?.waits === true || this.above?.isInTheWay === true;
  }

  /** Aborted when a message waits, for this run or one above. */
  get signal(): AbortSignal {
    return this.above ? AbortSignal.any([this.arrival.signal, this.above.signal]) : this.arrival.signal;
  }

  /** `count` messages wait, as the database has it. */
  note(count: number): void {
    if (count > 0) this.arrival.abort();
    else if (this.waits) this.arrival = new AbortController();
  }
}
