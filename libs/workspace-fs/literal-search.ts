const MAX_SHOWN = 500;
const SHOWN_BEFORE = 200;

export interface LineMatch {
  /** From 1. */
  line: number;
  /** The line without its end; of a long one, the part around the match. */
  text: string;
  /** Where the match starts and ends in `text`, in UTF-16 units. */
  start: number;
  end: number;
}

/** Finds literal text, line by line, in time proportional to the text. */
export class LiteralSearch {
  private readonly pattern: RegExp;
  private readonly bytes: Buffer | null;

  constructor(query: string, caseSensitive: boolean) {
    this.pattern = new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), caseSensitive ? 'gu' : 'giu');
    this.bytes = caseSensitive ? Buffer.from(query) : null;
  }

  /** False if these bytes certainly hold no match: saves decoding them. */
  mayMatch(bytes: Buffer): boolean {
    return this.bytes === null || bytes.includes(this.bytes);
  }

  matchesIn(text: string, limit: number): LineMatch[] {
    const matches: LineMatch[] = [];
    let line = 1;
    let lineStart = 0;
    let lineEnd = endOfLine(text, 0);
    for (const match of text.matchAll(this.pattern)) {
      if (matches.length === limit) break;
      while (lineEnd < match.index) {
        line++;
        lineStart = lineEnd + 1;
        lineEnd = endOfLine(text, lineStart);
      }
      matches.push({ line, ...excerpt(text, lineStart, match.index, match.index + match[0].length) });
    }
    return matches;
  }
}

function excerpt(text: string, lineStart: number, start: number, end: number): Omit<LineMatch, 'line'> {
  let from = Math.max(lineStart, start - SHOWN_BEFORE);
  if (from > lineStart && isLowSurrogate(text.charCodeAt(from))) from++;
  const window = text.slice(from, Math.max(end, from + MAX_SHOWN));
  const lineEnd = window.indexOf('\n', Math.max(start, end - 1) - from);
  const shown = (lineEnd === -1 ? window : window.slice(0, lineEnd)).replace(/\r$|[\uD800-\uDBFF]$/, '');
  return { text: shown, start: start - from, end: Math.min(end - from, shown.length) };
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
