import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { WorkspaceFsError } from './errors.js';
import { StagedFile } from './staged-file.js';
import { refuseRoot, type Tree } from './tree.js';

const TRIES = 3;

/**
 * Copies one file from another tree to the same path, with its time, sharing blocks where the disk can, never the
 * inode. One that is there with the same size and time (in milliseconds) stays as it is. A file that changes meanwhile
 * is copied again; after a few tries the error is `busy`.
 */
export async function copyFrom(tree: Tree, source: Tree, path: string): Promise<void> {
  refuseRoot(path);
  await source.inParent(path, async (folder, name) => {
    for (let tries = 0; tries < TRIES; tries++) {
      const { handle, stats } = await folder.file(name);
      try {
        if (await copyOpen(tree, path, handle, stats)) return;
      } finally {
        await handle.close();
      }
    }
    throw new WorkspaceFsError('busy', path);
  });
}

/** False where the original changed while it was copied. */
function copyOpen(tree: Tree, path: string, handle: FileHandle, stats: BigIntStats): Promise<boolean> {
  const { owner, maxFileBytes } = tree.options;
  return tree.toDestination(path, async destination => {
    const there = await destination.current();
    if (there?.isFile() && there.size === stats.size && there.mtimeMs === stats.mtimeMs) return true;
    return StagedFile.use(destination, maxFileBytes, async staged => {
      await staged.file.fillFrom(handle, Number(stats.size));
      const after = await handle.stat({ bigint: true });
      if (after.mtimeNs !== stats.mtimeNs || after.size !== stats.size) return false;
      await staged.file.setModified(Number(stats.mtimeMs));
      await staged.file.finish(owner, stats.mode);
      await staged.place(true);
      return true;
    });
  });
}
