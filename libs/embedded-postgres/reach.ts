import { chmodSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Account } from './account.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

/**
 * Another account must be able to walk to the programs and to the data. A folder like /root is closed, and the
 * programs themselves would only say "Permission denied".
 * @throws EmbeddedPostgresError naming the folder that is closed.
 */
export function requireReach(account: Account, ...targets: string[]): void {
  if (!account.isOther) return;
  const closed = targets.flatMap(ancestors).find(folder => !mayPass(account, folder));
  if (closed === undefined) return;
  throw new EmbeddedPostgresError(
    `PostgreSQL runs under the account with uid ${account.uid}, which cannot pass ${closed}: run \`chmod o+x ${closed}\`, or move this program to a folder that other accounts can reach.`,
  );
}

/** Makes a folder that the account may pass whatever the umask, with those above it that are missing. */
export function makePassableFolder(account: Account, folder: string): void {
  const first = mkdirSync(folder, { recursive: true });
  if (first === undefined || !account.isOther) return;
  for (let made = folder; ; made = path.dirname(made)) {
    chmodSync(made, 0o755);
    if (made === path.resolve(first)) return;
  }
}

function ancestors(target: string): string[] {
  const parent = path.dirname(target);
  return parent === target ? [target] : [...ancestors(parent), target];
}

function mayPass(account: Account, folder: string): boolean {
  const stat = statSync(folder, { throwIfNoEntry: false });
  if (!stat) return true;
  if (stat.uid === account.uid) return (stat.mode & 0o100) !== 0;
  if (stat.gid === account.gid) return (stat.mode & 0o010) !== 0;
  return (stat.mode & 0o001) !== 0;
}
