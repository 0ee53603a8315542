import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Account } from './account.js';
import { spawnAs } from './as-account.js';
import type { Binaries } from './binaries.js';
import { explainOutput } from './failure.js';

/** How PostgreSQL ended; `expected` when stop() had been called. */
export interface PostgresExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  expected: boolean;
  /** The last lines of its log. */
  output: string;
}

const readyLine = 'database system is ready to accept connections';
const keptLines = 40;
/** A fast shutdown writes a checkpoint; past this, an immediate one leaves that to the next start. */
const fastShutdownMs = 15_000;

/** The running server, our direct child. */
export class Postmaster {
  readonly exited: Promise<PostgresExit>;
  readonly pid: number;
  private readonly lines: string[] = [];
  private stopping = false;
  private onReady: () => void = () => undefined;

  private constructor(
    private readonly child: ChildProcess,
    private readonly log: (line: string) => void,
  ) {
    this.pid = child.pid ?? 0;
    this.exited = new Promise(resolve => {
      child.once('error', error => resolve(this.ended(null, null, error.message)));
      child.once('close', (code, signal) => resolve(this.ended(code, signal)));
    });
    if (child.stderr) createInterface({ input: child.stderr }).on('line', line => this.read(line));
  }

  /**
   * Resolves when the server accepts connections.
   * @throws EmbeddedPostgresError with the reason when it ends before that.
   */
  static async launch(
    binaries: Binaries,
    account: Account,
    dataDir: string,
    parameters: string[],
    log: (line: string) => void,
  ): Promise<Postmaster> {
    const child = spawnAs(account, binaries.postgres, ['-D', dataDir, ...parameters], {
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const postmaster = new Postmaster(child, log);
    const ready = new Promise<'ready'>(resolve => {
      postmaster.onReady = () => resolve('ready');
    });
    const first = await Promise.race([ready, postmaster.exited]);
    if (first !== 'ready') throw explainOutput('start', dataDir, first.output);
    return postmaster;
  }

  /** Asks for a clean end without waiting for it, for owners that are ending themselves. */
  interrupt(): void {
    this.stopping = true;
    this.child.kill('SIGINT');
  }

  /** Disconnects clients, writes everything and ends. */
  async stop(): Promise<void> {
    this.interrupt();
    const impatience = setTimeout(() => this.child.kill('SIGQUIT'), fastShutdownMs);
    await this.exited;
    clearTimeout(impatience);
  }

  private read(line: string): void {
    this.lines.push(line);
    if (this.lines.length > keptLines) this.lines.shift();
    if (line.includes(readyLine)) this.onReady();
    this.log(line);
  }

  private ended(code: number | null, signal: NodeJS.Signals | null, reason?: string): PostgresExit {
    const output = [...this.lines, ...(reason ? [reason] : [])].join('\n');
    return { code, signal, expected: this.stopping, output };
  }
}
