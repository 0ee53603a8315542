import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

/** The operating system account PostgreSQL runs under. */
export interface Account {
  uid: number;
  gid: number;
  /** True when it is not the account of this process (which is root then). */
  isOther: boolean;
  /** A Linux capability it needs to reach its folders, see {@link withReach}. */
  capability?: string;
}

const systemAccount = 'atelier';

/**
 * PostgreSQL refuses to run as root. Then it runs as the owner of an existing data folder, else under a system
 * account that is made where it is missing. Any other account runs it itself.
 * @throws EmbeddedPostgresError when the data folder belongs to another account than the one it would run under.
 */
export function accountFor(dataDir: string): Account {
  const [uid, gid] = [process.getuid?.() ?? -1, process.getgid?.() ?? -1];
  const owner = statSync(dataDir, { throwIfNoEntry: false });
  if (uid !== 0) return ownAccount(dataDir, uid, gid, owner?.uid);
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid, isOther: true };
  return { ...(findSystemAccount() ?? makeSystemAccount()), isOther: true };
}

function ownAccount(dataDir: string, uid: number, gid: number, owner: number | undefined): Account {
  if (owner === undefined || owner === uid) return { uid, gid, isOther: false };
  throw new EmbeddedPostgresError(
    `The database folder ${dataDir} belongs to another account (uid ${owner}): start as that account, or run \`chown -R ${uid} ${dataDir}\` as root.`,
  );
}

function findSystemAccount(): { uid: number; gid: number } | undefined {
  const uid = numberFrom('id', ['-u', systemAccount]);
  const gid = numberFrom('id', ['-g', systemAccount]);
  return uid === undefined || gid === undefined ? undefined : { uid, gid };
}

function numberFrom(program: string, parameters: string[]): number | undefined {
  const { status, stdout } = spawnSync(program, parameters, { encoding: 'utf8' });
  return status === 0 ? Number(stdout) : undefined;
}

function makeSystemAccount(): { uid: number; gid: number } {
  const parameters = ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent'];
  const made = spawnSync('useradd', [...parameters, '--shell', '/usr/sbin/nologin', systemAccount], {
    encoding: 'utf8',
  });
  // Looked up again even after a failure: another process may have made it at the same moment.
  const account = findSystemAccount();
  if (account) return account;
  throw new EmbeddedPostgresError(
    `PostgreSQL does not run as root and the system account "${systemAccount}" could not be made (${made.error?.message ?? made.stderr.trim()}): start as an ordinary user, or make that account first.`,
  );
}
