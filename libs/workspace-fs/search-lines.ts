import { MAX_SHOWN, type Span } from './search-pattern.js';

const SHOWN_BEFORE = 200;

/** A line in which something matches. */
export interface LineMatch {
  /** From 1. */
  line: number;
  /** The line without its end; of a long one, the part around the first match. */
  excerpt: string;
  /** Where `excerpt` matches: starts and ends (exclusive), in UTF-16 units. */
  ranges: Span[];
  /** The lines before and after it, where they were asked for; of long ones the beginning. */
  before?: string[];
  after?: string[];
}

/** Puts matches together by the line that they start in, with so many lines around it. Passes on each null. */
export function* linesWith(
  text: string,
  spans: Iterable<Span | null>,
  context = 0,
): Generator<LineMatch | null> {
  let line = 1;
  let lineStart = 0;
  let lineEnd = endOfLine(text, 0);
  let inLine: Span[] = [];
  for (const span of spans) {
    if (span === null) {
      yield null;
      continue;
    }
    if (span[0] > lineEnd && inLine.length > 0) {
      yield { line, ...excerptOf(text, lineStart, inLine), ...around(text, lineStart, inLine, context) };
      inLine = [];
    }
    while (lineEnd < span[0]) {
      line++;
      lineStart = lineEnd + 1;
      lineEnd = endOfLine(text, lineStart);
    }
    if (span[0] < (inLine[0]?.[0] ?? span[0]) + MAX_SHOWN) inLine.push(span);
  }
  if (inLine.length > 0)
    yield { line, ...excerptOf(text, lineStart, inLine), ...around(text, lineStart, inLine, context) };
}

function excerptOf(text: string, lineStart: number, spans: Span[]): Omit<LineMatch, 'line'> {
  const [start, end] = spans[0] ?? [lineStart, lineStart];
  let from = Math.max(lineStart, start - SHOWN_BEFORE);
  if (from > lineStart && isLowSurrogate(text.charCodeAt(from))) from++;
  const window = text.slice(from, Math.max(end, from + MAX_SHOWN));
  const lineEnd = window.indexOf('\n', Math.max(start, end - 1) - from);
  const excerpt = (lineEnd === -1 ? window : window.slice(0, lineEnd)).replace(/\r$|[\uD800-\uDBFF]$/, '');
  const shown = spans.map(([a, b]): Span => [a - from, Math.min(b - from, excerpt.length)]);
  return { excerpt, ranges: shown.filter(([a], at) => at === 0 || a < excerpt.length) };
}

function around(
  text: string,
  lineStart: number,
  spans: Span[],
  context: number,
): Pick<LineMatch, 'before' | 'after'> {
  if (context === 0) return {};
  const before: string[] = [];
  for (let end = lineStart - 1; end >= 0 && before.length < context; ) {
    const start = end === 0 ? 0 : text.lastIndexOf('\n', end - 1) + 1;
    before.unshift(beginning(text, start, end));
    end = start - 1;
  }
  const after: string[] = [];
  const lastEnd = Math.max(lineStart, (spans.at(-1)?.[1] ?? lineStart) - 1);
  for (let start = endOfLine(text, lastEnd) + 1; start < text.length && after.length < context; ) {
    const end = endOfLine(text, start);
    after.push(beginning(text, start, end));
    start = end + 1;
  }
  return { before, after };
}

function beginning(text: string, start: number, end: number): string {
  return text
    .slice(start, Math.min(end, start + MAX_SHOWN))
    .replace(/\r$/, '')
    .toWellFormed();
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
