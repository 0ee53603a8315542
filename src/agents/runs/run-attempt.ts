import { DeltaWriter } from '#libs/delta-writer/index.js';
import { AttemptSignal } from './attempt-signal.js';
import type { RunJournal } from './run-journal.js';
import type { RunLimits } from './run-limits.js';
import type { ClaimedRun } from './run-queue.store.js';
import type { RunEventType } from './run-state.js';

/** Who waits so long for a run may have gone away. */
const LONG_MS = 5 * 60_000;

/** One worker's attempt at a run: the run as it was claimed, where it is written down, and when it has to end. */
export class RunAttempt {
  /** What is streamed of the model and of tools. */
  readonly deltas: DeltaWriter<RunEventType>;
  private readonly claimedAt = Date.now();
  private readonly ending: AttemptSignal;

  constructor(
    readonly run: ClaimedRun,
    readonly journal: RunJournal,
    readonly limits: RunLimits,
    /** Any is aborted when the run is no longer this attempt's. */
    claims: readonly AbortSignal[],
  ) {
    this.ending = new AttemptSignal([...claims, limits.expired]);
    this.deltas = new DeltaWriter<RunEventType>(
      events => journal.append(events),
      error => this.abort(error),
      () => journal.isWatched(),
    );
  }

  /** Aborted when the attempt has to end. */
  get signal(): AbortSignal {
    return this.ending.signal;
  }

  /** Ends what is under way in it. */
  abort(reason: unknown): void {
    this.ending.abort(reason);
  }

  get isOutOfTime(): boolean {
    const { expired } = this.limits;
    return expired.aborted && this.signal.reason === expired.reason;
  }

  /** Whether the run takes long, and no client watches it. */
  get isLong(): boolean {
    return this.run.ran_ms + Date.now() - this.claimedAt > LONG_MS && !this.journal.isWatched();
  }

  close(): void {
    this.ending.release();
  }
}
