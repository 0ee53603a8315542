import { type FSWatcher, watch } from 'node:fs';
import path from 'node:path';

/** Writers come in bursts. */
const MIN_PAUSE_MS = 500;
/** The pause is at least so many times as long as the scan. */
const PAUSE_FACTOR = 10;
const RETRY_MS = 2000;

/** Returns the folders; null where a scan is not possible now. */
type Look = () => Promise<ReadonlyMap<string, string> | null>;

/** Scans a folder after events in it, until it is closed. */
export class BackgroundWatch {
  private readonly folders: FolderWatch;
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> = Promise.resolve();
  private pauseMs = MIN_PAUSE_MS;
  private isLooking = false;
  /** An event came since the scan began. */
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

  /** Resolves when no scan runs. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    this.folders.close();
    await this.looking;
  }

  private follow(folders: ReadonlyMap<string, string>): void {
    // Events in a new folder before it was watched were missed.
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
      this.pauseMs = Math.max(MIN_PAUSE_MS, PAUSE_FACTOR * (performance.now() - started));
      if (folders) this.follow(folders);
      if (this.again || !folders) this.wake(folders ? this.pauseMs : RETRY_MS);
    } catch (error) {
      this.folders.close();
      this.onFailure(error);
    }
  }
}

/** Beyond this, or where the kernel has no more watches, it scans at intervals. */
const MAX_WATCHED = 2000;
const LOOK_MS = 10_000;

/**
 * Reports that something may have changed in a folder or below it (inotify). Users own what is watched, and may put a
 * link in a folder's place: so an event says only that it is time to scan.
 */
class FolderWatch {
  private readonly watchers = new Map<string, FSWatcher>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly root: string,
    private readonly changed: () => void,
  ) {}

  /** Watches these, by path below the root and identity, and no others; true if some are new. */
  follow(folders: ReadonlyMap<string, string>): boolean {
    const all: [string, string][] = [['', ''], ...folders];
    const wanted = new Map(all.map(([name, identity]) => [`${identity} ${name}`, name]));
    if (wanted.size > MAX_WATCHED) return this.lookByTime();
    for (const [key, watcher] of this.watchers) {
      if (wanted.has(key)) continue;
      watcher.close();
      this.watchers.delete(key);
    }
    const added = [...wanted].filter(([key]) => !this.watchers.has(key));
    for (const [key, name] of added) if (!this.add(key, name)) return this.lookByTime();
    return added.length > 0;
  }

  close(): void {
    clearInterval(this.timer);
    for (const watcher of this.watchers.values()) watcher.close();
    this.watchers.clear();
  }

  private add(key: string, name: string): boolean {
    try {
      const watcher = watch(path.join(this.root, name), { persistent: false }, this.changed);
      watcher.on('error', this.changed);
      this.watchers.set(key, watcher);
      return true;
    } catch (error) {
      // The folder above reports that this one is gone.
      return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
    }
  }

  private lookByTime(): false {
    for (const watcher of this.watchers.values()) watcher.close();
    this.watchers.clear();
    this.timer ??= setInterval(this.changed, LOOK_MS).unref();
    return false;
  }
}
