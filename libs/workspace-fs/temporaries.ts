import { forEachOf } from './concurrency.js';
import { isTemporaryName } from './path.js';
import { removeTree } from './remove.js';
import type { Tree } from './tree.js';
import { walk } from './walk.js';

const DEFAULT_AGE_MS = 24 * 60 * 60 * 1000;

/**
 * Removes temporary files and folders that a crash left behind: those untouched for `olderThanMs` (default a day),
 * which must be longer than any write takes.
 * @returns how many were removed
 */
export function sweepTemporaries(tree: Tree, olderThanMs = DEFAULT_AGE_MS): Promise<number> {
  const before = BigInt(Math.floor(Date.now() - olderThanMs));
  const enter = (entry: { path: string }) =>
    !isTemporaryName(entry.path.slice(entry.path.lastIndexOf('/') + 1));
  return tree.inFolder('', async root => {
    let removed = 0;
    for await (const { folder, found } of walk(root, { enter, temporaries: true })) {
      const temporary = found.filter(({ name }) => isTemporaryName(name));
      await forEachOf(temporary, async ({ name }) => {
        // The time of the last change of status, which no one can set: a file's own time may be kept from a copy.
        const stats = await folder.find(name);
        if (!stats || stats.ctimeMs > before) return;
        await removeTree(folder, name);
        removed++;
      });
    }
    return removed;
  });
}
