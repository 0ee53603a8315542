import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import type { Account } from './account.js';

/** What a program left behind that ran to its end. */
export interface Finished {
  code: number | null;
  output: string;
}

/**
 * Spawns a program under an account, in a session of its own: Ctrl-C in the terminal reaches the owner alone,
 * which stops PostgreSQL when its own work is done. With util-linux the kernel sends the program SIGINT (to
 * PostgreSQL: shut down now, cleanly) when the owner dies, however it dies. The kernel ties that to the thread
 * that called spawn, so call it from the main thread.
 */
export function spawnAs(
  account: Account,
  program: string,
  parameters: string[],
  options: SpawnOptions,
): ChildProcess {
  const common: SpawnOptions = { ...options, detached: true, env: programEnvironment() };
  if (hasSetpriv()) {
    const identity = account.isOther
      ? ['--reuid', String(account.uid), '--regid', String(account.gid), '--clear-groups']
      : [];
    const grant = account.capability ? grantOf(account.capability) : [];
    const flags = ['--no-new-privs', '--pdeathsig', 'INT', ...identity, ...grant, '--'];
    return spawn('setpriv', [...flags, program, ...parameters], common);
  }
  return spawn(
    program,
    parameters,
    account.isOther ? { ...common, uid: account.uid, gid: account.gid } : common,
  );
}

/** Runs a program to its end and collects what it said. */
export function runAs(account: Account, program: string, parameters: string[]): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawnAs(account, program, parameters, { stdio: ['ignore', 'pipe', 'pipe'], cwd: '/' });
    let output = '';
    const collect = (chunk: Buffer) => {
      output += chunk.toString();
    };
    child.stdout?.on('data', collect);
    child.stderr?.on('data', collect);
    child.once('error', reject);
    child.once('close', code => resolve({ code, output }));
  });
}

/** Nothing of the owner's environment: it may hold secrets, and PG* variables would change behaviour. */
function programEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
}

let setprivFound: boolean | undefined;

/**
 * Ambient, so that it lasts beyond exec. access(2), by which initdb looks for its programs, leaves the capabilities of
 * an ordinary account out of account unless that fix-up is switched off.
 */
function grantOf(capability: string): string[] {
  return ['--securebits=+no_setuid_fixup', `--inh-caps=-all,+${capability}`, `--ambient-caps=+${capability}`];
}

/** Whether util-linux is there, which ties a program's life to ours. */
export function hasSetpriv(): boolean {
  setprivFound ??=
    process.platform === 'linux' && spawnSync('setpriv', ['--pdeathsig', 'INT', 'true']).status === 0;
  return setprivFound;
}
