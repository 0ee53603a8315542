import { RE2JS, RE2JSException } from 're2js';

/** Characters of a line that are shown, from its first match on. */
export const MAX_SHOWN = 500;

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

/** Characters of a text times characters of the query between two pauses: a few milliseconds, at worst. */
const MAX_COMPARED = 4 * 1024 * 1024;

class LiteralPattern implements SearchPattern {
  private readonly pattern: RegExp;
  private readonly length: number;
  /** Of a match: one letter may be two units where it is written the other way. */
  private readonly longest: number;
  private readonly bytes: Buffer | null;

  constructor(query: string, caseSensitive: boolean) {
    this.length = Math.max(1, query.length);
    this.longest = 2 * this.length;
    this.pattern = new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), caseSensitive ? 'gu' : 'giu');
    this.bytes = caseSensitive ? Buffer.from(query) : null;
  }

  mayMatch(bytes: Buffer): boolean {
    return this.bytes === null || bytes.includes(this.bytes);
  }

  /**
   * A part at a time, each with the beginning of the next one, so that a match across the border is found: text and query can
   * be made so alike that each place takes as long as the query.
   */
  *spans(text: string): Iterable<Span | null> {
    const step = Math.max(this.length, Math.floor(MAX_COMPARED / this.length));
    // It remembers where it is, and several texts are looked through in turns.
    const pattern = new RegExp(this.pattern);
    let next = 0;
    for (let start = 0; start < text.length; start += step) {
      const part = text.slice(start, start + step + this.longest);
      pattern.lastIndex = Math.max(0, next - start);
      for (let match = pattern.exec(part); match && match.index < step; match = pattern.exec(part)) {
        yield [start + match.index, start + match.index + match[0].length];
        next = start + pattern.lastIndex;
      }
      yield null;
    }
  }
}

/** Of a longer line, only so many characters are searched: a line is matched in one go. */
const MAX_LINE_LENGTH = 64 * 1024;
/** Characters times instructions of the program that the expression becomes: some milliseconds, at worst a few dozen. */
const MAX_STEPS = 1024 * 1024;
/** Of a larger program even a short line would take long. */
const MAX_PROGRAM = 2_000;

/** Matches in time proportional to the text, whatever the expression. */
class RegexPattern implements SearchPattern {
  private readonly pattern: RE2JS;
  private readonly mostOfLine: number;

  constructor(query: string, caseSensitive: boolean) {
    try {
      this.pattern = RE2JS.compile(query, caseSensitive ? 0 : RE2JS.CASE_INSENSITIVE);
      const size = this.pattern.programSize();
      if (size > MAX_PROGRAM)
        throw new PatternError('The regular expression is too large; repeat less in it');
      this.mostOfLine = Math.min(MAX_LINE_LENGTH, Math.floor(MAX_STEPS / size));
    } catch (error) {
      if (!(error instanceof RE2JSException)) throw error;
      throw new PatternError(`The regular expression cannot be used: ${error.message}`, { cause: error });
    }
  }

  mayMatch(): boolean {
    return true;
  }

  *spans(text: string): Iterable<Span | null> {
    let pauseAt = this.mostOfLine;
    for (let start = 0; start < text.length; ) {
      const newline = text.indexOf('\n', start);
      const end = newline === -1 ? text.length : newline;
      yield* this.inLine(text, start, text[end - 1] === '\r' && end > start ? end - 1 : end);
      start = end + 1;
      if (start < pauseAt) continue;
      yield null;
      pauseAt = start + this.mostOfLine;
    }
  }

  /** Each match may have to look through the whole line to find out that it is none other. */
  private *inLine(text: string, start: number, end: number): Iterable<Span | null> {
    const matcher = this.pattern.matcher(text.slice(start, Math.min(end, start + this.mostOfLine)));
    let shown: number | undefined;
    while (matcher.find()) {
      shown ??= matcher.start() + MAX_SHOWN;
      if (matcher.start() >= shown) return;
      yield [start + matcher.start(), start + matcher.end()];
      yield null;
    }
  }
}
