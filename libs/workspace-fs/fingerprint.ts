import type { BigIntStats } from 'node:fs';
import path from 'node:path';
import { revisionOf } from './entry.js';
import { asWorkspaceError } from './errors.js';
import { lstatAll } from './lstat-all.js';

/** What tells whether anything at some paths was changed, replaced, added or removed. */
export interface Fingerprint {
  /** The same as before only where nothing was. A time of a file goes on in ticks of some milliseconds: see `changedAt`. */
  readonly text: string;
  /** When the newest of them was changed, its mode and its owner included; milliseconds since the epoch, 0 where there is none. */
  readonly changedAt: number;
}

/**
 * Looks at whole paths, which hostile code may turn into links on the way: it is for comparing, and says nothing of what is there.
 * Where the folders above are among the paths, a link is noticed.
 */
export async function fingerprint(root: string, paths: readonly string[]): Promise<Fingerprint> {
  try {
    const found = await lstatAll(paths.map(at => path.join(root, at)));
    const changes = found.map(stats => (stats ? Number(stats.ctimeMs) : 0));
    return { text: found.map(textOf).join('\n'), changedAt: Math.max(0, ...changes) };
  } catch (error) {
    throw asWorkspaceError(error, '');
  }
}

function textOf(stats: BigIntStats | null): string {
  return stats ? `${stats.dev.toString(36)}-${stats.mode.toString(36)}-${revisionOf(stats)}` : '-';
}
