import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { symlinkSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { EmbeddedPostgresOptions, PostgresConnection } from '../index.js';
import { scratchFolder } from './scratch.js';

interface Report {
  connection: PostgresConnection;
  pid: number;
  name?: string;
  error?: string;
}

interface Circumstances {
  /** Runs under the ordinary account `nobody`; only root can ask for it. */
  asNobody?: boolean;
  /** A PATH on which util-linux is not installed. */
  withoutSetpriv?: boolean;
}

const program = fileURLToPath(new URL('./owner-program.mjs', import.meta.url));

const withTypes = ['--experimental-transform-types', '--no-warnings'];

/** A process of its own that has called `startPostgres`. */
export class OwnerProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly report: Report,
  ) {}

  static async start(
    options: Partial<EmbeddedPostgresOptions>,
    around: Circumstances = {},
  ): Promise<OwnerProcess> {
    const command = [
      ...(around.asNobody ? ordinaryAccount() : []),
      process.execPath,
      ...withTypes,
      program,
      JSON.stringify(options),
    ];
    const [executable = '', ...parameters] = command;
    const env = around.withoutSetpriv ? { PATH: bareFolder() } : process.env;
    const child = spawn(executable, parameters, { env, stdio: ['pipe', 'pipe', 'inherit'] });
    const exit = once(child, 'exit').then(() => [JSON.stringify({ error: 'ended without a report' })]);
    const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), exit]);
    return new OwnerProcess(child, JSON.parse(line));
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.gone();
  }

  async stop(): Promise<void> {
    this.child.stdin?.end();
    await this.gone();
  }

  private async gone(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'exit');
  }
}

function ordinaryAccount(): string[] {
  return ['setpriv', '--reuid', 'nobody', '--regid', idOf('-g'), '--clear-groups', '--'];
}

function idOf(which: '-u' | '-g'): string {
  return execFileSync('id', [which, 'nobody'], { encoding: 'utf8' }).trim();
}

export const nobodyUid = () => Number(idOf('-u'));

function bareFolder(): string {
  const folder = scratchFolder();
  symlinkSync('/usr/bin/id', path.join(folder, 'id'));
  return folder;
}
