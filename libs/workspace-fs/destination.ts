import type { BigIntStats } from 'node:fs';
import type { Directory } from './directory.js';
import { isWorkspaceError, WorkspaceFsError } from './errors.js';
import { joinPath } from './path.js';

export interface Owner {
  uid: number;
  gid: number;
}

/**
 * Where something new will appear. New things are prepared under a hidden name in `anchor`, the deepest folder of
 * the path that exists; the folders below it are made only when all is ready, so that a failure leaves nothing.
 */
export class Destination {
  readonly path: string;
  private reached: Directory | undefined;

  constructor(
    readonly anchor: Directory,
    private readonly missing: string[],
    readonly name: string,
    private readonly owner: Owner | undefined,
  ) {
    this.path = [...missing, name].reduce(joinPath, anchor.path);
    if (missing.length === 0) this.reached = anchor;
  }

  /** How many folders are to be made for it. */
  get missingFolders(): number {
    return this.missing.length;
  }

  /** What is there now. */
  async current(): Promise<BigIntStats | null> {
    return this.reached ? this.reached.find(this.name) : null;
  }

  /** The folder that will hold it, made where it is missing. */
  async folder(): Promise<Directory> {
    if (this.reached) return this.reached;
    let folder = this.anchor;
    for (const name of this.missing) {
      const parent = folder;
      try {
        folder = await ensureDirectory(parent, name, this.owner);
      } finally {
        if (parent !== this.anchor) await parent.close();
      }
    }
    this.reached = folder;
    return folder;
  }

  async close(): Promise<void> {
    await this.anchor.close();
    await this.reached?.close();
  }
}

/** Opens a folder, made if it is missing; the caller closes it. */
export async function ensureDirectory(
  parent: Directory,
  name: string,
  owner: Owner | undefined,
): Promise<Directory> {
  try {
    return await parent.directory(name);
  } catch (error) {
    if (!isWorkspaceError(error, 'not_found')) throw error;
  }
  try {
    await parent.makeDirectory(name);
  } catch (error) {
    if (isWorkspaceError(error, 'exists')) return parent.directory(name);
    throw error;
  }
  const made = await parent.directory(name);
  try {
    await made.giveTo(owner, 0o755);
    await parent.sync();
    return made;
  } catch (error) {
    await made.close();
    throw error;
  }
}

/** Throws unless a file may be put where `current` is. */
export function refuseUnlessFile(current: BigIntStats, path: string): void {
  if (current.isSymbolicLink()) throw new WorkspaceFsError('symlink', path);
  if (current.isDirectory()) throw new WorkspaceFsError('is_directory', path);
  if (!current.isFile()) throw new WorkspaceFsError('not_regular', path);
}
