import { WorkspaceFsError } from './errors.js';
import { reading } from './read.js';
import type { Tree } from './tree.js';

const DEFAULT_MAX_BYTES = 10 * 1024 * 1024;
const NEWLINE = 0x0a;

export interface ReadTextOptions {
  /** From 1. */
  start_line?: number;
  /** Inclusive. */
  end_line?: number;
  /** Of `content`; default 10 MiB. */
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
  total_lines: number;
  /** Whether `max_bytes` cut off lines that were asked for. */
  truncated: boolean;
}

/** Reads lines of a UTF-8 file. All of the file is looked at, in constant memory, to check it and count lines. */
export function readText(tree: Tree, path: string, options: ReadTextOptions): Promise<TextRead> {
  return reading(tree, path, async file => {
    const window = new LineWindow(options);
    const decoder = new TextDecoder('utf-8', { fatal: true });
    const check = (bytes?: Uint8Array): void => {
      try {
        decoder.decode(bytes, { stream: bytes !== undefined });
      } catch (error) {
        throw new WorkspaceFsError('not_text', path, undefined, { cause: error });
      }
    };
    for await (const chunk of file.stream()) {
      check(chunk);
      window.take(chunk);
    }
    check();
    const { size, etag } = file.entry;
    return { path, etag: etag ?? '', size, ...window.result() };
  });
}

/** Collects the bytes of a range of lines while the bytes of a file pass by. */
class LineWindow {
  private readonly first: number;
  private readonly last: number;
  private readonly maxBytes: number;
  private readonly kept: Buffer[] = [];
  private keptBytes = 0;
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
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) {
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

  result(): Pick<TextRead, 'content' | 'start_line' | 'end_line' | 'total_lines' | 'truncated'> {
    const total = this.atLineStart ? this.line - 1 : this.line;
    const bytes = Buffer.concat(this.kept);
    const content = (this.truncated ? wholeLines(bytes) : bytes).toString('utf8');
    const end = this.first - 1 + countLines(content);
    return { content, start_line: this.first, end_line: end, total_lines: total, truncated: this.truncated };
  }

  private isWanted(): boolean {
    return this.line >= this.first && this.line <= this.last;
  }

  private keep(bytes: Buffer): void {
    const fitting = bytes.subarray(0, this.maxBytes - this.keptBytes);
    if (fitting.byteLength < bytes.byteLength) this.truncated = true;
    this.keptBytes += fitting.byteLength;
    if (fitting.byteLength > 0) this.kept.push(Buffer.from(fitting));
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

function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++;
  return text === '' || text.endsWith('\n') ? lines : lines + 1;
}
