import {
  asAddress,
  asChoice,
  asHost,
  asInteger,
  asProxies,
  asText,
  count,
  InvalidSetting,
  limits,
  optional,
  setting,
} from '#libs/env-settings/index.js';
import { asPrivateHosts, asPublicUrl, asVaultKeys } from './setting.js';

/** What a process is and where it keeps things. */
export const serviceSettings = {
  port: setting('PORT', 'Port the service listens on.', asInteger(0, 65535), 3000),
  host: setting('HOST', 'Address the service listens on.', asHost, '0.0.0.0'),
  publicUrl: optional(
    'PUBLIC_URL',
    'Address under which people reach the service, e.g. https://atelier.example.com.',
    asPublicUrl,
  ),
  trustedProxies: setting(
    'TRUSTED_PROXIES',
    'Proxies whose X-Forwarded-* are believed where PUBLIC_URL is set: addresses, networks, and loopback, linklocal and uniquelocal (private networks).',
    asProxies,
    ['loopback', 'linklocal', 'uniquelocal'],
  ),
  role: setting(
    'ROLE',
    'What this process serves: all, api (HTTP), worker (runs and other jobs) or gateway (sites and servers alone).',
    asChoice(['all', 'api', 'worker', 'gateway']),
    'all',
  ),
  dataDir: setting('DATA_DIR', 'Folder for workspaces and the embedded database.', asText, '.atelier'),
  databaseUrl: optional(
    'DATABASE_URL',
    'PostgreSQL 15 or newer, e.g. postgresql://user:password@host/atelier. Unset: the embedded PostgreSQL.',
    asAddress(['postgres:', 'postgresql:'], 'postgresql://user:password@host:5432/atelier'),
  ),
  databasePool: setting(
    'DATABASE_POOL',
    'Most database connections of one process (the queue keeps a few more).',
    asInteger(2, 1000),
    16,
  ),
  redisUrl: optional(
    'REDIS_URL',
    'Redis for the queue, e.g. redis://host:6379. Unset: the queue lives in PostgreSQL.',
    asAddress(['redis:', 'rediss:'], 'redis://host:6379'),
  ),
  jwtSecret: optional(
    'JWT_SECRET',
    'Key that signs access tokens, 32 characters or more. Unset: made by the vault.',
    (raw, name) => {
      if (raw.length < 32) throw new InvalidSetting(`${name} must have at least 32 characters.`);
      return raw;
    },
  ),
  vaultKeys: optional(
    'VAULT_KEYS',
    'Keys that wrap every stored secret, as id:base64 (32 bytes) separated by commas: the first wraps, all of them open. Unset: the file vault.keys in DATA_DIR, made at the first start. Losing them loses the secrets.',
    asVaultKeys,
  ),
  sandboxUidBase: optional(
    'SANDBOX_UID_BASE',
    'Where the host user ids of sandboxes begin, for a service that is root; kept from the first start on. Unset: a range chosen by chance.',
    asInteger(200_000, 2_146_483_647),
  ),
} as const;

const MOST_A_MINUTE = 10_000_000;

/** How much callers may ask for; metrics and the log. */
export const trafficSettings = {
  minuteLimits: limits('RATE_LIMITS_PER_MINUTE', 'Requests a minute; 0 for any number.', {
    credential: count('with one credential', 1200, [0, MOST_A_MINUTE]),
    anonymous: count(
      'from one address without a valid credential (behind a proxy, see TRUSTED_PROXIES)',
      120,
      [0, MOST_A_MINUTE],
    ),
    shared: count('from one address to share links', 1200, [0, MOST_A_MINUTE]),
    webhook: count('to one webhook that starts an automation', 120, [0, MOST_A_MINUTE]),
    hosted: count('from one address to one site or server, in each process', 6000, [0, MOST_A_MINUTE]),
  }),
  hourLimits: limits('RATE_LIMITS_PER_HOUR', 'Attempts an hour.', {
    registration: count('to register, from one address', 200, [1, 1_000_000]),
    oauth_client: count('of OAuth clients to register themselves, from one address', 100, [1, 1_000_000]),
    form: count('responses to one form; 0 for any number', 1000, [0, 10_000_000]),
    form_address: count('responses to one form from one address; 0 for any number', 20, [0, 1_000_000]),
  }),
  webhookBytes: setting(
    'WEBHOOK_BYTES',
    'Longest body of a webhook, in bytes; at most 25 MiB.',
    asInteger(1024, 25 * 1024 * 1024),
    1024 * 1024,
  ),
  streamLimits: limits('STREAM_LIMITS', 'Event streams open at once in one process; 0 for any number.', {
    credential: count('of one credential', 100, [0, 1_000_000]),
    owner: count('of one person or service account, with all credentials', 200, [0, 1_000_000]),
    process: count('in all', 2000, [0, 1_000_000]),
  }),
  slowReaderSeconds: setting(
    'SLOW_READER_SECONDS',
    'How long a client may read nothing of an answer that waits for it, or send less than a kilobyte of a body, before its connection is closed.',
    asInteger(1, 3600),
    30,
  ),
  outgoingPrivateHosts: optional(
    'OUTGOING_PRIVATE_HOSTS',
    'Private places that requests to addresses of users may reach, as chat.corp:443 or 10.1.2.0/24, separated by commas; http will do there. Metadata services never. Unset: public addresses alone.',
    asPrivateHosts,
  ),
  metricsToken: optional(
    'METRICS_TOKEN',
    'What GET /metrics must be shown as Authorization: Bearer, 16 characters or more. Unset: it answers programs on this machine alone.',
    (raw, name) => {
      if (!/^[\x21-\x7e]{16,}$/.test(raw))
        throw new InvalidSetting(`${name} must have at least 16 characters, none of them a space.`);
      return raw;
    },
  ),
  metricsPort: optional(
    'METRICS_PORT',
    'Port on which a process with ROLE=worker or gateway serves GET /metrics, at HOST where METRICS_TOKEN is set, else at 127.0.0.1. Unset: none.',
    asInteger(0, 65535),
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
