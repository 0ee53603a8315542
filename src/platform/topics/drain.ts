import type { Log } from '../log/index.js';
import type { Signals } from './signals.js';

interface DrainOptions {
  /** The topic that tells of new work. */
  readonly topic: string;
  /** Takes some of what is waiting; how much it took, 0 when nothing is left. */
  readonly take: () => Promise<number>;
  /** What the log says when taking fails. */
  readonly failure: string;
  readonly retryMs: number;
}

/**
 * Empties a table of waiting work: woken by the commit that adds to it, and once at start for what a crash left behind.
 * One at a time in a process; a wake-up that comes while it works makes it look once more. After a failure it tries again.
 */
export class Drain {
  private readonly unsubscribe: () => void;
  private working: Promise<void> | undefined;
  private again: NodeJS.Timeout | undefined;
  private wanted = false;

  constructor(
    signals: Signals,
    private readonly log: Log,
    private readonly options: DrainOptions,
  ) {
    this.unsubscribe = signals.subscribe(options.topic, () => this.wake());
    this.wake();
  }

  /** Resolves when what is being taken is done with; nothing is taken afterwards. */
  async close(): Promise<void> {
    this.unsubscribe();
    clearTimeout(this.again);
    await this.working;
  }

  /** Looks for work, now or as soon as what is under way is done. */
  wake(): void {
    this.wanted = true;
    this.working ??= this.empty().finally(() => {
      this.working = undefined;
    });
  }

  private async empty(): Promise<void> {
    const { take, failure, retryMs } = this.options;
    while (this.wanted) {
      this.wanted = false;
      try {
        while ((await take()) > 0);
      } catch (error) {
        this.log.error({ err: error }, failure);
        this.again = setTimeout(() => this.wake(), retryMs).unref();
      }
    }
  }
}
