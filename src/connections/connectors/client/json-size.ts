export class TooComplex extends Error {}

const MAX_VALUES = 50_000;
const MAX_DEPTH = 64;

const [QUOTE, COMMA, BACKSLASH] = [34, 44, 92];
const [LIST, LIST_END, OBJECT, OBJECT_END] = [91, 93, 123, 125];

/**
 * Counts the values and levels of JSON before anything parses it, piece by piece: millions of small values in a text that is
 * not long would keep the event loop for seconds. Throws {@link TooComplex}.
 */
export class JsonSize {
  private values = 0;
  private depth = 0;

  /** No string goes on from one piece to the next. */
  add(text: string): void {
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code <= 32) continue;
      if (code === QUOTE) at = endOfString(text, at);
      else if (code === COMMA) this.count(0);
      else if (code === LIST || code === OBJECT) this.count(1);
      else if (code === LIST_END || code === OBJECT_END) this.depth--;
    }
  }

  /** What comes next is a value of its own. */
  reset(): void {
    this.values = 0;
    this.depth = 0;
  }

  private count(levels: number): void {
    this.values++;
    this.depth += levels;
    if (this.values > MAX_VALUES) throw new TooComplex(`The answer holds more than ${MAX_VALUES} values`);
    if (this.depth > MAX_DEPTH) throw new TooComplex(`The answer is nested deeper than ${MAX_DEPTH} levels`);
  }
}

/** The place of the quote that ends the string which begins at `start`. */
function endOfString(text: string, start: number): number {
  let at = text.indexOf('"', start + 1);
  while (at >= 0 && text.charCodeAt(at - 1) === BACKSLASH) {
    let escapes = 1;
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return at;
    at = text.indexOf('"', at + 1);
  }
  return at < 0 ? text.length : at;
}
