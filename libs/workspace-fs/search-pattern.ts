import { RE2JS, RE2JSException } from 're2js';

/** Where something matches, in UTF-16 units: start, and end (exclusive). */
export type Span = readonly [start: number, end: number];

/** What a search looks for. */
export interface SearchPattern {
  /** False if these bytes certainly hold no match: saves decoding them. */
  mayMatch(bytes: Buffer): boolean;
  /** Every match in order; null now and then while there is none, for the caller to let others work. */
  spans(text: string): Iterable<Span | null>;
}

/** A regular expression that RE2 does not know: its message says what is wrong with it. */
export class PatternError extends Error {}

export interface PatternOptions {
  query: string;
  /** The query is a regular expression (RE2 syntax), matched line by line. */
  regex?: boolean;
  /** Default false. */
  case_sensitive?: boolean;
}

/** @throws PatternError */
export function patternOf({ query, regex, case_sensitive = false }: PatternOptions): SearchPattern {
  return regex ? new RegexPattern(query, case_sensitive) : new LiteralPattern(query, case_sensitive);
}

class LiteralPattern implements SearchPattern {
  private readonly pattern: RegExp;
  private readonly bytes: Buffer | null;

  constructor(query: string, caseSensitive: boolean) {
    this.pattern = new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), caseSensitive ? 'gu' : 'giu');
    this.bytes = caseSensitive ? Buffer.from(query) : null;
  }

  mayMatch(bytes: Buffer): boolean {
    return this.bytes === null || bytes.includes(this.bytes);
  }

  *spans(text: string): Iterable<Span> {
    for (const match of text.matchAll(this.pattern)) yield [match.index, match.index + match[0].length];
  }
}

/** Of a longer line, only so many characters are searched: a line is matched in one go. */
const MOST_OF_LINE = 64 * 1024;
const PAUSE_AFTER = 128 * 1024;

/** Matches in time proportional to the text, whatever the expression. */
class RegexPattern implements SearchPattern {
  private readonly pattern: RE2JS;

  constructor(query: string, caseSensitive: boolean) {
    try {
      this.pattern = RE2JS.compile(query, caseSensitive ? 0 : RE2JS.CASE_INSENSITIVE);
    } catch (error) {
      if (!(error instanceof RE2JSException)) throw error;
      throw new PatternError(`The regular expression cannot be used: ${error.message}`, { cause: error });
    }
  }

  mayMatch(): boolean {
    return true;
  }

  *spans(text: string): Iterable<Span | null> {
    let pauseAt = PAUSE_AFTER;
    for (let start = 0; start < text.length; ) {
      const newline = text.indexOf('\n', start);
      const end = newline === -1 ? text.length : newline;
      yield* this.inLine(text, start, text[end - 1] === '\r' && end > start ? end - 1 : end);
      start = end + 1;
      if (start < pauseAt) continue;
      yield null;
      pauseAt = start + PAUSE_AFTER;
    }
  }

  private *inLine(text: string, start: number, end: number): Iterable<Span> {
    const matcher = this.pattern.matcher(text.slice(start, Math.min(end, start + MOST_OF_LINE)));
    while (matcher.find()) yield [start + matcher.start(), start + matcher.end()];
  }
}
