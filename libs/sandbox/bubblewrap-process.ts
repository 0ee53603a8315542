import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { ControlGroup } from './control-groups.js';
import type { InheritedDescriptors, Stdio } from './descriptors.js';
import { killIfThere } from './kill.js';
import type { Owner } from './sandbox.js';
import { explainSpawn } from './spawn-errors.js';
import { StatusReader } from './status-reader.js';
import type { StandardStreams } from './streams.js';
import type { Running } from './supervision.js';

export interface Launch {
  streams: StandardStreams;
  inherited: InheritedDescriptors;
  /** Of the caller, for the command. */
  descriptors: number[];
  owner: Owner | undefined;
  /** The whole command line, prlimit first. */
  commandLine: (attach: Attach) => string[];
  group: ControlGroup;
  filter: Buffer;
}

/** What bwrap needs to be told besides its arguments, as numbers of descriptors in the child. */
export interface Attach {
  /** Hands over a descriptor, which is closed here after the start. */
  descriptor: (descriptor: number) => number;
  /** Hands over a text. */
  text: (content: string) => number;
  /** bwrap reads its filter here, as its last act before the command. */
  gate: number;
  /** bwrap reports here. */
  status: number;
}

/**
 * A running bwrap.
 *
 * Its filter comes through a pipe that is written only when all is ready on our side: until then bwrap has
 * built everything but waits. So the command cannot take a step outside its control group, and if the
 * service dies in between, bwrap finds no filter and gives up.
 */
export class BubblewrapProcess implements Running {
  readonly stdout: Socket;
  readonly stderr: Socket;
  readonly status: StatusReader;
  private killed = false;

  private constructor(
    readonly child: ChildProcess,
    launch: Launch,
    attachments: Attachments,
    onFailure: (error: unknown) => void,
  ) {
    const { stdout, stderr } = launch.streams.connect();
    this.stdout = stdout;
    this.stderr = stderr;
    attachments.writeTexts(child);
    const gate = attachments.pipe(child, attachments.gate);
    this.status = new StatusReader(attachments.pipe(child, attachments.status), pid => {
      if (this.killed) return this.kill();
      launch.group.join(pid).then(() => gate.end(launch.filter), onFailure);
    });
    child.once('exit', () => gate.destroy());
  }

  /** @param onFailure hears of what goes wrong between the start and the command's first step */
  static start(launch: Launch, onFailure: (error: unknown) => void): BubblewrapProcess {
    const attachments = new Attachments(launch.streams, launch.descriptors);
    try {
      const [program = '', ...args] = launch.commandLine(attachments);
      // The kernel gives up root, its groups and all capabilities with the change of user. An empty
      // environment, because number 1 inside shows the one it was started with to everyone there.
      const options = {
        env: {},
        cwd: '/',
        stdio: launch.inherited.cover(attachments.stdio),
        ...launch.owner,
      };
      return new BubblewrapProcess(spawn(program, args, options), launch, attachments, onFailure);
    } catch (error) {
      launch.streams.closeOurSide();
      throw explainSpawn(error);
    } finally {
      launch.streams.closeChildSide();
      attachments.close();
    }
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

/** Builds the child's table of descriptors: standard streams, the caller's, then ours. */
class Attachments implements Attach {
  readonly stdio: Stdio;
  readonly gate: number;
  readonly status: number;
  private readonly handedOver: number[] = [];
  private readonly texts = new Map<number, string>();

  constructor(streams: StandardStreams, descriptors: number[]) {
    this.stdio = [...streams.childSide, ...descriptors];
    this.gate = this.add('pipe');
    this.status = this.add('pipe');
  }

  descriptor = (descriptor: number): number => {
    this.handedOver.push(descriptor);
    return this.add(descriptor);
  };

  text = (content: string): number => {
    const number = this.add('pipe');
    this.texts.set(number, content);
    return number;
  };

  /** Our end of a pipe. bwrap may end before it has read all: that shows in how it ends, not here. */
  pipe(child: ChildProcess, number: number): Socket {
    const socket = child.stdio[number] as Socket;
    return socket.on('error', () => socket.destroy());
  }

  writeTexts(child: ChildProcess): void {
    for (const [number, content] of this.texts) this.pipe(child, number).end(content);
  }

  close(): void {
    for (const descriptor of this.handedOver) closeSync(descriptor);
  }

  private add(entry: 'pipe' | number): number {
    return this.stdio.push(entry) - 1;
  }
}
