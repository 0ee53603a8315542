import { WorkspaceFsError, type WorkspaceFsErrorCode } from '#libs/workspace-fs/index.js';
import { type Problem, problemOf } from '../../../platform/errors/index.js';

/** Whatever of these it is, the visitor finds nothing. */
const ABSENT: readonly WorkspaceFsErrorCode[] = [
  'not_found',
  'symlink',
  'not_directory',
  'is_directory',
  'not_regular',
  'invalid_path',
  'denied',
];

export const isAbsent = (error: unknown): boolean =>
  error instanceof WorkspaceFsError && ABSENT.includes(error.code);

/**
 * What visitors read of a failure; undefined for a bug of ours. Of a file they hear its own name: the folders above what
 * is shared are nothing to them.
 */
export function toldToVisitors(error: unknown): Problem | undefined {
  if (!(error instanceof WorkspaceFsError)) return problemOf(error);
  return problemOf(new WorkspaceFsError(error.code, error.path.slice(error.path.lastIndexOf('/') + 1)));
}
