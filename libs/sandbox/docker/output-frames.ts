import { PassThrough, type Readable } from 'node:stream';

const HEADER_BYTES = 8;
const STDERR = 2;

/**
 * Takes apart what the engine sends of a process without a terminal: frames of a header, whose first byte names the
 * stream and whose last four its length (Docker Engine API, attaching to a container, "Stream format").
 */
export class OutputFrames {
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  private header = Buffer.alloc(0);
  private current = this.stdout;
  /** Bytes that are still to come of the frame under way. */
  private left = 0;

  constructor(source: Readable) {
    source.on('data', (bytes: Buffer) => this.take(bytes));
    // A connection that breaks ends what it carried; events report why the process ended.
    for (const event of ['end', 'close', 'error']) source.once(event, () => this.end());
  }

  private take(bytes: Buffer): void {
    for (let rest = bytes; rest.length > 0; ) {
      rest = this.left === 0 ? this.readHeader(rest) : this.readBody(rest);
    }
  }

  private readHeader(bytes: Buffer): Buffer {
    const missing = HEADER_BYTES - this.header.length;
    this.header = Buffer.concat([this.header, bytes.subarray(0, missing)]);
    if (this.header.length === HEADER_BYTES) {
      this.current = this.header[0] === STDERR ? this.stderr : this.stdout;
      this.left = this.header.readUInt32BE(4);
      this.header = Buffer.alloc(0);
    }
    return bytes.subarray(missing);
  }

  private readBody(bytes: Buffer): Buffer {
    const part = bytes.subarray(0, this.left);
    this.left -= part.length;
    if (!this.current.writableEnded && !this.current.destroyed) this.current.write(part);
    return bytes.subarray(part.length);
  }

  private end(): void {
    for (const stream of [this.stdout, this.stderr]) if (!stream.writableEnded) stream.end();
  }
}
