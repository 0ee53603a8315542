import type { ChildProcess } from 'node:child_process';
import { killIfThere } from './kill.js';
import { type Pipe, pipeReader } from './pipes.js';
import { processTree } from './process-tree.js';
import { type Exited, exitOf, type Running } from './supervision.js';

/** A plain child process with what it started. */
export class LocalProcess implements Running {
  readonly stdout: Running['stdout'];
  readonly stderr: Running['stderr'];

  constructor(
    readonly child: ChildProcess,
    outputs: { stdout: Pipe; stderr: Pipe } | undefined,
  ) {
    const stdout = outputs ? pipeReader(outputs.stdout) : child.stdout;
    const stderr = outputs ? pipeReader(outputs.stderr) : child.stderr;
    if (!stdout || !stderr) throw new Error('A command was started without its streams');
    this.stdout = stdout;
    this.stderr = stderr;
    child.once('exit', () => this.killGroup());
  }

  exited(): Promise<Exited> {
    return exitOf(this.child);
  }

  kill(): void {
    const { pid } = this.child;
    if (pid === undefined) return;
    // Also those that have left the group, as long as their parents live.
    if (process.platform === 'linux') for (const descendant of processTree(pid)) killIfThere(descendant);
    this.killGroup();
  }

  private killGroup(): void {
    if (this.child.pid !== undefined) killIfThere(-this.child.pid);
  }
}
