import { eachByFolder } from './by-folder.js';
import type { Descriptor } from './descriptor.js';
import { Destination } from './destination.js';
import type { Directory } from './directory.js';
import { WorkspaceFsError } from './errors.js';
import { joinPath } from './path.js';
import { StagedFile } from './staged-file.js';
import type { Tree } from './tree.js';

const TRIES = 3;

/** How it went with one file. */
export type Outcome = PromiseSettledResult<void>;

/**
 * Copies files from another tree to the same paths, with their times, sharing blocks where the disk can, never an inode. One
 * that is there with the same size and time (in milliseconds) stays as it is. A file that changes meanwhile is copied again;
 * after a few tries its error is `busy`. Each has its outcome, and is whole or not there unless the machine loses its power;
 * durable it is once all of it is flushed, as many files are in the time that a few would take one by one.
 */
export function copyFrom(tree: Tree, source: Tree, paths: readonly string[]): Promise<Outcome[]> {
  return eachByFolder(paths, (folder, names, each) =>
    source.inFolder(folder, from =>
      tree.toDestination(joinPath(folder, names[0] ?? ''), async first => {
        const to = await first.folder();
        await each(name => copyOne(tree, from, to, name));
      }),
    ),
  );
}

async function copyOne(tree: Tree, from: Directory, to: Directory, name: string): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    const original = await from.descriptor(name);
    try {
      if (await copyOpen(tree, original, new Destination(to, [], name, tree.options.owner))) return;
    } finally {
      await original.close();
    }
  }
  throw new WorkspaceFsError('busy', joinPath(from.path, name));
}

/** False where the original changed while it was copied. */
async function copyOpen(tree: Tree, original: Descriptor, destination: Destination): Promise<boolean> {
  const { owner, maxFileBytes } = tree.options;
  const { stats } = original;
  const there = await destination.current();
  if (there?.isFile() && there.size === stats.size && there.mtimeMs === stats.mtimeMs) return true;
  return StagedFile.use(destination, maxFileBytes, async staged => {
    await staged.file.fillFrom(original, Number(stats.size));
    if (!original.isUnchanged()) return false;
    await staged.file.setModified(Number(stats.mtimeMs));
    await staged.file.handOver(owner, stats.mode);
    await staged.placeIn(destination.anchor, true);
    return true;
  });
}
