import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { ControlGroup } from './control-group.js';
import type { ControlGroups } from './control-groups.js';
import type { InheritedDescriptors, Stdio } from './descriptors.js';
import { SandboxFailure } from './errors.js';
import type { PipeSocket } from './pipe-socket.js';
import { type Pipe, type PipePool, pipeReader } from './pipes.js';
import type { Owner } from './sandbox.js';

/** What a berth is made of. */
export interface BerthParts {
  pipes: PipePool;
  groups: ControlGroups;
  inherited: InheritedDescriptors;
  /** Descriptors of the files that bwrap copies into each sandbox, opened anew for every berth. */
  openFiles: () => number[];
}

/** Numbers that the descriptors of a berth have in its process. */
export interface BerthNumbers {
  options: number;
  progress: number;
  gate: number;
  status: number;
  /** On which the program of a session is spoken to; not where the caller has descriptors of his own there. */
  control: number | undefined;
  files: number[];
}

/**
 * A process that waits to become a command: a shell in a control group of its own, with its streams laid.
 *
 * To move a process into a control group takes the kernel several milliseconds, in which no other process
 * of the host can fork. So it is done ahead, to a shell that then reads from its standard input which
 * program to become. When the service dies, it reads an end of file instead and ends.
 */
export class Berth {
  private constructor(
    readonly child: ChildProcess,
    readonly numbers: BerthNumbers,
    readonly group: ControlGroup,
    private readonly owner: Owner | undefined,
    private readonly outputs: { stdout: Pipe; stderr: Pipe },
  ) {
    // What these report shows in that the process never started, or how it ended.
    child.on('error', () => undefined);
    for (const socket of this.sockets()) socket.on('error', () => socket.destroy());
    this.setAwake(false);
  }

  /**
   * @param owner whom the process belongs to, if not to us; of root it keeps nothing: `spawn` clears its
   * groups, the kernel takes its capabilities with the change of user, and bwrap forbids to regain any
   * @param descriptors of the caller, to be 3, 4, … for the command
   */
  static async open(parts: BerthParts, owner: Owner | undefined, descriptors: number[] = []): Promise<Berth> {
    const outputs = { stdout: await parts.pipes.take(owner), stderr: await parts.pipes.take(owner) };
    const files = parts.openFiles();
    const stdio: Stdio = ['pipe', outputs.stdout.write, outputs.stderr.write, ...descriptors];
    const add = (entry: Stdio[number]): number => stdio.push(entry) - 1;
    const own = { options: add('pipe'), progress: add('pipe'), gate: add('pipe'), status: add('pipe') };
    const numbers = {
      ...own,
      control: descriptors.length > 0 ? undefined : add('pipe'),
      files: files.map(add),
    };
    // An empty environment: number 1 in a sandbox shows what it was started with to everyone there.
    const surroundings = { env: {}, cwd: '/', stdio: parts.inherited.cover(stdio), ...owner };
    try {
      const child = spawn('/bin/sh', [], surroundings);
      return await new Berth(child, numbers, parts.groups.create(), owner, outputs).entered();
    } finally {
      for (const descriptor of [outputs.stdout.write, outputs.stderr.write, ...files]) closeSync(descriptor);
    }
  }

  /** Whether a program can still be started here. */
  get isWaiting(): boolean {
    return this.child.pid !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  isOf(owner: Owner | undefined): boolean {
    return this.owner?.uid === owner?.uid && this.owner?.gid === owner?.gid;
  }

  /** Becomes a program, which the script must `exec`. From here on this keeps the service alive. */
  become(script: string): { stdout: PipeSocket; stderr: PipeSocket } {
    this.setAwake(true);
    const { stdout, stderr } = this.outputs;
    this.socket(0).end(`${script}\n`);
    return { stdout: pipeReader(stdout), stderr: pipeReader(stderr) };
  }

  /** Our end of one of its pipes. */
  socket(number: number): Socket {
    return this.child.stdio[number] as Socket;
  }

  /** Gives it up unused. */
  close(): void {
    this.child.kill('SIGKILL');
    for (const pipe of Object.values(this.outputs)) closeSync(pipe.read);
    this.leave();
  }

  /** Takes down what outlives the process. */
  leave(): void {
    for (const socket of this.sockets()) socket.destroy();
    this.group.remove();
  }

  private async entered(): Promise<this> {
    try {
      if (this.child.pid === undefined) throw new Error('The shell did not start');
      await this.group.join(this.child.pid);
      return this;
    } catch (error) {
      this.close();
      throw new SandboxFailure('No process could be prepared for a command', { cause: error });
    }
  }

  private sockets(): Socket[] {
    return this.child.stdio.filter((stream): stream is Socket => stream instanceof Socket);
  }

  /** While it waits it does not keep the service from ending. */
  private setAwake(awake: boolean): void {
    for (const handle of [this.child, ...this.sockets()]) awake ? handle.ref() : handle.unref();
  }
}
