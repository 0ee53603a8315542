import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { SandboxLimits } from './limits.js';
import { OutputCollector } from './output.js';
import type { EndedBy, SandboxRequest } from './sandbox.js';
import { explainSpawn } from './spawn-errors.js';

/** As Node reports the end of a child process. */
export type Exited = [code: number | null, signal: NodeJS.Signals | null];

/** A command that has been started. */
export interface Running {
  stdout: Readable;
  stderr: Readable;
  /** How it ended: its exit code, or the signal that ended it. @throws if it could not be started */
  exited(): Promise<Exited>;
  /** Kills all its processes at once; called while it runs. */
  kill(): void;
}

export interface Ending {
  endedBy: EndedBy;
  /** Of the command, if it ended by itself. */
  code: number | null;
  signal: NodeJS.Signals | null;
  output: OutputCollector;
  durationMs: number;
}

/** After a command's end its streams are closed by the kernel; a process stuck in a system call may hold them. */
const DRAIN_MS = 2000;
/** The longest delay of a Node timer, 24.8 days; nothing with a deadline runs longer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Sees a command to its end: output, deadline, the caller's signal. */
export class Supervision {
  private readonly startedAt = performance.now();
  private readonly output: OutputCollector;
  private reason: Exclude<EndedBy, 'exit'> | undefined;
  private fault: { error: unknown } | undefined;
  private over = false;

  constructor(
    private readonly running: Running,
    private readonly request: SandboxRequest,
    private readonly limits: SandboxLimits,
  ) {
    this.output = new OutputCollector(limits.outputBytes, request.onOutput);
  }

  /** Kills the command; the first reason is the one that is reported. */
  end(reason: Exclude<EndedBy, 'exit'>): void {
    if (this.over) return;
    this.reason ??= reason;
    this.running.kill();
  }

  /** Ends the command because we cannot go on; `ended` rejects with the error once it is dead. */
  fail(error: unknown): void {
    this.fault ??= { error };
    this.end('stopped');
  }

  async ended(): Promise<Ending> {
    const stop = (): void => this.end('stopped');
    const deadline = startDeadline(this.limits.wallMs, () => this.end('timeout'));
    this.request.signal?.addEventListener('abort', stop, { once: true });
    if (this.request.signal?.aborted) stop();
    const closed = Promise.all([this.collect('stdout'), this.collect('stderr')]);
    try {
      const [code, signal] = await this.running.exited();
      this.over = true;
      await this.drained(closed);
      if (this.fault) throw this.fault.error;
      return { endedBy: this.reason ?? 'exit', code, signal, ...this.finished() };
    } finally {
      clearTimeout(deadline);
      this.request.signal?.removeEventListener('abort', stop);
    }
  }

  private finished(): Pick<Ending, 'output' | 'durationMs'> {
    return { output: this.output, durationMs: Math.round(performance.now() - this.startedAt) };
  }

  private collect(name: 'stdout' | 'stderr'): Promise<void> {
    const stream = this.running[name];
    stream.on('data', (bytes: Buffer) => this.guard(() => this.output.add(name, bytes)));
    stream.once('error', error => this.fail(error));
    return new Promise(resolve => {
      stream.once('close', () => {
        this.guard(() => this.output.end(name));
        resolve();
      });
    });
  }

  /** The caller's `onOutput` may throw: then the command ends and the caller gets the error back. */
  private guard(deliver: () => void): void {
    if (this.fault) return;
    try {
      deliver();
      if (this.output.flooded) this.end('output');
    } catch (error) {
      this.fail(error);
    }
  }

  private async drained(closed: Promise<unknown>): Promise<void> {
    const { stdout, stderr } = this.running;
    const patience = setTimeout(() => {
      stdout.destroy();
      stderr.destroy();
    }, DRAIN_MS);
    await closed.finally(() => clearTimeout(patience));
  }
}

/** Nothing, where there is no deadline. */
export function startDeadline(wallMs: number, onReached: () => void): NodeJS.Timeout | undefined {
  if (!Number.isFinite(wallMs)) return undefined;
  return setTimeout(onReached, Math.min(wallMs, LONGEST_TIMER_MS));
}

/** The end of a command that is a child of this process. */
export async function exitOf(child: ChildProcess): Promise<Exited> {
  try {
    return (await once(child, 'exit')) as Exited;
  } catch (error) {
    throw explainSpawn(error); // `once` rejects when the child reports that it could not be started
  }
}
