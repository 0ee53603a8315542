import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Account } from './account.js';
import { makePassableFolder } from './reach.js';

/** PostgreSQL names its socket after a port, also where there is none. */
export const socketPort = 5432;

/** sun_path holds 108 bytes on Linux and 104 on macOS, with a final zero. */
const longestSocketPath = process.platform === 'linux' ? 107 : 103;
const temporaryPrefix = 'atelier-pg-';

/** Beside the data folder where the path is short enough for a socket, else a fresh one for temporary files. */
export function chooseSocketFolder(dataDir: string): string {
  const beside = path.join(path.dirname(dataDir), 'run', path.basename(dataDir));
  if (isShortEnough(beside)) return beside;
  const folder = mkdtempSync(path.join(os.tmpdir(), temporaryPrefix));
  return isShortEnough(folder) ? folder : mkdtempSync(path.join('/tmp', temporaryPrefix));
}

/** Only the account that runs PostgreSQL (and root) may enter: this is what makes `trust` safe inside. */
export function prepareSocketFolder(folder: string, account: Account): void {
  makePassableFolder(account, folder);
  if (account.isOther) chownSync(folder, account.uid, account.gid);
  chmodSync(folder, 0o700);
}

/** Removes a folder made by {@link chooseSocketFolder} for temporary files; leaves any other alone. */
export function discardSocketFolder(folder: string): void {
  if (path.basename(folder).startsWith(temporaryPrefix)) rmSync(folder, { recursive: true, force: true });
}

function isShortEnough(folder: string): boolean {
  return Buffer.byteLength(path.join(folder, `.s.PGSQL.${socketPort}`)) <= longestSocketPath;
}
