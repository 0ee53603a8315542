import { setImmediate } from 'node:timers/promises';
import { WorkspaceFsError } from './errors.js';
import { quotePath } from './quote-path.js';
import { reading } from './read.js';
import type { Tree } from './tree.js';

const DEFAULT_MAX_BYTES = 10 * 1024 * 1024;
/** Files up to this are read whole, to check them and to count their lines; of others no more than this is read. */
export const MAX_COUNTED_BYTES = 32 * 1024 * 1024;
const NEWLINE = 0x0a;
const NUL = 0;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** To write a character as JSON that must be escaped takes so much longer than another. */
const WEIGHT_OF_ESCAPED = 5;
/** What a text may weigh for each byte that it may have: one of nothing but line ends has half as many. */
const MAX_WEIGHT_OF_BYTE = 2.5;

export interface ReadTextOptions {
  /** From 1. */
  start_line?: number;
  /** Inclusive. */
  end_line?: number;
  /** Of `content`; default 10 MiB. Less, where there is much in it that takes longer to write as JSON: line ends, quotes. */
  max_bytes?: number;
}

export interface TextRead {
  path: string;
  /** The lines with their line ends, as they are on disk. */
  content: string;
  etag: string;
  /** Bytes of the whole file. */
  size: number;
  start_line: number;
  /** The last line in `content`; `start_line - 1` when there is none. */
  end_line: number;
  /** null for a file of more than 32 MiB, of which only what is needed is read. */
  total_lines: number | null;
  /** Whether `max_bytes`, or the bound of what is read, cut off lines that were asked for. */
  truncated: boolean;
}

/**
 * Reads lines of a UTF-8 file without NUL. One of up to 32 MiB is looked at as a whole, to check it and to count its lines;
 * a larger one up to the end of the lines that are asked for, which must begin within its first 32 MiB.
 */
export function readText(tree: Tree, path: string, options: ReadTextOptions): Promise<TextRead> {
  return reading(tree, path, async file => {
    const { size, etag } = file.entry;
    const isWhole = size <= MAX_COUNTED_BYTES;
    const window = new LineWindow(options);
    const decoder = new TextDecoder('utf-8', { fatal: true });
    const check = (bytes?: Uint8Array): void => {
      try {
        decoder.decode(bytes, { stream: bytes !== undefined });
      } catch (error) {
        throw new WorkspaceFsError('not_text', path, undefined, { cause: error });
      }
    };
    let read = 0;
    for await (const chunk of file.stream()) {
      if (chunk.includes(NUL)) throw new WorkspaceFsError('not_text', path);
      check(chunk);
      window.take(chunk);
      read += chunk.byteLength;
      if (!isWhole && (window.isComplete || read >= MAX_COUNTED_BYTES)) break;
    }
    if (isWhole) check();
    else if (!window.isComplete) window.breakOff(path);
    const { total_lines, ...result } = window.result();
    // What is made of a large text takes as long again.
    await setImmediate();
    return { path, etag: etag ?? '', size, ...result, total_lines: isWhole ? total_lines : null };
  });
}

/** Collects the bytes of a range of lines while the bytes of a file pass by. */
class LineWindow {
  private readonly first: number;
  private readonly last: number;
  private readonly maxBytes: number;
  private readonly kept: Buffer[] = [];
  private keptBytes = 0;
  private weight = 0;
  private keptEnds = 0;
  private line = 1;
  private atLineStart = true;
  private truncated = false;

  constructor(options: ReadTextOptions) {
    this.first = Math.max(1, options.start_line ?? 1);
    this.last = options.end_line ?? Number.POSITIVE_INFINITY;
    this.maxBytes = options.max_bytes ?? DEFAULT_MAX_BYTES;
  }

  take(chunk: Buffer): void {
    let from = this.isWanted() ? 0 : -1;
    // Byte by byte: a search for each line end would be slower where there are many.
    for (let at = 0; at < chunk.byteLength; at++) {
      if (chunk[at] !== NEWLINE) continue;
      const wasWanted = this.isWanted();
      this.line++;
      if (wasWanted && !this.isWanted()) {
        this.keep(chunk.subarray(from, at + 1));
        from = -1;
      } else if (!wasWanted && this.isWanted()) from = at + 1;
    }
    if (from >= 0) this.keep(chunk.subarray(from));
    this.atLineStart = chunk.at(-1) === NEWLINE;
  }

  /** Whether nothing that follows can be wanted. */
  get isComplete(): boolean {
    return this.truncated || this.line > this.last;
  }

  /** What was asked for goes on beyond what is read. */
  breakOff(path: string): void {
    if (this.keptBytes === 0)
      throw new WorkspaceFsError(
        'too_large',
        path,
        `Line ${this.first} of ${quotePath(path)} is not within its first ${MAX_COUNTED_BYTES} bytes, and no more is read of a file; download it, or print the lines with a command`,
      );
    this.truncated = true;
  }

  result(): Omit<TextRead, 'path' | 'etag' | 'size'> {
    const total = this.atLineStart ? this.line - 1 : this.line;
    const bytes = Buffer.concat(this.kept);
    const content = (this.truncated ? wholeLines(bytes) : bytes).toString('utf8');
    // Nothing is cut off that has a line end.
    const lines = content === '' || content.endsWith('\n') ? this.keptEnds : this.keptEnds + 1;
    const end = this.first - 1 + lines;
    return { content, start_line: this.first, end_line: end, total_lines: total, truncated: this.truncated };
  }

  private isWanted(): boolean {
    return this.line >= this.first && this.line <= this.last;
  }

  private keep(bytes: Buffer): void {
    const room = Math.min(bytes.byteLength, this.maxBytes - this.keptBytes);
    const maxWeight = this.maxBytes * MAX_WEIGHT_OF_BYTE;
    let end = 0;
    for (; end < room; end++) {
      const byte = bytes[end] ?? 0;
      this.weight += byte < 0x20 || byte === QUOTE || byte === BACKSLASH ? WEIGHT_OF_ESCAPED : 1;
      if (this.weight > maxWeight) break;
      if (byte === NEWLINE) this.keptEnds++;
    }
    if (end < bytes.byteLength) this.truncated = true;
    this.keptBytes += end;
    if (end > 0) this.kept.push(Buffer.from(bytes.subarray(0, end)));
  }
}

/** Cut after the last line that is whole, or else after the last character that is. */
function wholeLines(bytes: Buffer): Buffer {
  const lastEnd = bytes.lastIndexOf(NEWLINE);
  if (lastEnd !== -1) return bytes.subarray(0, lastEnd + 1);
  let end = bytes.byteLength;
  while (end > 0 && ((bytes[end - 1] ?? 0) & 0b1100_0000) === 0b1000_0000) end--;
  const lead = bytes[end - 1] ?? 0;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return bytes.subarray(0, end - 1 + length <= bytes.byteLength ? bytes.byteLength : Math.max(0, end - 1));
}
