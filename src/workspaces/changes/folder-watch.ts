import { type FSWatcher, watch } from 'node:fs';
import path from 'node:path';

/** Beyond this, or where the kernel has no more watches for us, what happens is looked for every so often. */
const MOST_WATCHED = 2000;
const LOOK_MS = 10_000;

/**
 * Tells that something may have happened in a folder or those below it (inotify). What is watched is somebody else's, who may
 * put a link in a folder's place: so this tells nothing but that it is time to look.
 */
export class FolderWatch {
  private readonly watchers = new Map<string, FSWatcher>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly root: string,
    private readonly changed: () => void,
  ) {}

  /** Watches these, by path below the root and identity, and no others; true if some of them were not watched before. */
  follow(folders: ReadonlyMap<string, string>): boolean {
    const all: [string, string][] = [['', ''], ...folders];
    const wanted = new Map(all.map(([name, identity]) => [`${identity} ${name}`, name]));
    if (wanted.size > MOST_WATCHED) return this.lookByTime();
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

  /** False where it cannot be watched although it is there. */
  private add(key: string, name: string): boolean {
    try {
      const watcher = watch(path.join(this.root, name), { persistent: false }, this.changed);
      watcher.on('error', this.changed);
      this.watchers.set(key, watcher);
      return true;
    } catch (error) {
      // What is gone by now has told so in the folder that it was in.
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
