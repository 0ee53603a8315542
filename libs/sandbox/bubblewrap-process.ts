import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Berth } from './berth.js';
import { killIfThere } from './kill.js';
import { StatusReader } from './status-reader.js';
import type { Running } from './supervision.js';

interface Launch {
  /** For the shell of the berth; ends in an `exec` of bwrap. */
  script: string;
  /** What bwrap reads with `--args`. On a command line every user of the host could read it. */
  options: string[];
  /** What bwrap reads with `--seccomp`. */
  filter: Buffer;
}

/**
 * A running bwrap.
 *
 * Its filter comes through a pipe, and bwrap reads it as its last act before the command: should the service
 * die before it has written all, no filter arrives and no command runs.
 */
export class BubblewrapProcess implements Running {
  readonly child: ChildProcess;
  readonly stdout: Socket;
  readonly stderr: Socket;
  private readonly status: StatusReader;
  private killed = false;

  constructor(berth: Berth, { script, options, filter }: Launch) {
    this.child = berth.child;
    const { stdout, stderr } = berth.become(script);
    this.stdout = stdout;
    this.stderr = stderr;
    this.status = new StatusReader(berth.socket(berth.numbers.status), () => {
      if (this.killed) this.kill();
    });
    berth.socket(berth.numbers.options).end(options.map(option => `${option}\0`).join(''));
    berth.socket(berth.numbers.gate).end(filter);
  }

  /** The command's exit code once bwrap has ended; undefined if no command ran. */
  exitCode(): Promise<number | undefined> {
    return this.status.exitCode();
  }

  /**
   * The kernel ends everything in the sandbox with its number 1, and that with bwrap; but number 1 asks for
   * that only late, so it is killed by name as well, and a kill that comes before we know it has to wait.
   */
  kill(): void {
    this.killed = true;
    if (this.status.firstProcess === undefined) return;
    killIfThere(this.status.firstProcess);
    this.child.kill('SIGKILL');
  }
}
