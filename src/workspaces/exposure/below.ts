import { normalizePath, WorkspaceFsError } from '#libs/workspace-fs/index.js';

/** Whether a path below what is shared has a name that begins with a dot: settings, keys and repositories, most often. */
export const isHidden = (within: string): boolean => /(^|\/)\./.test(within);

/**
 * The path in the workspace of one below what is shared. Throws `invalid_path` for one that leads out (`..`), `not_found`
 * for one that stays hidden.
 */
export function pathBelow(shared: string, within: string): string {
  const below = normalizePath(within);
  if (isHidden(below)) throw new WorkspaceFsError('not_found', below);
  return [shared, below].filter(Boolean).join('/');
}
