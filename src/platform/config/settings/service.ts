import { asAddress, asChoice, asHost, asInteger, asProxies, asPublicUrl, asText } from './parsers.js';
import { InvalidSetting, setting } from './setting.js';
import { asVaultKeys, type VaultKey } from './vault-keys.js';

/** What a process is and where it keeps things. */
export const serviceSettings = {
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
    'Key that signs access tokens, 32 characters or more. Unset: made by the vault.',
    (raw, name) => {
      if (raw.length < 32) throw new InvalidSetting(`${name} must have at least 32 characters.`);
      return raw;
    },
    undefined,
    true,
  ),
  vaultKeys: setting<VaultKey[] | undefined>(
    'VAULT_KEYS',
    'Keys that wrap every stored secret, as id:base64 (32 bytes) separated by commas: the first wraps, all of them open. Unset: the file vault.keys in DATA_DIR, made at the first start. Losing them loses the secrets.',
    asVaultKeys,
    undefined,
    true,
  ),
  sandboxUidBase: setting(
    'SANDBOX_UID_BASE',
    'Where the host user ids of sandboxes begin, for a service that is root; kept from the first start on. Unset: a range chosen by chance.',
    asInteger(200_000, 2_146_483_647),
    undefined,
  ),
} as const;
