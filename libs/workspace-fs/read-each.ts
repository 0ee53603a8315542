import { byFolder } from './by-folder.js';
import { forEachOf } from './concurrency.js';
import type { Directory } from './directory.js';
import { isWorkspaceError, WorkspaceFsError } from './errors.js';
import { OpenFile } from './open-file.js';
import { joinPath } from './path.js';
import type { Tree } from './tree.js';

const TRIES = 3;

type Visit<T> = (file: OpenFile) => Promise<T>;

/**
 * Opens files, a few at once and each folder once, and has them visited. One that changed meanwhile is visited again; after a few
 * tries its error is `busy`. Each has its outcome, in the order of `paths`.
 */
export async function readEach<T>(
  tree: Tree,
  paths: readonly string[],
  visit: Visit<T>,
): Promise<PromiseSettledResult<T>[]> {
  const outcomes = new Map<string, PromiseSettledResult<T>>();
  for (const [folder, names] of byFolder(paths)) {
    const [opened] = await Promise.allSettled([
      tree.inFolder(folder, from =>
        forEachOf(names, async name => {
          const [outcome] = await Promise.allSettled([readOne(from, name, visit)]);
          outcomes.set(joinPath(folder, name), outcome);
        }),
      ),
    ]);
    if (opened.status === 'rejected') for (const name of names) outcomes.set(joinPath(folder, name), opened);
  }
  return paths.map(path => {
    const outcome = outcomes.get(path);
    if (!outcome) throw new Error(`${path} was not visited`);
    return outcome;
  });
}

async function readOne<T>(folder: Directory, name: string, visit: Visit<T>): Promise<T> {
  for (let tries = 0; tries < TRIES; tries++) {
    const file = await OpenFile.open(folder, name);
    try {
      const seen = await visit(file);
      if (file.isUnchanged()) return seen;
    } catch (error) {
      if (!isWorkspaceError(error, 'busy')) throw error;
    } finally {
      await file.close();
    }
  }
  throw new WorkspaceFsError('busy', joinPath(folder.path, name));
}
