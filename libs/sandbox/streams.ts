import { closeSync } from 'node:fs';
import { Socket } from 'node:net';
import { openContent } from './anonymous-file.js';
import type { Pipe, PipePool } from './pipes.js';
import type { Owner } from './sandbox.js';

/**
 * Standard streams of a command that is about to start. All three can also be opened by their names
 * (/dev/stdin …): the input is a file without a name, the outputs are pipes.
 */
export class StandardStreams {
  private constructor(
    private readonly input: number | undefined,
    private readonly outputs: { stdout: Pipe; stderr: Pipe },
  ) {}

  static async open(
    pipes: PipePool,
    stdin: string | Buffer | undefined,
    owner: Owner | undefined,
  ): Promise<StandardStreams> {
    const input = stdin === undefined ? undefined : await openContent(stdin);
    return new StandardStreams(input, { stdout: await pipes.take(owner), stderr: await pipes.take(owner) });
  }

  /** For `stdio` of `spawn`. */
  get childSide(): ['ignore' | number, number, number] {
    return [this.input ?? 'ignore', this.outputs.stdout.write, this.outputs.stderr.write];
  }

  /** To be called once the child has its copies: our own would keep the streams open for ever. */
  closeChildSide(): void {
    for (const descriptor of this.childSide) if (descriptor !== 'ignore') closeSync(descriptor);
  }

  /** Starts reading. */
  connect(): { stdout: Socket; stderr: Socket } {
    return { stdout: reader(this.outputs.stdout), stderr: reader(this.outputs.stderr) };
  }

  /** For when the child could not be started. */
  closeOurSide(): void {
    closeSync(this.outputs.stdout.read);
    closeSync(this.outputs.stderr.read);
  }
}

function reader(pipe: Pipe): Socket {
  return new Socket({ fd: pipe.read, readable: true, writable: false });
}
