import { FolderWatch } from './folder-watch.js';

/** So long after something happened it is looked at: writers come in bursts, and the service has logged its own by then. */
const LEAST_PAUSE_MS = 500;
/** A look that takes long is followed by so many times as long a pause. */
const PAUSE_FACTOR = 10;
/** When what happened could not be looked at, it is tried again. */
const RETRY_MS = 2000;

/** What folders there are; null where it could not be looked at now. */
export type Look = () => Promise<ReadonlyMap<string, string> | null>;

/** Looks at a folder when something has happened in it, until it is closed. */
export class BackgroundWatch {
  private readonly folders: FolderWatch;
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> = Promise.resolve();
  private pauseMs = LEAST_PAUSE_MS;
  private isLooking = false;
  /** Something happened since it began to look. */
  private again = false;
  private closed = false;

  constructor(
    root: string,
    private readonly look: Look,
    private readonly onFailure: (error: unknown) => void,
  ) {
    this.folders = new FolderWatch(root, () => this.wake(this.pauseMs));
  }

  start(folders: ReadonlyMap<string, string>): void {
    this.follow(folders);
  }

  /** Resolves when it looks no more. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    this.folders.close();
    await this.looking;
  }

  private follow(folders: ReadonlyMap<string, string>): void {
    // What happened in a new folder before it was watched has to be looked for.
    if (this.folders.follow(folders)) this.wake(this.pauseMs);
  }

  private wake(afterMs: number): void {
    if (this.isLooking) this.again = true;
    if (this.closed || this.timer || this.isLooking) return;
    this.timer = setTimeout(() => {
      this.looking = this.lookNow();
    }, afterMs).unref();
  }

  private async lookNow(): Promise<void> {
    const started = performance.now();
    this.timer = undefined;
    this.isLooking = true;
    this.again = false;
    try {
      const folders = await this.look();
      this.isLooking = false;
      if (this.closed) return;
      this.pauseMs = Math.max(LEAST_PAUSE_MS, PAUSE_FACTOR * (performance.now() - started));
      if (folders) this.follow(folders);
      if (this.again || !folders) this.wake(folders ? this.pauseMs : RETRY_MS);
    } catch (error) {
      this.folders.close();
      this.onFailure(error);
    }
  }
}
