import { parseFields } from './fields.js';
import { ProxyError } from './proxy-error.js';

const MAX_LINE_BYTES = 1024;
const MAX_TRAILER_BYTES = 16 * 1024;
/** A size, and extensions, which mean nothing to us (RFC 9112, section 7.1.1). */
const SIZE_LINE = /^([0-9a-fA-F]{1,13})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;
const CR = 0x0d;
const LF = 0x0a;

/** What stands after the last chunk, and what came behind that. */
export interface ChunkedEnd {
  readonly trailers: readonly string[];
  readonly rest: Buffer;
}

/** A body in chunks (RFC 9112, section 7.1), read as it comes. */
export class ChunkedBody {
  private state: 'size' | 'data' | 'data end' | 'trailers' = 'size';
  /** Of a line, or of the trailers, that are not complete. */
  private pending: Buffer = Buffer.alloc(0);
  private left = 0;

  /** Calls `chunk` for each piece of data; returns the end once all is read. Throws ProxyError (`invalid`). */
  write(bytes: Buffer, chunk: (data: Buffer) => void): ChunkedEnd | undefined {
    let rest = bytes;
    while (rest.length > 0) {
      if (this.state === 'data') {
        const own = rest.subarray(0, this.left);
        this.left -= own.length;
        rest = rest.subarray(own.length);
        chunk(own);
        if (this.left === 0) this.state = 'data end';
      } else if (this.state === 'trailers') return this.readTrailers(rest);
      else rest = this.readLine(rest);
    }
    return undefined;
  }

  private readLine(bytes: Buffer): Buffer {
    const end = bytes.indexOf(LF);
    const part = bytes.subarray(0, end + 1 || bytes.length);
    const line = this.pending.length > 0 ? Buffer.concat([this.pending, part]) : part;
    if (line.length > MAX_LINE_BYTES)
      throw new ProxyError('invalid', 'A chunk of the answer has a line that is too long');
    if (end < 0) {
      this.pending = Buffer.from(line);
      return bytes.subarray(bytes.length);
    }
    this.pending = Buffer.alloc(0);
    if (line.at(-2) !== CR)
      throw new ProxyError('invalid', 'A line of a chunk ends without a carriage return');
    this.take(line.toString('latin1', 0, line.length - 2));
    return bytes.subarray(end + 1);
  }

  private take(line: string): void {
    if (this.state === 'data end') {
      if (line !== '') throw new ProxyError('invalid', 'A chunk of the answer is longer than it says');
      this.state = 'size';
      return;
    }
    const [, size] = SIZE_LINE.exec(line) ?? [];
    if (size === undefined) throw new ProxyError('invalid', 'A chunk of the answer has no valid size');
    this.left = Number.parseInt(size, 16);
    this.state = this.left === 0 ? 'trailers' : 'data';
  }

  private readTrailers(bytes: Buffer): ChunkedEnd | undefined {
    const all = Buffer.concat([this.pending, bytes]);
    const isNone = all.length >= 2 && all[0] === CR && all[1] === LF;
    const end = isNone ? 0 : all.indexOf('\r\n\r\n', 0, 'latin1');
    const size = isNone ? 2 : end + 4;
    if ((end < 0 ? all.length : end) > MAX_TRAILER_BYTES)
      throw new ProxyError('invalid', 'The trailers of the answer are too large');
    if (end < 0) {
      this.pending = all;
      return undefined;
    }
    return { trailers: isNone ? [] : parseFields(all.toString('latin1', 0, end)), rest: all.subarray(size) };
  }
}
