import { forEachOf } from './concurrency.js';
import { joinPath, parentOf } from './path.js';
import { refuseRoot } from './tree.js';

/** Does `work` with names of one folder, a few at once. */
export type EachName<T> = (work: (name: string) => Promise<T>) => Promise<void>;

/**
 * Does something with files, one folder after the other: `within` opens a folder once for all of its names. Each file has its
 * outcome, in the order of `paths`; where its folder cannot be opened, that is the outcome.
 */
export async function eachByFolder<T>(
  paths: readonly string[],
  within: (folder: string, names: readonly string[], each: EachName<T>) => Promise<void>,
): Promise<PromiseSettledResult<T>[]> {
  const outcomes = new Map<string, PromiseSettledResult<T>>();
  for (const [folder, names] of byFolder(paths)) {
    const each: EachName<T> = work =>
      forEachOf(names, async name => {
        const [outcome] = await Promise.allSettled([work(name)]);
        outcomes.set(joinPath(folder, name), outcome);
      });
    const [opened] = await Promise.allSettled([within(folder, names, each)]);
    if (opened.status === 'rejected') for (const name of names) outcomes.set(joinPath(folder, name), opened);
  }
  return paths.map(path => {
    const outcome = outcomes.get(path);
    if (!outcome) throw new Error(`${path} was left out`);
    return outcome;
  });
}

/** Names by the folder that they are in. */
function byFolder(paths: readonly string[]): Map<string, string[]> {
  const folders = new Map<string, string[]>();
  for (const path of paths) {
    refuseRoot(path);
    const folder = parentOf(path);
    const name = path.slice(path.lastIndexOf('/') + 1);
    const names = folders.get(folder);
    if (names) names.push(name);
    else folders.set(folder, [name]);
  }
  return folders;
}
