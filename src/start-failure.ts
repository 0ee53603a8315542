import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { EmbeddedPostgresError } from '#libs/embedded-postgres/index.js';
import { InvalidSetting } from '#libs/env-settings/index.js';
import { CannotStart, type Config } from './platform/config/index.js';

/** Makes DATA_DIR where it is missing; throws CannotStart where it cannot be made or written. */
export function requireDataDir({ dataDir }: Config): void {
  const folder = path.resolve(dataDir);
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOSPC') throw error;
    throw new CannotStart(
      `The folder of DATA_DIR, ${folder}, cannot be written (${reasons[code ?? ''] ?? code}). ` +
        'Give the user of this process the right to write there, or set DATA_DIR to another folder.',
    );
  }
}

/** By steps: where a folder refuses new ones with ENOENT, as those of /proc do, Node's own way goes round for ever. */
function makeFolder(folder: string): void {
  const parent = path.dirname(folder);
  if (!existsSync(parent)) makeFolder(parent);
  try {
    mkdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !statSync(folder).isDirectory()) throw error;
  }
}

const reasons: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  EEXIST: 'it is a file',
  ENOTDIR: 'a file stands in its path',
  ENOENT: 'its path cannot be made',
};

/** A failure of the start that an operator can mend, in a sentence; undefined for a bug of ours. */
export function sentenceFor(error: unknown): string | undefined {
  if ([CannotStart, InvalidSetting, EmbeddedPostgresError].some(type => error instanceof type))
    return (error as Error).message;
  const { code, message } = (error ?? {}) as NodeJS.ErrnoException;
  if (code === 'ENOSPC') return 'The disk is full; free some space and start again.';
  if (code && DATABASE_CODES.has(code)) return `The database in DATABASE_URL cannot be used: ${message}.`;
  // What the driver says of a server that does not answer has no code.
  if (message === 'timeout expired') return 'The database in DATABASE_URL does not answer.';
  return undefined;
}

/** No connection, a wrong name or password (28P01, 28000), no such database (3D000), no certificate to trust. */
const DATABASE_CODES = new Set([
  ...[
    'ECONNREFUSED',
    'ECONNRESET',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'ENOENT',
    'ENOTFOUND',
    'EAI_AGAIN',
    'ETIMEDOUT',
  ],
  ...['28P01', '28000', '3D000', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN'],
]);

/** What to throw where listening failed: a sentence about HOST or PORT, or the error itself where it is about neither. */
export function listenFailure(error: unknown, { host, port }: Config): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new CannotStart(`Port ${port} is in use; stop what listens there, or set PORT to another.`);
  if (code === 'EACCES') return new CannotStart(`Port ${port} may not be used; set PORT to one above 1023.`);
  if (code && ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL'].includes(code))
    return new CannotStart(
      `HOST is ${host}, which is no address of this machine (${code}); 0.0.0.0 listens on all of them.`,
    );
  return error;
}
