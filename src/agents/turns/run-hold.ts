import type { Row } from '../../platform/database/index.js';
import type { Signals } from '../../platform/topics/index.js';
import {
  holdTopic,
  type Run,
  type RunAuthority,
  RunLost,
  type RunsStore,
  type Steering,
} from '../runs/index.js';

/**
 * An attempt's hold on its run. It is lost when the run is gone or another worker has taken it up; then what is still
 * under way for it, such as a command in a sandbox, is of no use and ends. It also hears of messages that are to enter.
 */
export class RunHold {
  private readonly lost = new AbortController();
  private readonly unsubscribe: () => void;

  constructor(
    private readonly runs: RunsStore,
    signals: Signals,
    private readonly run: Pick<Row<Run>, 'id' | 'attempt'>,
    private readonly steering: Steering,
    private readonly authority: RunAuthority,
  ) {
    this.unsubscribe = signals.subscribe(holdTopic(run.id), () => void this.look());
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
