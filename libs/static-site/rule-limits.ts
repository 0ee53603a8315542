import type { Finding } from './finding.js';

/** Rules of a file: those for one path, and those with placeholders or a star. */
export const MAX_FIXED_RULES = 2000;
export const MAX_PATTERN_RULES = 100;

/** Characters of one line. */
export const MAX_LINE_CHARACTERS = 1000;

/** Characters of `_headers` or `_redirects`: what is behind them is not read. */
const MAX_TEXT_CHARACTERS = 4 * 1024 * 1024;

export interface Line {
  /** From 1. */
  number: number;
  /** Without white space around it, and without a comment. */
  text: string;
}

/** The lines that say something, one after the other; what is too long becomes a finding. */
export function* linesOf(file: string, text: string, findings: Finding[]): Generator<Line> {
  if (text.length > MAX_TEXT_CHARACTERS)
    findings.push({
      level: 'error',
      file,
      message: `Only the first ${MAX_TEXT_CHARACTERS} characters are read.`,
    });
  let number = 0;
  let start = text.startsWith('\ufeff') ? 1 : 0;
  while (start < Math.min(text.length, MAX_TEXT_CHARACTERS)) {
    const found = text.indexOf('\n', start);
    const end = found < 0 ? text.length : found;
    number++;
    const line = text.slice(start, Math.min(end, start + MAX_LINE_CHARACTERS + 2)).trim();
    start = end + 1;
    if (line === '' || line.startsWith('#')) continue;
    if (line.length > MAX_LINE_CHARACTERS)
      findings.push({
        level: 'error',
        file,
        line: number,
        message: `The line is longer than ${MAX_LINE_CHARACTERS} characters.`,
      });
    else yield { number, text: line };
  }
}

/** Counts rules, and says once of each kind when there are too many. */
export class RuleCount {
  readonly #file: string;
  readonly #findings: Finding[];
  #fixed = 0;
  #patterns = 0;

  constructor(file: string, findings: Finding[]) {
    this.#file = file;
    this.#findings = findings;
  }

  /** Whether there is room for one more. */
  admits(isFixed: boolean, line: number): boolean {
    const count = isFixed ? ++this.#fixed : ++this.#patterns;
    const most = isFixed ? MAX_FIXED_RULES : MAX_PATTERN_RULES;
    if (count === most + 1)
      this.#findings.push({
        level: 'error',
        file: this.#file,
        line,
        message: isFixed
          ? `There are more than ${most} rules: those from this line on are ignored.`
          : `There are more than ${most} rules with placeholders or *: those from this line on are ignored.`,
      });
    return count <= most;
  }
}

/** A decoded path of a rule, in NFC; undefined where it cannot be one. */
export function decodedRulePath(path: string): string | undefined {
  try {
    const decoded = decodeURIComponent(path).normalize('NFC');
    const isPlain = decoded.startsWith('/') && !decoded.includes('//') && !decoded.includes('\\');
    return isPlain && !decoded.split('/').some(part => part === '.' || part === '..') ? decoded : undefined;
  } catch {
    return undefined;
  }
}

/** The host and the path of a rule that begins with `https://` or `http://`; of others, the path alone. */
export function splitHost(from: string): { host?: string; path: string } {
  const match = /^https?:\/\/([^/]+)(\/.*)?$/i.exec(from);
  if (!match) return { path: from };
  return { host: (match[1] ?? '').toLowerCase(), path: match[2] ?? '/' };
}
