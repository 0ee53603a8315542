import { type BigIntStats, lstat, lstatSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { atOnce } from './at-once.js';

type Found = BigIntStats | null;

const OUT_OF_REACH = ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM'];
/** Looked at in less than a millisecond, before it is the turn of others. */
const AT_ONCE = 128;

/** What is at these paths; null for what is gone or out of reach. Settles when the last one is back. */
export async function lstatAll(paths: string[]): Promise<Found[]> {
  const found: Found[] = [];
  for (let at = 0; at < paths.length; at += AT_ONCE) {
    if (at > 0) await setImmediate();
    const some = paths.slice(at, at + AT_ONCE);
    const now = () => some.map(lookNow);
    found.push(...(await atOnce(now, () => lookLater(some), some.length)));
  }
  return found;
}

function lookNow(path: string): Found {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
  } catch (error) {
    if (isOutOfReach(error)) return null;
    throw error;
  }
}

function lookLater(paths: string[]): Promise<Found[]> {
  return new Promise((resolve, reject) => {
    const found = new Array<Found>(paths.length).fill(null);
    let failure: unknown;
    let pending = paths.length;
    paths.forEach((path, at) => {
      lstat(path, { bigint: true }, (error, stats) => {
        if (!error) found[at] = stats;
        else if (!isOutOfReach(error)) failure ??= error;
        // Only when the last one is back: the descriptor must not be closed before.
        if (--pending === 0) failure ? reject(failure) : resolve(found);
      });
    });
  });
}

function isOutOfReach(error: unknown): boolean {
  return OUT_OF_REACH.includes((error as NodeJS.ErrnoException).code ?? '');
}
