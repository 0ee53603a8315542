import type { Topics } from '../../platform/topics/index.js';
import type { RunRow } from './run.js';
import type { RunAuthority } from './run-authority.js';
import { holdTopic, RunLost } from './run-state.js';
import type { RunsStore } from './runs.store.js';
/**
 * What a worker knows of messages that wait to enter the run that it carries. They enter between two steps; until then
 * a tool that takes long is told to come to an end, and calls that have not begun are not made. So it is in the tasks of
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

/**
 * An attempt's hold on its run. It is lost when the run is gone or another worker has taken it up; then what is still
 * under way for it, such as a command in a sandbox, is of no use and ends. It also hears of messages that are to enter.
 */
export class RunHold {
  private readonly lost = new AbortController();
  private readonly unsubscribe: () => void;

  constructor(
    private readonly runs: RunsStore,
    topics: Topics,
    private readonly run: Pick<RunRow, 'id' | 'attempt'>,
    private readonly steering: Steering,
    private readonly authority: RunAuthority,
  ) {
    this.unsubscribe = topics.subscribe(holdTopic(run.id), () => void this.look());
  }

  /** Aborted, with the reason, when the hold is lost. */
  get signal(): AbortSignal {
    return this.lost.signal;
  }

  release(): void {
    this.unsubscribe();
  }

  private async look(): Promise<void> {
    try {
      const now = await this.runs.find(this.run.id);
      if (now?.attempt !== this.run.attempt || now.status !== 'pending') this.lost.abort(new RunLost());
      else {
        this.steering.note(now.steers);
        await this.authority.require(now);
      }
    } catch (error) {
      // It lacks the authority; or whether it is still ours cannot be told, and we do not go on as if it were.
      this.lost.abort(error);
    }
  }
}
