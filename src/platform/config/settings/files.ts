import { asInteger, MEBIBYTE } from './parsers.js';
import { setting } from './setting.js';

/** Files of workspaces and their history. */
export const filesSettings = {
  maxFileBytes: setting(
    'MAX_FILE_BYTES',
    'Largest single file in a workspace.',
    asInteger(1, Number.MAX_SAFE_INTEGER),
    1024 * MEBIBYTE,
  ),
  maxWorkspaceBytes: setting(
    'MAX_WORKSPACE_BYTES',
    'Most bytes that the files of one workspace may have together.',
    asInteger(1, Number.MAX_SAFE_INTEGER),
    20 * 1024 * MEBIBYTE,
  ),
  maxWorkspaceFiles: setting(
    'MAX_WORKSPACE_FILES',
    'Most files and folders that one workspace may hold.',
    asInteger(1, Number.MAX_SAFE_INTEGER),
    200_000,
  ),
  historyDays: setting(
    'HISTORY_DAYS',
    'How long earlier versions of files are kept; 0: there is no history of files.',
    asInteger(0, 36500),
    90,
  ),
  historyFileBytes: setting(
    'HISTORY_FILE_BYTES',
    'Largest file whose earlier versions are kept; of larger ones only size and time.',
    asInteger(1, 64 * MEBIBYTE),
    8 * MEBIBYTE,
  ),
  historyWorkspaceBytes: setting(
    'HISTORY_WORKSPACE_BYTES',
    'Most bytes that the history of one workspace may take; what is older is forgotten sooner.',
    asInteger(MEBIBYTE, Number.MAX_SAFE_INTEGER),
    2 * 1024 * MEBIBYTE,
  ),
  changeLogDays: setting(
    'CHANGE_LOG_DAYS',
    'How long the log of changes to files is kept, from which event streams resume.',
    asInteger(1, 36500),
    30,
  ),
  maxBodyBytes: setting(
    'MAX_BODY_BYTES',
    'Largest JSON body (uploads of raw bytes are limited by MAX_FILE_BYTES).',
    asInteger(1024, 1024 * MEBIBYTE),
    16 * MEBIBYTE,
  ),
} as const;
