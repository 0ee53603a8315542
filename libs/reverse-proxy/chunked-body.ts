import { parseFields } from './fields.js';
import { ProxyError } from './proxy-error.js';

const MAX_LINE_BYTES = 1024;
const MAX_TRAILER_BYTES = 16 * 1024;
/** A size, and extensions, which mean nothing to us (RFC 9112, section 7.1.1). */
const SIZE_LINE = /^([0-9a-fA-F]{1,13})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;
const CR = 0x0d;
const LF = 0x0a;
const EMPTY = Buffer.alloc(0);
/** Pieces of at least this size go on as they are. */
const MIN_PIECE_BYTES = 4 * 1024;
const MAX_PLAIN_DIGITS = 6;
const FEW_BYTES = 32;

/** What stands after the last chunk, and what came behind that. */
export interface ChunkedEnd {
  readonly trailers: readonly string[];
  readonly rest: Buffer;
}

/** A body in chunks (RFC 9112, section 7.1), read as it comes. */
export class ChunkedBody {
  private state: 'size' | 'data' | 'data end' | 'trailers' = 'size';
  /** Of a line, or of the trailers, that are not complete. */
  private pending: Buffer = EMPTY;
  private left = 0;

  /**
   * Calls `chunk` with the data that came; returns the end once all is read. Throws ProxyError (`invalid`). Small pieces of data are
   * moved together within `bytes`: a piece of its own for each chunk of one byte would keep the event loop.
   */
  write(bytes: Buffer, chunk: (data: Buffer) => void): ChunkedEnd | undefined {
    let at = 0;
    /** Where the data lies that is not passed on yet. */
    let [start, end] = [0, 0];
    while (at < bytes.length && this.state !== 'trailers') {
      if (this.state !== 'data') {
        at = this.readLine(bytes, at);
        continue;
      }
      const next = Math.min(at + this.left, bytes.length);
      const isNew = end === start || next - at >= MIN_PIECE_BYTES;
      if (isNew) {
        if (end > start) chunk(bytes.subarray(start, end));
        start = at;
        end = next;
      } else {
        end = moveTo(bytes, end, at, next);
      }
      this.left -= next - at;
      at = next;
      if (this.left === 0) this.state = 'data end';
    }
    if (end > start) chunk(bytes.subarray(start, end));
    return at < bytes.length ? this.readTrailers(bytes.subarray(at)) : undefined;
  }

  /** Returns where the line ends. */
  private readLine(bytes: Buffer, at: number): number {
    if (this.pending.length === 0 && this.state === 'data end' && bytes[at] === CR && bytes[at + 1] === LF) {
      this.state = 'size';
      return at + 2;
    }
    if (this.pending.length === 0 && this.state === 'size') {
      const end = this.readPlainSize(bytes, at);
      if (end > 0) return end;
    }
    const feed = bytes.indexOf(LF, at);
    const part = bytes.subarray(at, feed + 1 || bytes.length);
    const line = this.pending.length > 0 ? Buffer.concat([this.pending, part]) : part;
    if (line.length > MAX_LINE_BYTES)
      throw new ProxyError('invalid', 'A chunk of the answer has a line that is too long');
    if (feed < 0) {
      this.pending = Buffer.from(line);
      return bytes.length;
    }
    this.pending = EMPTY;
    if (line.at(-2) !== CR)
      throw new ProxyError('invalid', 'A line of a chunk ends without a carriage return');
    this.take(line.toString('latin1', 0, line.length - 2));
    return feed + 1;
  }

  /** Reads the line of a size that is whole and nothing else, as nearly all are; returns where it ends, or 0. */
  private readPlainSize(bytes: Buffer, at: number): number {
    let size = 0;
    let end = at;
    for (const most = at + MAX_PLAIN_DIGITS; end < most; end++) {
      const digit = hexDigit(bytes[end] ?? CR);
      if (digit < 0) break;
      size = size * 16 + digit;
    }
    if (end === at || bytes[end] !== CR || bytes[end + 1] !== LF) return 0;
    this.left = size;
    this.state = size === 0 ? 'trailers' : 'data';
    return end + 2;
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

/** The value of a hexadecimal digit; negative for any other byte. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** Moves bytes towards the front; returns where they end. */
function moveTo(bytes: Buffer, to: number, from: number, end: number): number {
  if (end - from > FEW_BYTES) bytes.copyWithin(to, from, end);
  else for (let n = 0; n < end - from; n++) bytes[to + n] = bytes[from + n] as number;
  return to + end - from;
}
