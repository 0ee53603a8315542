import { ensureDirectory } from './destination.js';
import { type Entry, toEntry } from './entry.js';
import { isWorkspaceError, WorkspaceFsError } from './errors.js';
import { stat } from './read.js';
import type { Tree } from './tree.js';

/** Makes a folder and those it needs; one that exists is fine. */
export async function makeDirectory(tree: Tree, path: string): Promise<Entry> {
  if (path === '') return stat(tree, '');
  return tree.toDestination(path, async destination => {
    if (!(await destination.current())) tree.options.beforeChange?.();
    const parent = await destination.folder();
    try {
      const made = await ensureDirectory(parent, destination.name, tree.options.owner);
      try {
        return toEntry(path, await made.stats());
      } finally {
        await made.close();
      }
    } catch (error) {
      if (isWorkspaceError(error, 'not_directory') && error.path === path)
        throw new WorkspaceFsError('exists', path);
      throw error;
    }
  });
}
