import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';

/** How one environment variable is read: its text form, its default and what it means to an operator. */
export interface Setting<T> {
  readonly name: string;
  readonly description: string;
  readonly secret: boolean;
  /** What `.env.example` shows; undefined for a setting that is unset by default. */
  readonly shown: string | undefined;
  read(raw: string | undefined): T;
}

type Parse<T> = (raw: string, name: string) => T;

/** A setting that an operator got wrong; the message says which, and what it takes. */
export class InvalidSetting extends Error {}

const asText: Parse<string> = raw => raw;

const asInteger =
  (min: number, max: number): Parse<number> =>
  (raw, name) => {
    const value = Number(raw);
    if (!Number.isInteger(value) || value < min || value > max)
      throw new InvalidSetting(`${name} must be a whole number from ${min} to ${max}, not "${raw}".`);
    return value;
  };

const asUsd: Parse<number> = (raw, name) => {
  const value = Number(raw);
  if (!Number.isFinite(value) || value < 0)
    throw new InvalidSetting(`${name} must be an amount of USD such as 25 or 0.5, not "${raw}".`);
  return value;
};

const asChoice =
  <const V extends string>(values: readonly V[]): Parse<V> =>
  (raw, name) => {
    const value = values.find(candidate => candidate === raw);
    if (value === undefined)
      throw new InvalidSetting(`${name} must be one of ${values.join(', ')}, not "${raw}".`);
    return value;
  };

const asJsonFile: Parse<unknown> = (path, name) => {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new InvalidSetting(`${name} cannot be read: ${(error as Error).message}.`);
  }
};

function setting<T>(
  name: string,
  description: string,
  parse: Parse<T>,
  fallback: T,
  secret = false,
): Setting<T> {
  return {
    name,
    description,
    secret,
    shown: fallback === undefined || fallback instanceof Map ? undefined : String(fallback),
    read: raw => (raw === undefined || raw === '' ? fallback : parse(raw, name)),
  };
}

const asProxies: Parse<string[]> = (raw, name) => {
  const places = raw.split(',').map(place => place.trim());
  for (const place of places)
    if (!/^(loopback|linklocal|uniquelocal)$/.test(place) && isIP(place.split('/')[0] ?? '') === 0)
      throw new InvalidSetting(
        `${name} must list addresses, networks (10.0.0.0/8), loopback, linklocal or uniquelocal, not "${place}".`,
      );
  return places;
};

const asOrigins: Parse<string[]> = (raw, name) =>
  raw
    .split(',')
    .map(origin => origin.trim())
    .filter(Boolean)
    .map(origin => {
      const parsed = URL.parse(origin);
      if (!parsed || parsed.origin === 'null' || parsed.href !== `${parsed.origin}/`)
        throw new InvalidSetting(
          `${name} must list origins such as https://app.example.com, not "${origin}".`,
        );
      return parsed.origin;
    });

const asLimits: Parse<ReadonlyMap<string, number>> = (raw, name) =>
  new Map(
    raw.split(',').map(pair => {
      const [, provider = '', most] = /^\s*([\w-]+)\s*=\s*([1-9]\d{0,5})\s*$/.exec(pair) ?? [];
      if (!provider) throw new InvalidSetting(`${name} must list limits such as anthropic=8, not "${pair}".`);
      return [provider, Number(most)];
    }),
  );

/** An address of one of `protocols`; `example` shows what is meant. The message never repeats it: it may hold a password. */
const asAddress =
  (protocols: readonly string[], example: string): Parse<string> =>
  (raw, name) => {
    if (!protocols.includes(URL.parse(raw)?.protocol ?? ''))
      throw new InvalidSetting(`${name} must be an address such as ${example}.`);
    return raw;
  };

const asWebAddress = (example: string) => asAddress(['http:', 'https:'], example);

const asPublicUrl: Parse<string> = (raw, name) => {
  const parsed = URL.parse(raw);
  const isOrigin = parsed && /^https?:$/.test(parsed.protocol) && parsed.href === `${parsed.origin}/`;
  if (!isOrigin)
    throw new InvalidSetting(
      `${name} must be the address of the service without a path, such as https://atelier.example.com, not "${raw}".`,
    );
  return raw;
};

const LABEL = /^[a-z\d_]([a-z\d_-]{0,61}[a-z\d_])?$/i;

