import type { BigIntStats } from 'node:fs';
import { throwIfAborted } from './abort.js';
import { type CopyJob, copyBytes, copyTree } from './copy-tree.js';
import type { Destination } from './destination.js';
import type { Directory } from './directory.js';
import { type Entry, toEntry } from './entry.js';
import { WorkspaceFsError } from './errors.js';
import { OpenFile } from './open-file.js';
import { newTemporaryName } from './path.js';
import { placeByRename, refuseNesting, refuseUnlessFree } from './place.js';
import { removeTree } from './remove.js';
import { StagedFile } from './staged-file.js';
import type { Tree } from './tree.js';

export interface CopyOptions {
  overwrite?: boolean;
  signal?: AbortSignal;
}

export interface Copied extends Entry {
  /** What was left out, sorted: links, pipes, sockets, devices, and what no path can name. */
  skipped: string[];
}

/** Copies a file or a folder, which appears whole or not at all. No file shares its inode with the original. */
export async function copy(tree: Tree, from: string, to: string, options: CopyOptions): Promise<Copied> {
  refuseNesting(from, to, 'copied');
  return tree.inParent(from, async (source, name) => {
    const stats = await source.lstat(name);
    if (stats.isSymbolicLink()) throw new WorkspaceFsError('symlink', from);
    return tree.toDestination(to, async destination => {
      const copying = new Copying(tree, destination, stats.isDirectory(), options);
      await copying.refuseUnlessFree();
      tree.options.beforeChange?.();
      const made = await (stats.isDirectory() ? copying.folder(source, name) : copying.file(source, name));
      return { ...toEntry(to, made), skipped: copying.job.skipped.sort() };
    });
  });
}

class Copying {
  readonly job: CopyJob;

  constructor(
    private readonly tree: Tree,
    private readonly destination: Destination,
    private readonly isDirectory: boolean,
    private readonly options: CopyOptions,
  ) {
    const { owner, maxFileBytes } = tree.options;
    this.job = { owner, maxFileBytes, signal: options.signal, skipped: [] };
  }

  refuseUnlessFree(): Promise<void> {
    return refuseUnlessFree(this.destination, this.isDirectory, this.options.overwrite === true);
  }

  async file(source: Directory, name: string): Promise<BigIntStats> {
    const original = await OpenFile.open(source, name);
    try {
      return await StagedFile.use(this.destination, this.job.maxFileBytes, async staged => {
        await copyBytes(original, staged.file, this.job);
        return this.publish(() => staged.place(this.options.overwrite === true));
      });
    } finally {
      await original.close();
    }
  }

  async folder(source: Directory, name: string): Promise<BigIntStats> {
    const { anchor } = this.destination;
    const staged = newTemporaryName();
    try {
      const stats = await this.fillFolder(source, name, staged);
      await this.publish(async () => {
        await placeByRename(this.destination, anchor, staged, stats);
        await (await this.destination.folder()).sync();
      });
      return stats;
    } finally {
      // Nothing has that name any more once it is in its place.
      await removeTree(anchor, staged);
    }
  }

  private async fillFolder(source: Directory, name: string, staged: string): Promise<BigIntStats> {
    const { anchor, path } = this.destination;
    const original = await source.directory(name);
    try {
      await anchor.makeDirectory(staged);
      const target = await anchor.directory(staged, path);
      try {
        await copyTree(original, target, this.job);
        return await target.stats();
      } finally {
        await target.close();
      }
    } finally {
      await original.close();
    }
  }

  private publish<T>(place: () => Promise<T>): Promise<T> {
    return this.tree.alone(this.destination.path, async () => {
      await this.destination.folder();
      await this.refuseUnlessFree();
      throwIfAborted(this.job.signal, this.destination.path);
      return place();
    });
  }
}
