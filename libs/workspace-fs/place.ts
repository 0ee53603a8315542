import type { BigIntStats } from 'node:fs';
import { type Destination, refuseUnlessFile } from './destination.js';
import type { Directory } from './directory.js';
import { WorkspaceFsError } from './errors.js';
import { isBelow, newTemporaryName } from './path.js';
import { quotePath } from './quote-path.js';
import { removeTree } from './remove.js';

/** A folder can go neither into itself nor in the place of a folder that holds it. */
export function refuseNesting(from: string, to: string, verb: 'moved' | 'copied'): void {
  if (from !== to && !isBelow(to, from) && !isBelow(from, to)) return;
  const where = isBelow(from, to) ? 'in the place of a folder that holds it' : 'onto or into itself';
  throw new WorkspaceFsError('invalid_path', to, `${quotePath(from)} cannot be ${verb} ${where}`);
}

/** Throws unless the new thing may take the place of what is there, if anything is. */
export async function refuseUnlessFree(
  destination: Destination,
  isDirectory: boolean,
  overwrite: boolean,
): Promise<void> {
  const current = await destination.current();
  if (!current) return;
  const { path } = destination;
  if (!overwrite) throw new WorkspaceFsError('exists', path);
  if (!isDirectory) refuseUnlessFile(current, path);
  else if (current.isSymbolicLink()) throw new WorkspaceFsError('symlink', path);
  else if (!current.isDirectory()) throw new WorkspaceFsError('not_directory', path);
}

/** Renames to the destination. A folder that is there is set aside, and removed when the new one is in place. */
export async function placeByRename(
  destination: Destination,
  source: Directory,
  name: string,
  stats: BigIntStats,
): Promise<void> {
  const folder = await destination.folder();
  const current = await destination.current();
  // rename(2) does nothing at all between two names of one file.
  if (current && isSameFile(current, stats)) return source.unlink(name);
  if (!current?.isDirectory()) return source.rename(name, folder, destination.name);
  const aside = newTemporaryName();
  await folder.rename(destination.name, folder, aside);
  try {
    await source.rename(name, folder, destination.name);
  } catch (error) {
    await folder.rename(aside, folder, destination.name);
    throw error;
  }
  return removeTree(folder, aside);
}

function isSameFile(one: BigIntStats, other: BigIntStats): boolean {
  return !one.isDirectory() && one.ino === other.ino && one.dev === other.dev;
}
