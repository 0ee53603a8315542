import { asChoice, asInteger, asText, optional, setting } from '#libs/env-settings/index.js';
import { MEBIBYTE } from './setting.js';

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

/** Forms that people outside fill in. */
export const formsSettings = {
  maxForms: setting('MAX_FORMS', 'Most forms that one workspace may share.', asInteger(0, 10_000), 100),
  formRetentionDays: setting(
    'FORM_RETENTION_DAYS',
    'How long responses are kept beside the file that they were written to, and suspected spam at all.',
    asInteger(1, 3650),
    30,
  ),
  formPerAddress: setting(
    'FORM_PER_ADDRESS',
    'Most responses to one form in an hour from one address; 0: any number.',
    asInteger(0, 1_000_000),
    20,
  ),
  formPerHour: setting(
    'FORM_PER_HOUR',
    'Most responses to one form in an hour; 0: any number.',
    asInteger(0, 10_000_000),
    1_000,
  ),
} as const;

/** Where commands run. */
export const sandboxesSettings = {
  sandboxDriver: setting(
    'SANDBOX_DRIVER',
    'How code is isolated: bubblewrap, docker, or unsafe-local (no isolation at all; trusted users only).',
    asChoice(['bubblewrap', 'docker', 'unsafe-local']),
    'bubblewrap',
  ),
  sandboxDockerImage: setting(
    'SANDBOX_DOCKER_IMAGE',
    'Image that code runs in, with the driver docker; it is not pulled. See docker/sandbox.Dockerfile.',
    asText,
    'atelier-sandbox',
  ),
  sandboxDockerSocket: setting(
    'SANDBOX_DOCKER_SOCKET',
    'Socket of the Docker engine.',
    asText,
    '/var/run/docker.sock',
  ),
  sandboxDockerRuntime: optional(
    'SANDBOX_DOCKER_RUNTIME',
    "OCI runtime of the containers, e.g. runsc (gVisor). Unset: the engine's own.",
    asText,
  ),
  sandboxDockerVolume: optional(
    'SANDBOX_DOCKER_VOLUME',
    'Docker volume that holds DATA_DIR, where the service runs in a container itself (Docker 26 or later).',
    asText,
  ),
  sandboxEgress: setting(
    'SANDBOX_EGRESS',
    'What sandboxes may connect to at most: allowlist (hosts that admins of a workspace list), or none.',
    asChoice(['none', 'allowlist']),
    'allowlist',
  ),
  sandboxMemoryBytes: setting(
    'SANDBOX_MEMORY_BYTES',
    'Most memory of one command.',
    asInteger(16 * MEBIBYTE, Number.MAX_SAFE_INTEGER),
    1024 * MEBIBYTE,
  ),
  sandboxSeconds: setting(
    'SANDBOX_SECONDS',
    'Longest a command may take when its caller does not say.',
    asInteger(1, 86400),
    120,
  ),
  sandboxesPerWorkspace: setting(
    'SANDBOXES_PER_WORKSPACE',
    'Most commands and sessions that one process runs at once in a workspace; others wait, and are refused after a while.',
    asInteger(1, 100_000),
    32,
  ),
  sandboxesPerOrganization: setting(
    'SANDBOXES_PER_ORGANIZATION',
    'Most commands and sessions that one process runs at once for all workspaces of an organization.',
    asInteger(1, 100_000),
    96,
  ),
  sandboxSessionIdleSeconds: setting(
    'SANDBOX_SESSION_IDLE_SECONDS',
    'How long a named session of the tool bash stays when nothing is run in it.',
    asInteger(1, 86400),
    600,
  ),
} as const;
