import { Invalid } from '../errors/index.js';

/** Deeper than any request of this API, and shallow enough for every recursive reader of what was parsed. */
const MAX_DEPTH = 100;
/** Objects, lists and what they hold. To parse this many takes some milliseconds, of many more it would take seconds. */
const MAX_VALUES = 100_000;
/** Names of fields. Each costs many times as much as a value: a large object is a table, and names are kept for good. */
const MAX_KEYS = 20_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
/** `[` and `{`, `]` and `}` differ in one bit only. */
const CASE_BIT = 0x20;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * Watches a JSON text go by in pieces, and throws Invalid as soon as it would be too costly to parse: nested too deeply, or
 * made of too many values or fields. Says nothing of whether the text is valid.
 */
export class JsonMeter {
  private depth = 0;
  private values = 0;
  private keys = 0;
  private inText = false;
  /** The piece before ended in a backslash that escapes what comes now. */
  private escapes = false;

  take(piece: Uint8Array): void {
    let { depth, values, keys, inText } = this;
    let at = this.escapes ? 1 : 0;
    for (; at < piece.length; at++) {
      const byte = piece[at] as number;
      if (inText) {
        if (byte === BACKSLASH) at++;
        else if (byte === QUOTE) inText = false;
      } else if (byte === QUOTE) inText = true;
      else if (byte === COMMA) values++;
      else if (byte === COLON) keys++;
      else if ((byte | CASE_BIT) === OPEN) {
        values++;
        if (++depth > MAX_DEPTH) throw new Invalid(`The body is nested more than ${MAX_DEPTH} deep`);
      } else if ((byte | CASE_BIT) === CLOSE) depth--;
    }
    if (values > MAX_VALUES) throw new Invalid(`The body has more than ${MAX_VALUES} values`);
    if (keys > MAX_KEYS) throw new Invalid(`The body has more than ${MAX_KEYS} fields`);
    this.escapes = at > piece.length;
    this.depth = depth;
    this.values = values;
    this.keys = keys;
    this.inText = inText;
  }
}
