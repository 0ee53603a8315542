import { OutgoingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { Descriptor } from './descriptor.js';
import { asWorkspaceError, WorkspaceFsError } from './errors.js';
import { quotePath } from './quote-path.js';

export const CHUNK_BYTES = 256 * 1024;
/** Sent to one before it is the turn of others, who may have waited for a few milliseconds by then. */
const TURN_BYTES = 4 * 1024 * 1024;
const MAX_SPARE = 8;

/** Buffers that are free: a new one costs more than what is read into it. */
const spare: Buffer[] = [];

/** A part of an open file, which it closes; no more than there was when it was opened. */
export class FileStream extends Readable {
  constructor(
    private readonly path: string,
    private readonly descriptor: Descriptor,
    private position: number,
    private readonly stop: number,
  ) {
    super({ highWaterMark: CHUNK_BYTES });
  }

  override _read(): void {
    this.nextOf(length => Buffer.allocUnsafe(length)).then(
      chunk => this.push(chunk),
      error => this.fail(error),
    );
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.descriptor.close().then(
      () => done(error),
      failure => done(error ?? failure),
    );
  }

  /** A response says of each write when its bytes have left, so one buffer does for all; any other may keep what it gets. */
  override pipe<T extends NodeJS.WritableStream>(to: T, options: { end?: boolean } = {}): T {
    if (!(to instanceof OutgoingMessage)) return super.pipe(to, options);
    this.sendTo(to, options.end !== false).catch(error => this.fail(error));
    return to;
  }

  private async sendTo(response: OutgoingMessage, isAll: boolean): Promise<void> {
    const buffer = spare.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES);
    let turn = 0;
    for (;;) {
      const chunk = await this.nextOf(length => buffer.subarray(0, length));
      if (!chunk) break;
      // Its reader has gone: that is no failure of the file.
      if (!(await isWritten(response, chunk))) return void this.destroy();
      turn += chunk.byteLength;
      if (turn < TURN_BYTES) continue;
      turn = 0;
      await setImmediate();
    }
    // Not after a failure: something may still hold on to it then.
    if (spare.length < MAX_SPARE) spare.push(buffer);
    this.push(null);
    this.resume();
    if (isAll) response.end();
  }

  /** What comes next, in a buffer of at most the length that is asked for; null at the end. */
  private async nextOf(bufferOf: (length: number) => Buffer): Promise<Buffer | null> {
    const length = Math.min(CHUNK_BYTES, this.stop - this.position);
    if (length <= 0) return null;
    const buffer = bufferOf(length);
    const bytesRead = await this.descriptor.read(buffer, this.position);
    if (bytesRead === 0) throw becameShorter(this.path);
    this.position += bytesRead;
    return buffer.subarray(0, bytesRead);
  }

  private fail(error: unknown): void {
    this.destroy(asWorkspaceError(error, this.path) as Error);
  }
}

/** True when the bytes have left, false when they cannot any more. */
function isWritten(response: OutgoingMessage, chunk: Buffer): Promise<boolean> {
  return new Promise(resolve => {
    response.write(chunk, error => resolve(!error));
  });
}

export function becameShorter(path: string): WorkspaceFsError {
  return new WorkspaceFsError('busy', path, `${quotePath(path)} became shorter while it was read; try again`);
}
