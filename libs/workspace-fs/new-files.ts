import { type Entry, toEntry } from './entry.js';
import { isWorkspaceError } from './errors.js';
import { StagedFile } from './staged-file.js';
import { refuseRoot, type Tree } from './tree.js';
import { alreadyThere, NEW_FILE_MODE } from './write.js';

/** Each of them holds descriptors until it is in its place. */
const MAX_STAGED = 200;

interface Staged {
  /** Lets it go to its place. */
  readonly place: () => void;
  /** Has it removed. */
  readonly drop: (why: unknown) => void;
  readonly placed: Promise<Entry>;
}

/**
 * Writes many new files, each whole or not at all, also where the machine loses its power: what is written is made durable for
 * many together, before any of them can be seen. One that is there is never replaced.
 */
export class NewFiles {
  private readonly staged: Staged[] = [];

  /** `onPlaced` is told of each file in its place; its name is durable after {@link finish}. */
  constructor(
    private readonly tree: Tree,
    private readonly flush: () => Promise<void>,
    private readonly onPlaced: (entry: Entry) => void,
  ) {}

  /** Reads all of the source. */
  async add(path: string, source: AsyncIterable<Uint8Array>): Promise<void> {
    refuseRoot(path);
    const ready = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const placed = this.write(path, source, () => {
      ready.resolve();
      return go.promise;
    });
    // It ends before it is ready only where it fails.
    await Promise.race([ready.promise, placed]);
    placed.catch(() => undefined);
    this.staged.push({ place: go.resolve, drop: go.reject, placed });
    if (this.staged.length === MAX_STAGED) await this.placeAll();
  }

  /** All are in their places, durably. */
  async finish(): Promise<void> {
    await this.placeAll();
    await this.flush();
  }

  /** Removes what is not in its place. */
  async abandon(why: unknown): Promise<void> {
    const rest = this.staged.splice(0);
    for (const { drop } of rest) drop(why);
    await Promise.allSettled(rest.map(({ placed }) => placed));
  }

  private async placeAll(): Promise<void> {
    if (this.staged.length === 0) return;
    await this.flush();
    for (let next = this.staged.shift(); next; next = this.staged.shift()) {
      next.place();
      this.onPlaced(await next.placed);
    }
  }

  private write(path: string, source: AsyncIterable<Uint8Array>, ready: () => Promise<void>): Promise<Entry> {
    const { tree } = this;
    const { maxFileBytes, owner } = tree.options;
    return tree.toDestination(path, destination =>
      StagedFile.use(destination, maxFileBytes, async staged => {
        await staged.file.appendAll(source, undefined);
        await staged.file.handOver(owner, NEW_FILE_MODE);
        await ready();
        return tree.alone(path, async () => {
          tree.options.beforeChange?.();
          try {
            return toEntry(path, await staged.placeIn(await destination.folder(), false));
          } catch (error) {
            throw isWorkspaceError(error, 'exists') ? alreadyThere(path) : error;
          }
        });
      }),
    );
  }
}
