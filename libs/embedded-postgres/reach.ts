import { chmodSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Account } from './account.js';
import { hasSetpriv } from './as-account.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

/**
 * Another account must be able to walk to the programs and to the data, and a folder like /root is closed to it. Then
 * it is granted one capability, to walk past what is closed; without it, the programs would only say "Permission
 * denied".
 * @returns the account, with that capability where it needs it.
 * @throws EmbeddedPostgresError naming the folder that is closed, where there is none to grant.
 */
export function withReach(account: Account, targets: string[], held = heldCapabilities()): Account {
  if (!account.isOther) return account;
  const closed = targets.flatMap(ancestors).filter(file => !mayPass(account, file));
  if (closed.length === 0) return account;
  // The narrower one walks through folders; only the wider one also runs a program that is closed itself.
  const enough = closed.some(isProgram) ? ['dac_override'] : ['dac_read_search', 'dac_override'];
  const capability = enough.find(name => held.includes(name));
  if (capability) return { ...account, capability };
  throw new EmbeddedPostgresError(
    `PostgreSQL runs under the account with uid ${account.uid}, which cannot pass ${closed[0]}: run \`chmod o+x ${closed[0]}\`, or move this program to a folder that other accounts can reach.`,
  );
}

/** The number of a capability is its bit in /proc/self/status. */
const passingCapabilities = Object.entries({ dac_override: 1n, dac_read_search: 2n });

function heldCapabilities(): string[] {
  if (process.platform !== 'linux' || !hasSetpriv()) return [];
  const [, digits] = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  const mask = BigInt(`0x${digits ?? '0'}`);
  return passingCapabilities.filter(([, bit]) => (mask >> bit) & 1n).map(([name]) => name);
}

function isProgram(file: string): boolean {
  return statSync(file).isFile();
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
