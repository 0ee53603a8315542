import { forEachOf } from './concurrency.js';
import { isTemporaryName, isTemporaryOf } from './path.js';
import { removeTree } from './remove.js';
import type { Tree } from './tree.js';
import { walk } from './walk.js';

const DEFAULT_AGE_MS = 24 * 60 * 60 * 1000;

/** Which temporaries are to go: those that a process made that is gone, or those that are old. */
export interface SweepOptions {
  /** `TEMPORARY_MAKER` of the process. */
  maker?: string;
  /** Untouched for so long, which must be longer than any write takes; default a day, with `maker` 0. */
  olderThanMs?: number;
}

/**
 * Removes temporary files and folders that a crash left behind.
 * @returns how many were removed
 */
export function sweepTemporaries(tree: Tree, { maker, olderThanMs }: SweepOptions): Promise<number> {
  const age = olderThanMs ?? (maker === undefined ? DEFAULT_AGE_MS : Number.NEGATIVE_INFINITY);
  const isOld = (changedMs: bigint) => Number(changedMs) <= Date.now() - age;
  const isMeant = (name: string) =>
    maker === undefined ? isTemporaryName(name) : isTemporaryOf(maker, name);
  const enter = (entry: { path: string }) =>
    !isTemporaryName(entry.path.slice(entry.path.lastIndexOf('/') + 1));
  return tree.inFolder('', async root => {
    let removed = 0;
    for await (const { folder, found } of walk(root, { enter, temporaries: true })) {
      const temporary = found.filter(({ name }) => isMeant(name.toString()));
      await forEachOf(temporary, async ({ name }) => {
        // The time of the last change of status, which no one can set: a file's own time may be kept from a copy.
        const stats = await folder.find(name);
        if (!stats || !isOld(stats.ctimeMs)) return;
        await removeTree(folder, name);
        removed++;
      });
    }
    return removed;
  });
}
