import type { WorkspaceQuota } from './workspace-quota.js';

/** Short against the time in which a command fills a disk; longer where looking takes long itself. */
const MIN_PAUSE_MS = 500;
const PAUSE_FACTOR = 20;

/** Looks again and again, while a command runs, whether it writes more than its workspace may hold. */
export class QuotaGuard {
  /** Why the command must end; undefined as long as it may go on. */
  refusal: string | undefined;
  private readonly exceeded = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private released = false;

  constructor(
    private readonly quota: WorkspaceQuota,
    private readonly workspaceId: string,
    /** What its sandboxes hold in files that are gone and still open. */
    private readonly unlinkedBytes: () => number,
  ) {
    this.wait(MIN_PAUSE_MS);
  }

  /** Aborted when the workspace holds too much. */
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
    // That it cannot be measured now is told by the measurement after the command.
    const excess = await this.quota.excess(this.workspaceId, this.unlinkedBytes()).catch(() => null);
    if (excess === null)
      return this.wait(Math.max(MIN_PAUSE_MS, PAUSE_FACTOR * (performance.now() - started)));
    this.refusal = `Killed: ${excess}`;
    this.exceeded.abort();
  }
}
