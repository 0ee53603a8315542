import type { BigIntStats } from 'node:fs';
import type { Destination } from './destination.js';
import type { Directory } from './directory.js';
import { isWorkspaceError, WorkspaceFsError } from './errors.js';
import { NewFile } from './new-file.js';
import { newTemporaryName } from './path.js';
import { removeTree } from './remove.js';

/** A file that is written under a hidden name and then put in its place in one step. */
export class StagedFile {
  /** Whether something may have its hidden name. */
  private hasName = true;

  private constructor(
    private readonly destination: Destination,
    private readonly name: string,
    readonly file: NewFile,
  ) {}

  /** Runs work with a staged file, which is removed unless the work put it in its place. */
  static async use<T>(
    destination: Destination,
    maxBytes: number,
    work: (staged: StagedFile) => Promise<T>,
  ): Promise<T> {
    const { anchor, path } = destination;
    const name = newTemporaryName();
    const staged = new StagedFile(destination, name, await NewFile.create(anchor, name, path, maxBytes));
    try {
      return await work(staged);
    } finally {
      await staged.file.close();
      if (staged.hasName) await removeTree(anchor, name);
    }
  }

  /**
   * Puts it in its place, durably. Without `replace` it fails with `exists` when something is there, also when
   * that came from another process a moment ago.
   */
  async place(replace: boolean): Promise<BigIntStats> {
    const folder = await this.destination.folder();
    const stats = await this.placeIn(folder, replace);
    await folder.sync();
    return stats;
  }

  /** As {@link place}, but durable only when the folder is synced. */
  async placeIn(folder: Directory, replace: boolean): Promise<BigIntStats> {
    const { anchor, name: target } = this.destination;
    const stats = this.file.stats();
    if (replace || !(await this.linkInto(folder, target))) {
      await anchor.rename(this.name, folder, target);
      this.hasName = false;
    } else if (await anchor.dropName(this.name)) this.hasName = false;
    return stats;
  }

  /** link(2) never replaces. False on a file system that has no hard links. */
  private async linkInto(folder: Directory, target: string): Promise<boolean> {
    try {
      await this.destination.anchor.link(this.name, folder, target);
      return true;
    } catch (error) {
      if (isWorkspaceError(error, 'exists')) throw new WorkspaceFsError('exists', this.destination.path);
      if (isWorkspaceError(error, 'denied')) return false;
      throw error;
    }
  }
}
