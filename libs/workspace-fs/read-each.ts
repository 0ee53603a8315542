import { eachByFolder } from './by-folder.js';
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
export function readEach<T>(
  tree: Tree,
  paths: readonly string[],
  visit: Visit<T>,
): Promise<PromiseSettledResult<T>[]> {
  return eachByFolder(paths, (folder, _names, each) =>
    tree.inFolder(folder, from => each(name => readOne(from, name, visit))),
  );
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
