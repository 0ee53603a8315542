import { statSync } from 'node:fs';
import path from 'node:path';

const OTHERS_ENTER = 0o001;

/**
 * The outermost folder of an absolute path that keeps other users of the host out by its mode; undefined where there is none.
 * Access control lists are not looked at.
 */
export function closedFolder(file: string): string | undefined {
  const parent = path.dirname(file);
  const outer = parent === file ? undefined : closedFolder(parent);
  if (outer !== undefined) return outer;
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats?.isDirectory() && (stats.mode & OTHERS_ENTER) === 0 ? file : undefined;
}

/** What opens a folder for the users that commands run as: they may pass through, and list nothing. */
export function openingOf(folder: string): string {
  return `run "chmod o+x '${folder}'"`;
}
