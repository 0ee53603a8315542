import type { ChildProcess } from 'node:child_process';
import type { Berth } from './berth.js';
import { killIfThere } from './kill.js';
import type { LastWill } from './last-will.js';
import type { PipeSocket } from './pipe-socket.js';
import { lastFileContent } from './profile.js';
import { StatusReader } from './status-reader.js';
import { type Exited, exitOf, type Running } from './supervision.js';

/** A process stuck in a system call of the kernel's may take its time to die. */
const PATIENCE_MS = 1000;

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
 * Its filter comes through a pipe, and bwrap reads it as its last act before the command. It is written only
 * when the sandbox is all but built and its first process is in the service's last will. So should the
 * service die before that, there is no filter and no command runs; and afterwards its will is carried out.
 */
export class BubblewrapProcess implements Running {
  readonly child: ChildProcess;
  readonly stdout: PipeSocket;
  readonly stderr: PipeSocket;
  private readonly status: StatusReader;
  private built = false;
  private killed = false;

  constructor(
    private readonly berth: Berth,
    private readonly launch: Launch,
    private readonly lastWill: LastWill,
  ) {
    this.child = berth.child;
    const { stdout, stderr } = berth.become(launch.script);
    this.stdout = stdout;
    this.stderr = stderr;
    this.status = new StatusReader(berth.socket(berth.numbers.status), pid => this.meet(pid));
    berth.socket(berth.numbers.options).end(launch.options.map(option => `${option}\0`).join(''));
    this.followProgress();
  }

  exited(): Promise<Exited> {
    return exitOf(this.child);
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

  /** As `kill`, but bwrap goes last: its end is that of all. */
  end(): void {
    const { firstProcess } = this.status;
    if (firstProcess === undefined) this.kill();
    else killIfThere(firstProcess);
    const patience = setTimeout(() => this.kill(), PATIENCE_MS);
    this.child.once('exit', () => clearTimeout(patience));
  }

  /** Number 1 inside, by its number on the host, once the sandbox is being built. */
  get firstProcess(): number | undefined {
    return this.status.firstProcess;
  }

  private meet(firstProcess: number): void {
    this.lastWill.add(firstProcess);
    this.child.once('exit', () => this.lastWill.remove(firstProcess));
    if (this.killed) this.kill();
    else this.openGate();
  }

  private followProgress(): void {
    const lastFile = this.berth.socket(this.berth.numbers.progress);
    lastFile.once('end', () => {
      this.built = true;
      this.openGate();
    });
    lastFile.resume().end(lastFileContent);
  }

  private openGate(): void {
    if (!this.built || this.killed || this.status.firstProcess === undefined) return;
    this.berth.socket(this.berth.numbers.gate).end(this.launch.filter);
  }
}
