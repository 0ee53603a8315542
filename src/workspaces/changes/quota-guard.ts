import type { WorkspaceQuota } from './workspace-quota.js';

/** Short against the time in which a command fills a disk. */
const MIN_PAUSE_MS = 500;
const PAUSE_FACTOR = 20;

/** Measures, while a command runs, whether its workspace holds too much. */
export class QuotaGuard {
  /** Why the command must end; undefined while it may run. */
  refusal: string | undefined;
  private readonly exceeded = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private released = false;

  constructor(
    private readonly quota: WorkspaceQuota,
    private readonly workspaceId: string,
    /** What its sandboxes hold in deleted files that are still open. */
    private readonly unlinkedBytes: () => number,
  ) {
    this.wait(MIN_PAUSE_MS);
  }

  get signal(): AbortSignal {
    return this.exceeded.signal;
  }

  release(): void {
    this.released = true;
    clearTimeout(this.timer);
  }

  private wait(ms: number): void {
    if (!this.released) this.timer = setTimeout(() => void this.look(), ms).unref();
  }

  private async look(): Promise<void> {
    const started = performance.now();
    // The measurement after the command reports that failure.
    const excess = await this.quota.excess(this.workspaceId, this.unlinkedBytes()).catch(() => null);
    if (excess === null)
      return this.wait(Math.max(MIN_PAUSE_MS, PAUSE_FACTOR * (performance.now() - started)));
    this.refusal = `Killed: ${excess}`;
    this.exceeded.abort();
  }
}
