import { isNativeError } from 'node:util/types';
import { quotePath } from './quote-path.js';

export type WorkspaceFsErrorCode =
  | 'not_found'
  | 'exists'
  | 'not_directory'
  | 'is_directory'
  | 'not_empty'
  | 'not_regular'
  | 'symlink'
  | 'invalid_path'
  | 'too_large'
  | 'precondition_failed'
  | 'not_text'
  | 'no_match'
  | 'ambiguous'
  | 'no_space'
  | 'denied'
  | 'busy'
  | 'aborted';

/** The sentence for a code where the place that throws has nothing to add. */
const SENTENCES: Record<WorkspaceFsErrorCode, (path: string) => string> = {
  not_found: path => `${path} does not exist`,
  exists: path => `${path} already exists`,
  not_directory: path => `${path} is not a folder`,
  is_directory: path => `${path} is a folder, not a file`,
  not_empty: path => `${path} is not empty; remove it recursively to remove what it holds`,
  not_regular: path => `${path} is not a regular file but a pipe, socket or device`,
  symlink: path => `${path} is a symbolic link, and links are not followed`,
  invalid_path: path => `${path} is not a path that can be used`,
  too_large: path => `${path} is too large`,
  precondition_failed: path => `${path} has changed since it was read; read it again`,
  not_text: path =>
    `${path} is not UTF-8 text; download it instead, or look at it with a command (file, xxd)`,
  no_match: path => `The text was not found in ${path}`,
  ambiguous: path => `The text occurs more than once in ${path}`,
  no_space: path => `There is no space left for ${path}`,
  denied: path => `The service has no permission for ${path}`,
  busy: path => `${path} is in use and cannot be reached now; try again`,
  aborted: path => `The work on ${path} was aborted`,
};

/** An expected failure. `path` is relative to the workspace; the message never names a path of the host. */
export class WorkspaceFsError extends Error {
  constructor(
    readonly code: WorkspaceFsErrorCode,
    readonly path: string,
    message: string = SENTENCES[code](quotePath(path)),
    options?: ErrorOptions,
  ) {
    super(message.charAt(0).toUpperCase() + message.slice(1), options);
    this.name = 'WorkspaceFsError';
  }
}

const BY_ERRNO: Record<string, WorkspaceFsErrorCode> = {
  ENOENT: 'not_found',
  EEXIST: 'exists',
  ENOTDIR: 'not_directory',
  EISDIR: 'is_directory',
  ENOTEMPTY: 'not_empty',
  ENXIO: 'not_regular',
  ENODEV: 'not_regular',
  ELOOP: 'symlink',
  ENAMETOOLONG: 'invalid_path',
  EILSEQ: 'invalid_path',
  EINVAL: 'invalid_path',
  EFBIG: 'too_large',
  ENOSPC: 'no_space',
  EDQUOT: 'no_space',
  EACCES: 'denied',
  EPERM: 'denied',
  EROFS: 'denied',
  EOPNOTSUPP: 'denied',
  ENOTSUP: 'denied',
  ENOSYS: 'denied',
  EMFILE: 'busy',
  ENFILE: 'busy',
  EBUSY: 'busy',
  ESTALE: 'busy',
  // O_NONBLOCK on a file whose owner holds a lease: waiting would let it stall us.
  EAGAIN: 'busy',
};

/**
 * The WorkspaceFsError for an error of the operating system, which is kept as its cause. An error that is
 * none of the expected ones (EIO, a bug) is returned as it is.
 */
export function asWorkspaceError(error: unknown, path: string): unknown {
  if (error instanceof WorkspaceFsError || !isNativeError(error)) return error;
  const code = BY_ERRNO[(error as NodeJS.ErrnoException).code ?? ''];
  return code ? new WorkspaceFsError(code, path, undefined, { cause: error }) : error;
}

export function isWorkspaceError(
  error: unknown,
  ...codes: WorkspaceFsErrorCode[]
): error is WorkspaceFsError {
  return error instanceof WorkspaceFsError && codes.includes(error.code);
}

/** Whether there is no file at a path: it is gone, it or a folder above it became something else, or it is a link. */
export function isNoFile(error: unknown): error is WorkspaceFsError {
  return isWorkspaceError(error, 'not_found', 'not_directory', 'symlink', 'not_regular', 'is_directory');
}
