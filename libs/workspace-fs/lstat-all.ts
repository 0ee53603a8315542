import { type BigIntStats, lstat } from 'node:fs';

const OUT_OF_REACH = ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM'];

/** What is at these paths; null for what is gone or out of reach. Settles when the last one is back. */
export function lstatAll(paths: string[]): Promise<(BigIntStats | null)[]> {
  if (paths.length === 0) return Promise.resolve([]);
  return new Promise((resolve, reject) => {
    const found = new Array<BigIntStats | null>(paths.length).fill(null);
    let failure: NodeJS.ErrnoException | undefined;
    let pending = paths.length;
    paths.forEach((path, at) => {
      lstat(path, { bigint: true }, (error, stats) => {
        if (!error) found[at] = stats;
        else if (!OUT_OF_REACH.includes(error.code ?? '')) failure ??= error;
        // Only when the last one is back: the descriptor must not be closed before.
        if (--pending === 0) failure ? reject(failure) : resolve(found);
      });
    });
  });
}
