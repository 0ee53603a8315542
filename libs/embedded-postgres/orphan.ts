import { readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Account } from './account.js';
import { runAs } from './as-account.js';
import type { Binaries } from './binaries.js';
import { explainOutput } from './failure.js';
import { processIdentity } from './process-identity.js';

/**
 * The previous owner of this data folder is dead (the owner lock says so). Its PostgreSQL may still run, or be
 * about to stop, or have left a pid file whose number another process has by now.
 */
export async function stopOrphan(binaries: Binaries, account: Account, dataDir: string): Promise<void> {
  const pidFile = path.join(dataDir, 'postmaster.pid');
  const pid = readPid(pidFile);
  if (pid === undefined) return;
  if (!isPostmasterOf(dataDir, pid)) return rmSync(pidFile, { force: true });
  for (const mode of ['fast', 'immediate']) {
    const stop = ['stop', '--pgdata', dataDir, '--mode', mode, '--wait', '--timeout', '15'];
    const { output } = await runAs(account, binaries.pgCtl, stop);
    if (!isPostmasterOf(dataDir, pid)) return;
    if (mode === 'immediate') throw explainOutput('stop the one left running', dataDir, output);
  }
}

function readPid(pidFile: string): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(pidFile, 'utf8'), 10);
    return Number.isNaN(pid) ? undefined : pid;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * A postmaster's working directory is its data folder. Compared as a file, not by name: the same folder may have
 * been mounted at another place for that process.
 */
function isPostmasterOf(dataDir: string, pid: number): boolean {
  if (processIdentity(pid) === undefined) return false;
  if (process.platform !== 'linux') return true;
  try {
    const [held, ours] = [statSync(`/proc/${pid}/cwd`), statSync(dataDir)];
    return held.dev === ours.dev && held.ino === ours.ino;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    // Not ours to look at, so not running under our account, so not our PostgreSQL.
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES' || code === 'EPERM') return false;
    throw error;
  }
}
