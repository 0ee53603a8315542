import type { Row } from '../../platform/database/rows.js';
import type { Run } from './run.entity.js';

/** What a run may use, as whoever sent its message set it. */
export interface RunBudget {
  cost_usd?: number;
  max_steps?: number;
  max_seconds?: number;
}

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

/** The limits of one run. Steps and cost are looked at between model calls, the time at any moment. */
export class RunLimits {
  /** Aborted when the time is over. */
  readonly expired: AbortSignal;
  private spentUsd: number | null;

  constructor(
    private readonly run: Pick<Row<Run>, 'budget' | 'started_at' | 'step_count' | 'cost_usd'>,
    /** The operator's limit. */
    private readonly mostSteps: number,
  ) {
    this.spentUsd = run.step_count === 0 ? (run.cost_usd ?? 0) : run.cost_usd;
    this.expired = expiry(run);
  }

  /** Counts what a step cost; null where that is not known, and then nothing is. */
  add(costUsd: number | null): void {
    this.spentUsd = costUsd === null || this.spentUsd === null ? null : this.spentUsd + costUsd;
  }

  /** The limit that keeps the run from another step after `steps`; `ofAgent` is the most steps of its agent. */
  reachedAfter(steps: number, ofAgent: number): ReachedLimit | undefined {
    const { cost_usd, max_steps = Number.POSITIVE_INFINITY } = this.run.budget ?? {};
    const mostSteps = Math.min(this.mostSteps, ofAgent, max_steps);
    if (steps >= mostSteps)
      return {
        stopReason: 'max_steps',
        text: `its limit of ${mostSteps} ${mostSteps === 1 ? 'step' : 'steps'}`,
      };
    if (cost_usd !== undefined && this.spentUsd !== null && this.spentUsd >= cost_usd)
      return { stopReason: 'max_cost', text: `its budget of $${cost_usd}` };
    return undefined;
  }

  /** The limit of time, once it is over. */
  get reachedTime(): ReachedLimit {
    const { max_seconds = 0 } = this.run.budget ?? {};
    return {
      stopReason: 'max_seconds',
      text: `its limit of ${max_seconds} ${max_seconds === 1 ? 'second' : 'seconds'}`,
    };
  }
}

/** The time counts from when a worker first took the run up, over all its attempts. */
function expiry({ budget, started_at }: Pick<Row<Run>, 'budget' | 'started_at'>): AbortSignal {
  if (budget?.max_seconds === undefined) return new AbortController().signal;
  const since = started_at === null ? Date.now() : Date.parse(started_at);
  return AbortSignal.timeout(Math.max(0, since + budget.max_seconds * 1000 - Date.now()));
}
