import { type Entry, revisionOf, toEntry } from './entry.js';
import { WorkspaceFsError } from './errors.js';
import { OpenFile } from './open-file.js';
import { quotePath } from './quote-path.js';
import type { Tree } from './tree.js';

export async function stat(tree: Tree, path: string): Promise<Entry> {
  if (path === '') return tree.inFolder('', async root => toEntry('', await root.stats()));
  return tree.inParent(path, async (folder, name) => toEntry(path, await folder.lstat(name)));
}

/** As {@link stat}; null where nothing is in the folder, which is there. */
export async function findIn(tree: Tree, path: string): Promise<Entry | null> {
  if (path === '') return stat(tree, path);
  return tree.inParent(path, async (folder, name) => {
    const found = await folder.find(name);
    return found && toEntry(path, found);
  });
}

/** What a file is like, told from all that it has been, also where a program has set its times; null: no file. */
export async function revision(tree: Tree, path: string): Promise<string | null> {
  if (path === '') return null;
  return tree.inParent(path, async (folder, name) => {
    const stats = await folder.lstat(name);
    return stats.isFile() ? revisionOf(stats) : null;
  });
}

/** The caller closes it. */
export async function openRead(tree: Tree, path: string): Promise<OpenFile> {
  if (path === '') throw new WorkspaceFsError('is_directory', '');
  return tree.inParent(path, (folder, name) => OpenFile.open(folder, name));
}

/** Runs work with a file open. */
export async function reading<T>(tree: Tree, path: string, work: (file: OpenFile) => Promise<T>): Promise<T> {
  const file = await openRead(tree, path);
  try {
    return await work(file);
  } finally {
    await file.close();
  }
}

/** @throws WorkspaceFsError too_large if it has more than `max` bytes */
export function readBytes(tree: Tree, path: string, max: number): Promise<Buffer> {
  return reading(tree, path, file => {
    if (file.entry.size <= max) return file.bytes();
    const message = `${quotePath(path)} has ${file.entry.size} bytes, more than the ${max} that can be read at once`;
    throw new WorkspaceFsError('too_large', path, message);
  });
}
