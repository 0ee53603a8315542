import { type Entry, toEntry } from './entry.js';
import { placeByRename, refuseNesting, refuseUnlessFree } from './place.js';
import { refuseRoot, type Tree } from './tree.js';

/** Renames a file, link or folder. `overwrite` puts a file in the place of a file, a folder in that of a folder. */
export async function move(tree: Tree, from: string, to: string, overwrite: boolean): Promise<Entry> {
  refuseRoot(from);
  refuseNesting(from, to, 'moved');
  return tree.inParent(from, async (source, name) => {
    const stats = await source.lstat(name);
    return tree.toDestination(to, destination =>
      tree.alone(to, async () => {
        await refuseUnlessFree(destination, stats.isDirectory(), overwrite);
        tree.options.beforeChange?.();
        const folder = await destination.folder();
        await refuseUnlessFree(destination, stats.isDirectory(), overwrite);
        await placeByRename(destination, source, name, stats);
        await source.sync();
        await folder.sync();
        return toEntry(to, stats);
      }),
    );
  });
}
