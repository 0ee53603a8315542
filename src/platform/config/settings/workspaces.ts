import { asChoice, asText, bytes, count, limits, optional, setting } from '#libs/env-settings/index.js';
import { MEBIBYTE } from './setting.js';

/** Files of workspaces and their history. */
export const filesSettings = {
  workspaceLimits: limits('WORKSPACE_LIMITS', 'Most that one workspace may have.', {
    bytes: bytes('size of its files together', 20 * 1024 * MEBIBYTE),
    files: count('files and folders', 200_000, [1, Number.MAX_SAFE_INTEGER]),
    file_bytes: bytes('size of one file', 1024 * MEBIBYTE),
    history_bytes: bytes('size of its history; what is older is forgotten sooner', 2048 * MEBIBYTE, [
      MEBIBYTE,
      Number.MAX_SAFE_INTEGER,
    ]),
    history_file_bytes: bytes('size of a file whose earlier contents are kept', 8 * MEBIBYTE, [
      1,
      64 * MEBIBYTE,
    ]),
    forms: count('forms that it shares', 100, [0, 10_000]),
    sites: count('sites', 50, [0, 100_000]),
    servers: count('servers', 20, [0, 100_000]),
  }),
  retentionDays: limits('RETENTION_DAYS', 'How long things are kept that are not needed any more.', {
    history: count('earlier versions of files; 0: there is no history of files', 90, [0, 36_500]),
    forms: count(
      'responses beside the file that they were written to, and suspected spam at all',
      30,
      [1, 3650],
    ),
    sites: count('versions of sites that were live, and logs of failed builds', 30, [1, 36_500]),
  }),
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
  sandboxLimits: limits('SANDBOX_LIMITS', 'Most that commands may take, in each process of the service.', {
    memory: bytes('memory of one command', 1024 * MEBIBYTE, [16 * MEBIBYTE, Number.MAX_SAFE_INTEGER]),
    seconds: count('time of a command whose caller names none', 120, [1, 86_400]),
    workspace: count('commands and sessions of a workspace at once; others wait', 32, [1, 100_000]),
    organization: count('the same for all workspaces of an organization', 96, [1, 100_000]),
    idle_seconds: count('time that a named session stays when nothing is run in it', 600, [1, 86_400]),
  }),
} as const;
