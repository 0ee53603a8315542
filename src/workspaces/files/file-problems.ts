import { WorkspaceFsError } from '#libs/workspace-fs/index.js';
import {
  BadRequest,
  Conflict,
  Invalid,
  NotFound,
  PreconditionFailed,
  Problem,
  TooLarge,
  translateErrors,
  Unavailable,
} from '../../platform/http/problem.js';

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
  no_space: Unavailable,
  denied: Conflict,
  busy: Unavailable,
  aborted: BadRequest,
};

translateErrors(WorkspaceFsError, error => new (ANSWERS[error.code] ?? Conflict)(error.message));
