import { Readable } from 'node:stream';
import type { Descriptor } from './descriptor.js';
import type { Directory } from './directory.js';
import { type Entry, toEntry } from './entry.js';
import { becameShorter, CHUNK_BYTES, FileStream } from './file-stream.js';
import { joinPath } from './path.js';

/** An inclusive range of bytes, as HTTP counts them. */
export interface ByteRange {
  start?: number;
  end?: number;
}

/** A regular file opened for reading. Close it, or read its stream to the end, or destroy the stream. */
export class OpenFile {
  private taken: Readable | undefined;

  private constructor(
    readonly entry: Entry,
    /** Type and permission bits, as stat(2) has them. */
    readonly mode: bigint,
    private readonly descriptor: Descriptor,
  ) {}

  static async open(folder: Directory, name: string): Promise<OpenFile> {
    const descriptor = await folder.descriptor(name);
    const { stats } = descriptor;
    return new OpenFile(toEntry(joinPath(folder.path, name), stats), stats.mode, descriptor);
  }

  /**
   * The bytes of the range, no more than the file had when it was opened. Once for each open file. The stream
   * owns the descriptor from here on. It fails with `busy` if the file is cut short meanwhile.
   */
  stream(range: ByteRange = {}): Readable {
    if (this.taken) throw new Error('The file is being read already');
    const start = range.start ?? 0;
    const end = Math.min(range.end ?? Number.POSITIVE_INFINITY, this.entry.size - 1);
    this.taken = new FileStream(this.entry.path, this.descriptor, start, end + 1);
    return this.taken;
  }

  /** Whether no one has written to it since it was opened; to be asked while it is open. */
  isUnchanged(): boolean {
    return this.descriptor.isUnchanged();
  }

  /** Bytes from `position` on, fewer at its end. */
  async readAt(position: number, length: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(length);
    return buffer.subarray(0, await this.descriptor.read(buffer, position));
  }

  /** The bytes from `start` to before `end`, as often as wanted; the file stays open. */
  part(start: number, end: number): Readable {
    return Readable.from(this.chunks(start, end), { objectMode: false });
  }

  private async *chunks(start: number, end: number): AsyncGenerator<Buffer> {
    for (let at = start; at < end; ) {
      const chunk = await this.readAt(at, Math.min(CHUNK_BYTES, end - at));
      if (chunk.byteLength === 0) throw becameShorter(this.entry.path);
      at += chunk.byteLength;
      yield chunk;
    }
  }

  /** All of it, no more than it had when it was opened. */
  async bytes(): Promise<Buffer> {
    const all = Buffer.allocUnsafe(this.entry.size);
    let length = 0;
    while (length < all.byteLength) {
      const bytesRead = await this.descriptor.read(all.subarray(length), length);
      if (bytesRead === 0) throw becameShorter(this.entry.path);
      length += bytesRead;
    }
    return all;
  }

  async close(): Promise<void> {
    this.taken?.destroy();
    await this.descriptor.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
