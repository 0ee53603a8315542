import { byFolder } from './by-folder.js';
import { forEachOf } from './concurrency.js';
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
export async function copyFrom(tree: Tree, source: Tree, paths: readonly string[]): Promise<Outcome[]> {
  const outcomes = new Map<string, Outcome>();
  for (const [folder, names] of byFolder(paths)) {
    const copied = await settled(() => copyInto(tree, source, folder, names, outcomes));
    if (copied.status === 'rejected') for (const name of names) outcomes.set(joinPath(folder, name), copied);
  }
  return paths.map(path => outcomes.get(path) ?? DONE);
}

const DONE: Outcome = { status: 'fulfilled', value: undefined };

async function settled(work: () => Promise<void>): Promise<Outcome> {
  const [outcome = DONE] = await Promise.allSettled([work()]);
  return outcome;
}

/** Files of one folder, which is opened once on both sides. */
function copyInto(
  tree: Tree,
  source: Tree,
  folder: string,
  names: readonly string[],
  outcomes: Map<string, Outcome>,
): Promise<void> {
  return source.inFolder(folder, from =>
    tree.toDestination(joinPath(folder, names[0] ?? ''), async first => {
      const to = await first.folder();
      await forEachOf(names, async name => {
        const outcome = await settled(() => copyOne(tree, from, to, name));
        outcomes.set(joinPath(folder, name), outcome);
      });
    }),
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
    const after = original.statsNow();
    if (after.mtimeNs !== stats.mtimeNs || after.size !== stats.size) return false;
    await staged.file.setModified(Number(stats.mtimeMs));
    await staged.file.handOver(owner, stats.mode);
    await staged.placeIn(destination.anchor, true);
    return true;
  });
}
