/** A patch that makes no sense: the message says where and why. */
export class PatchError extends Error {}

export interface HunkLine {
  readonly sign: ' ' | '+' | '-';
  readonly text: string;
}

/** One place of a file that changes. */
export interface Hunk {
  /** Of its file, from 1. */
  readonly number: number;
  /** The line of the patch that it begins with, from 1. */
  readonly line: number;
  /** Lines that come before it, in this order: `@@ class Heron`. */
  readonly anchors: readonly string[];
  /** The line of the file that it was made for, from 1, where the patch says so. */
  readonly expected?: number;
  readonly lines: readonly HunkLine[];
  /** It reaches to the end of the file. */
  readonly isAtEnd: boolean;
  /** What becomes of the end of the file: it gets a line end, or has none; absent: as it was. */
  readonly endsWithNewline?: boolean;
}

/** What becomes of one file. */
export type FilePatch =
  | { readonly kind: 'add'; readonly path: string; readonly line: number; readonly text: string }
  | { readonly kind: 'delete'; readonly path: string; readonly line: number }
  | {
      readonly kind: 'update';
      readonly path: string;
      readonly line: number;
      /** Its new path. */
      readonly to?: string;
      readonly hunks: readonly Hunk[];
    };

/** Of a patch; more than a person or a model writes. */
export const MAX_PATCHED_FILES = 100;
export const MAX_HUNKS = 1000;

/** The lines of a patch, read one after the other. */
export class PatchLines {
  private readonly lines: readonly string[];
  /** For each line, the first from there on that is not blank. */
  private readonly filled: Int32Array;
  private at = 0;

  constructor(patch: string) {
    const lines = patch.split('\n');
    // A patch whose own lines all end in CR LF was written that way: it says nothing of the files.
    const isCrLf = lines.length > 1 && lines.slice(0, -1).every(line => line.endsWith('\r'));
    this.lines = isCrLf ? lines.map(line => line.replace(/\r$/, '')) : lines;
    this.filled = new Int32Array(this.lines.length);
    let next = this.lines.length;
    for (let at = this.lines.length - 1; at >= 0; at--) {
      if (this.lines[at]?.trim() !== '') next = at;
      this.filled[at] = next;
    }
  }

  /** The number of the next line, from 1. */
  get number(): number {
    return this.at + 1;
  }

  get isOver(): boolean {
    return this.at >= this.lines.length;
  }

  /** A line that is still to come; undefined after the last. */
  peek(ahead = 0): string | undefined {
    return this.lines[this.at + ahead];
  }

  /** The first line to come that is not blank; undefined where there is none. */
  peekFilled(): string | undefined {
    return this.lines[this.filled[this.at] ?? this.lines.length];
  }

  next(): string {
    return this.lines[this.at++] ?? '';
  }
}
