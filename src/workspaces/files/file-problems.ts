import { WorkspaceFsError } from '#libs/workspace-fs/index.js';
import {
  BadRequest,
  Conflict,
  InsufficientStorage,
  Invalid,
  NotFound,
  PreconditionFailed,
  Problem,
  TooLarge,
  translateErrors,
  Unavailable,
} from '../../platform/errors/index.js';

const ANSWERS: Record<WorkspaceFsError['code'], new (detail: string) => Problem> = {
  not_found: NotFound,
  exists: Conflict,
  not_directory: Conflict,
  is_directory: Conflict,
  not_empty: Conflict,
  not_regular: Conflict,
  symlink: Conflict,
  invalid_path: Invalid,
  too_large: TooLarge,
  precondition_failed: PreconditionFailed,
  not_text: Conflict,
  no_match: Conflict,
  ambiguous: Conflict,
  no_space: InsufficientStorage,
  denied: Conflict,
  busy: Unavailable,
  aborted: BadRequest,
};

const DISK_FULL = 'The disk of the workspaces is full, and nothing was written; free some space there';

translateErrors(WorkspaceFsError, error =>
  error.code === 'no_space'
    ? new InsufficientStorage(DISK_FULL)
    : new (ANSWERS[error.code] ?? Conflict)(error.message),
);
