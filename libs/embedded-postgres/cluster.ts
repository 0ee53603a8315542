import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import type { Account } from './account.js';
import { runAs } from './as-account.js';
import type { Binaries } from './binaries.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { explainOutput } from './failure.js';

/** The role that owns the cluster; the application gets a role without its powers. */
export const superuser = 'postgres';

/** Makes the data folder where there is none, and refuses one that this PostgreSQL cannot use. */
export async function requireCluster(
  binaries: Binaries,
  account: Account,
  dataDir: string,
  durable: boolean,
): Promise<void> {
  removeDrafts(dataDir);
  if (!isEmptyOrAbsent(dataDir)) return checkCluster(binaries, account, dataDir);
  await createCluster(binaries, account, dataDir, durable);
}

function isEmptyOrAbsent(folder: string): boolean {
  const stat = statSync(folder, { throwIfNoEntry: false });
  return !stat || (stat.isDirectory() && readdirSync(folder).length === 0);
}

function checkCluster(binaries: Binaries, account: Account, dataDir: string): void {
  const made = readFileIfPresent(path.join(dataDir, 'PG_VERSION'))?.trim();
  if (made === undefined) {
    throw new EmbeddedPostgresError(
      `The folder ${dataDir} holds files but no PostgreSQL database: choose another data folder, or move these files away.`,
    );
  }
  if (made !== binaries.major) {
    throw new EmbeddedPostgresError(
      `The database in ${dataDir} was made by PostgreSQL ${made} and this is PostgreSQL ${binaries.major}: dump it with the old version and restore it with this one, or choose another data folder.`,
    );
  }
  if (statSync(dataDir).uid !== account.uid) giveAway(dataDir, account);
  chmodSync(dataDir, 0o700); // a copy may have lost it, and PostgreSQL insists on it
}

/** For a folder that root copied or restored from a backup. */
function giveAway(folder: string, account: Account): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) giveAway(file, account);
    else if (entry.isFile()) chownSync(file, account.uid, account.gid);
  }
  chownSync(folder, account.uid, account.gid);
}

/** Built under another name and renamed: a crash in the middle leaves nothing that looks like a database. */
async function createCluster(
  binaries: Binaries,
  account: Account,
  dataDir: string,
  durable: boolean,
): Promise<void> {
  const draft = `${dataDir}${draftMark}${randomUUID().slice(0, 8)}`;
  mkdirSync(draft, { mode: 0o700 });
  try {
    if (account.isOther) chownSync(draft, account.uid, account.gid);
    const { code, output } = await runAs(account, binaries.initdb, initdbArguments(draft, durable));
    if (code !== 0) throw explainOutput('make its data folder', path.dirname(dataDir), output);
    if (statSync(dataDir, { throwIfNoEntry: false })) rmdirSync(dataDir);
    renameSync(draft, dataDir);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/**
 * UTF-8 with PostgreSQL's own C.UTF-8 rules: the order of text then depends neither on the machine's locales nor
 * on their versions, so that a folder can be moved. `trust` is safe because only one account reaches the socket.
 */
function initdbArguments(folder: string, durable: boolean): string[] {
  return [
    '--pgdata',
    folder,
    '--username',
    superuser,
    '--encoding',
    'UTF8',
    '--locale',
    'C',
    '--locale-provider',
    'builtin',
    '--builtin-locale',
    'C.UTF-8',
    '--auth-local',
    'trust',
    '--auth-host',
    'reject',
    '--no-instructions',
    ...(durable ? [] : ['--no-sync']),
  ];
}

const draftMark = '.draft-';

function removeDrafts(dataDir: string): void {
  const parent = path.dirname(dataDir);
  for (const name of readdirSync(parent)) {
    if (name.startsWith(path.basename(dataDir) + draftMark)) {
      rmSync(path.join(parent, name), { recursive: true, force: true });
    }
  }
}

function readFileIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