/** An IP address, or a host name: whose last label is not all digits, which would be a mistyped address (RFC 1123, 2.1). */
const asHost: Parse<string> = (raw, name) => {
  const labels = raw.split('.');
  const isName = labels.every(label => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '');
  if (isIP(raw) === 0 && !isName)
    throw new InvalidSetting(
      `${name} must be an address of this machine, such as 127.0.0.1 or 0.0.0.0 for all, not "${raw}".`,
    );
  return raw;
};

const asNames: Parse<string[]> = raw =>
  raw
    .split(',')
    .map(name => name.trim())
    .filter(Boolean);

const MEBIBYTE = 1024 * 1024;

/** Every environment variable the service reads, in the order `.env.example` lists them. */
export const settings = {
  port: setting('PORT', 'Port the service listens on.', asInteger(0, 65535), 3000),
  host: setting('HOST', 'Address the service listens on.', asHost, '0.0.0.0'),
  publicUrl: setting<string | undefined>(
    'PUBLIC_URL',
    'Address under which people reach the service, e.g. https://atelier.example.com.',
    asPublicUrl,
    undefined,
  ),
  trustedProxies: setting(
    'TRUSTED_PROXIES',
    'Proxies whose X-Forwarded-For is believed where PUBLIC_URL is set: addresses, networks, and loopback, linklocal and uniquelocal (private networks).',
    asProxies,
    ['loopback', 'linklocal', 'uniquelocal'],
  ),
  role: setting(
    'ROLE',
    'What this process serves: all, api (HTTP) or worker (runs and other jobs).',
    asChoice(['all', 'api', 'worker']),
    'all',
  ),
  dataDir: setting('DATA_DIR', 'Folder for workspaces and the embedded database.', asText, '.atelier'),
  databaseUrl: setting<string | undefined>(
    'DATABASE_URL',
    'PostgreSQL 14 or newer, e.g. postgresql://user:password@host/atelier. Unset: the embedded PostgreSQL.',
    asAddress(['postgres:', 'postgresql:'], 'postgresql://user:password@host:5432/atelier'),
    undefined,
    true,
  ),
  databasePool: setting(
    'DATABASE_POOL',
    'Most database connections of one process (the queue keeps a few more).',
    asInteger(2, 1000),
    16,
  ),
  redisUrl: setting<string | undefined>(
    'REDIS_URL',
    'Redis for the queue, e.g. redis://host:6379. Unset: the queue lives in PostgreSQL.',
    asAddress(['redis:', 'rediss:'], 'redis://host:6379'),
    undefined,
    true,
  ),
  jwtSecret: setting<string | undefined>(
    'JWT_SECRET',
    'Key that signs access tokens, 32 characters or more. Unset: made once and kept in the database.',
    (raw, name) => {
      if (raw.length < 32) throw new InvalidSetting(`${name} must have at least 32 characters.`);
      return raw;
    },
    undefined,
    true,
  ),
  sandboxUidBase: setting(
    'SANDBOX_UID_BASE',
    'Where the host user ids of sandboxes begin, for a service that is root; kept from the first start on. Unset: a range chosen by chance.',
    asInteger(200_000, 2_146_483_647),
    undefined,
  ),
  registration: setting(
    'REGISTRATION',
    'Who gets an account after the first: invite (those who are invited), open (all), closed (nobody, also not by invitation).',
    asChoice(['invite', 'open', 'closed']),
    'invite',
  ),
  registrationsPerHour: setting(
    'REGISTRATIONS_PER_HOUR',
    'Most attempts to register from one address in an hour.',
    asInteger(1, 1_000_000),
    200,
  ),
  organizationCreation: setting(
    'ORGANIZATION_CREATION',
    'Who may create organizations: owners (of the installation) or anyone. With open registration, each new account gets one all the same.',
    asChoice(['owners', 'anyone']),
    'owners',
  ),
  organizationBudgetUsd: setting<number | undefined>(
    'ORGANIZATION_MONTHLY_BUDGET_USD',
    'Monthly budget, with a hard stop, of each organization that has none of its own; only owners of the installation may set more. Unset: none.',
    asUsd,
    undefined,
  ),
  organizationModels: setting(
    'ORGANIZATION_MODELS',
    'Models of organizations whose admins have decided nothing yet, separated by commas, e.g. anthropic/claude-haiku-4-5. Unset: all.',
    asNames,
    [] as string[],
  ),
  oauthRegistrationsPerHour: setting(
    'OAUTH_REGISTRATIONS_PER_HOUR',
    'Most OAuth clients that may register themselves from one address in an hour.',
    asInteger(1, 1_000_000),
    100,
  ),
  mcpAllowedOrigins: setting(
    'MCP_ALLOWED_ORIGINS',
    'Origins of other sites whose pages may call /mcp, separated by commas, e.g. https://app.example.com.',
    asOrigins,
    [] as string[],
  ),
  mcpWaitSeconds: setting(
    'MCP_WAIT_SECONDS',
    'Longest that a call over MCP waits for a run or a decision before it answers how things stand; clients give up on a call after 60 seconds, proxies perhaps sooner.',
    asInteger(1, 55),
    45,
  ),
  accessTokenSeconds: setting('ACCESS_TOKEN_SECONDS', 'Life of an access token.', asInteger(30, 86400), 900),
  refreshTokenSeconds: setting(
    'REFRESH_TOKEN_SECONDS',
    'Life of a refresh token; a session unused for longer ends.',
    asInteger(60, 31536000),
    2592000,
  ),
  smtpUrl: setting<string | undefined>(
    'SMTP_URL',
    'Server for outgoing mail, e.g. smtps://user:password@mail.example.com. Unset: no mail is sent.',
    (raw, name) => {
      if (!URL.canParse(raw) || !/^smtps?:$/.test(new URL(raw).protocol))
        throw new InvalidSetting(`${name} must be an address that begins with smtp:// or smtps://.`);
      return raw;
    },
    undefined,
    true,
  ),
  mailFrom: setting<string | undefined>(
    'MAIL_FROM',
    'Sender of outgoing mail, e.g. Atelier <atelier@example.com>. Unset: no-reply at the host of PUBLIC_URL.',
    asText,
    undefined,
  ),
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
  sandboxDockerRuntime: setting<string | undefined>(
    'SANDBOX_DOCKER_RUNTIME',
    "OCI runtime of the containers, e.g. runsc (gVisor). Unset: the engine's own.",
    asText,
    undefined,
  ),
  sandboxDockerVolume: setting<string | undefined>(
    'SANDBOX_DOCKER_VOLUME',
    'Docker volume that holds DATA_DIR, where the service runs in a container itself (Docker 26 or later).',
    asText,
    undefined,
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
  runConcurrency: setting(
    'RUN_CONCURRENCY',
    'Agent runs that one worker process carries at once.',
    asInteger(1, 1000),
    32,
  ),
  runMaxSteps: setting(
    'RUN_MAX_STEPS',
    'Most model calls of one run, unless its budget says less.',
    asInteger(1, 10000),
    100,
  ),
  runTaskDepth: setting(
    'RUN_TASK_DEPTH',
    'How many levels deep agents may hand tasks to subagents; 0: not at all.',
    asInteger(0, 10),
    2,
  ),
  runTasksAtOnce: setting(
    'RUN_TASKS_AT_ONCE',
    'Tasks that one run has in flight at once; those beyond wait their turn.',
    asInteger(1, 100),
    8,
  ),
  runMaxTasks: setting(
    'RUN_MAX_TASKS',
    'Most tasks that one run may start in all, those of its tasks included.',
    asInteger(0, 1_000_000),
    200,
  ),
  drainSeconds: setting(
    'DRAIN_SECONDS',
    'How long SIGTERM waits for work in flight before it is handed back.',
    asInteger(0, 3600),
    8,
  ),
  openaiApiKey: setting<string | undefined>('OPENAI_API_KEY', 'Key for OpenAI.', asText, undefined, true),
  openaiBaseUrl: setting<string | undefined>(
    'OPENAI_BASE_URL',
    'Another address of the OpenAI API.',
    asWebAddress('https://api.openai.com/v1'),
    undefined,
  ),
  anthropicApiKey: setting<string | undefined>(
    'ANTHROPIC_API_KEY',
    'Key for Anthropic.',
    asText,
    undefined,
    true,
  ),
  anthropicBaseUrl: setting<string | undefined>(
    'ANTHROPIC_BASE_URL',
    'Another address of the Anthropic API.',
    asWebAddress('https://api.anthropic.com/v1'),
    undefined,
  ),
  googleApiKey: setting<string | undefined>(
    'GOOGLE_GENERATIVE_AI_API_KEY',
    'Key for Google Gemini.',
    asText,
    undefined,
    true,
  ),
  googleBaseUrl: setting<string | undefined>(
    'GOOGLE_BASE_URL',
    'Another address of the Gemini API.',
    asWebAddress('https://generativelanguage.googleapis.com/v1beta'),
    undefined,
  ),
  compatibleBaseUrl: setting<string | undefined>(
    'OPENAI_COMPATIBLE_BASE_URL',
    'An OpenAI-compatible server (Ollama, vLLM …), e.g. http://127.0.0.1:11434/v1.',
    asWebAddress('http://127.0.0.1:11434/v1'),
    undefined,
  ),
  compatibleName: setting('OPENAI_COMPATIBLE_NAME', 'Provider part of its model ids.', asText, 'local'),
  compatibleApiKey: setting<string | undefined>(
    'OPENAI_COMPATIBLE_API_KEY',
    'Key for it, where it wants one.',
    asText,
    undefined,
    true,
  ),
  compatibleModels: setting(
    'OPENAI_COMPATIBLE_MODELS',
    'Its models, separated by commas, e.g. llama4,qwen3.',
    asNames,
    [] as string[],
  ),
  defaultModel: setting<string | undefined>(
    'DEFAULT_MODEL',
    'Model used when none is named, e.g. anthropic/claude-sonnet-4-5. Unset: the first configured one.',
    asText,
    undefined,
  ),
  modelPrices: setting(
    'MODEL_PRICES',
    'Path of a JSON file with your own prices (USD per million tokens) and context windows, e.g. {"local/llama4": {"price": {"input": 0.2, "output": 0.6}, "context_window": 131072}}.',
    asJsonFile,
    undefined as unknown,
  ),
  modelTimeoutSeconds: setting(
    'MODEL_TIMEOUT_SECONDS',
    'How long a model may be silent before its call counts as failed.',
    asInteger(1, 3600),
    120,
  ),
  modelConcurrency: setting(
    'MODEL_CONCURRENCY',
    'Most calls that all processes together make to a provider at once, e.g. anthropic=8,local=2; others wait their turn. Unset: any number.',
    asLimits,
    new Map<string, number>(),
  ),
  rateLimitPerMinute: setting(
    'RATE_LIMIT_PER_MINUTE',
    'Requests a minute that one credential may make; 0 for any number.',
    asInteger(0, 10_000_000),
    1200,
  ),
  rateLimitAnonymousPerMinute: setting(
    'RATE_LIMIT_ANONYMOUS_PER_MINUTE',
    'Requests a minute without a valid credential from one address (behind a proxy, see TRUSTED_PROXIES); 0 for any number.',
    asInteger(0, 10_000_000),
    120,
  ),
  rateLimitSharedPerMinute: setting(
    'RATE_LIMIT_SHARED_PER_MINUTE',
    'Requests a minute that one address may make to share links; 0 for any number.',
    asInteger(0, 10_000_000),
    1200,
  ),
  streamsPerCredential: setting(
    'STREAMS_PER_CREDENTIAL',
    'Event streams that one credential may have open in one process; 0 for any number.',
    asInteger(0, 1_000_000),
    100,
  ),
  streamsPerOwner: setting(
    'STREAMS_PER_OWNER',
    'Event streams that one person or service account may have open in one process, with all credentials; 0 for any number.',
    asInteger(0, 1_000_000),
    200,
  ),
  streamsPerProcess: setting(
    'STREAMS_PER_PROCESS',
    'Event streams that may be open in one process; 0 for any number.',
    asInteger(0, 1_000_000),
    2000,
  ),
  slowReaderSeconds: setting(
    'SLOW_READER_SECONDS',
    'How long a client may read nothing of an answer that waits for it, or send less than a kilobyte of a body, before its connection is closed.',
    asInteger(1, 3600),
    30,
  ),
  metricsToken: setting<string | undefined>(
    'METRICS_TOKEN',
    'What GET /metrics must be shown as Authorization: Bearer, 16 characters or more. Unset: it answers programs on this machine alone.',
    (raw, name) => {
      if (!/^[\x21-\x7e]{16,}$/.test(raw))
        throw new InvalidSetting(`${name} must have at least 16 characters, none of them a space.`);
      return raw;
    },
    undefined,
    true,
  ),
  metricsPort: setting<number | undefined>(
    'METRICS_PORT',
    'Port on which a process with ROLE=worker serves GET /metrics, at HOST where METRICS_TOKEN is set, else at 127.0.0.1. Unset: none.',
    asInteger(0, 65535),
    undefined,
  ),
  logLevel: setting(
    'LOG_LEVEL',
    'Least severity that is logged.',
    asChoice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    'info',
  ),
  logFormat: setting(
    'LOG_FORMAT',
    'json (one object a line) or text (for people). Unset: text on a terminal, else json.',
    asChoice(['json', 'text', 'auto']),
    'auto',
  ),
} as const;
