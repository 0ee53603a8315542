import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { hashSecret } from '../../platform/access/index.js';

const PREFIX = 'atl_';
const KEY = /^atl_([A-Za-z0-9_-]{43})_([0-9a-f]{8})$/;

/** The first time and the only time that a key's secret is at hand. */
export interface NewKey {
  secret: string;
  hash: string;
  hint: string;
}

const checksum = (random: string): string =>
  crc32(PREFIX + random)
    .toString(16)
    .padStart(8, '0');

/** Makes a key: `atl_<256 random bits>_<CRC-32>`, the form that secret scanners can find and check. */
export function makeKey(): NewKey {
  const random = randomBytes(32).toString('base64url');
  const secret = `${PREFIX}${random}_${checksum(random)}`;
  return { secret, hash: hashSecret(secret), hint: `${PREFIX}${random.slice(0, 4)}…${secret.slice(-4)}` };
}

/** Whether `key` is one that we may have made; a mistyped one is told apart without asking the database. */
export function isWellFormedKey(key: string): boolean {
  const [, random, sum] = KEY.exec(key) ?? [];
  return random !== undefined && checksum(random) === sum;
}
