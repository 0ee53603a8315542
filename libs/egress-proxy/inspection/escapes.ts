/** Named characters of HTML that keys and passwords may have. */
const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  sol: '/',
  bsol: '\\',
  plus: '+',
  equals: '=',
  num: '#',
  colon: ':',
  semi: ';',
  comma: ',',
  period: '.',
  excl: '!',
  quest: '?',
  commat: '@',
  dollar: '$',
  percnt: '%',
  lpar: '(',
  rpar: ')',
  lsqb: '[',
  lbrack: '[',
  rsqb: ']',
  rbrack: ']',
  lcub: '{',
  lbrace: '{',
  rcub: '}',
  rbrace: '}',
  ast: '*',
  midast: '*',
  hat: '^',
  lowbar: '_',
  underbar: '_',
  grave: '`',
  verbar: '|',
  vert: '|',
  nbsp: ' ',
  tab: '\t',
  newline: '\n',
};
const [PERCENT, AMPERSAND, BACKSLASH] = [0x25, 0x26, 0x5c];
/** Bytes that an escape begins with. */
export const ESCAPE_MARKS = [PERCENT, AMPERSAND, BACKSLASH];
/** Bytes of the longest escape that is read: an entity with zeros before its number. */
export const MAX_GROWTH = 16;
const PERCENT_ESCAPE = /^%([0-9a-f]{2})/i;
const BACKSLASH_ESCAPE = /^\\(?:u([0-9a-f]{4})|u\{0*([0-9a-f]{1,6})\}|x([0-9a-f]{2})|([/"'\\]))/i;
const ENTITY = /^&(?:#x0*([0-9a-f]{1,6})|#0*([0-9]{1,7})|([a-z]{2,8}));?/i;
/** The beginning of an escape, which the next bytes may complete. */
const BEGUN =
  /^(?:%[0-9a-f]?|\\(?:u(?:[0-9a-f]{0,3}|\{[0-9a-f]*)|x[0-9a-f]?)?|&(?:#(?:x[0-9a-f]*|[0-9]*)|[a-z]{0,8}))$/i;

/** One unit of a text: the bytes that it stands for, and its length; undefined where the text ends within it. */
type Unit = { readonly bytes: Buffer; readonly length: number } | undefined;

/** Whether bytes have anything that may be an escape. */
export const hasEscapes = (bytes: Buffer): boolean =>
  bytes.includes(PERCENT) || bytes.includes(BACKSLASH) || bytes.includes(AMPERSAND);

/** Decodes the escapes of URLs, JSON, JavaScript and HTML, once and wherever they are. */
export function unescaped(bytes: Buffer): Buffer {
  const decoded = Buffer.allocUnsafe(bytes.length);
  let [from, length] = [0, 0];
  for (let at = nextEscape(bytes, 0); at < bytes.length; at = nextEscape(bytes, at)) {
    const digits = bytes[at] === PERCENT ? hexOf(bytes[at + 1]) * 16 + hexOf(bytes[at + 2]) : Number.NaN;
    const unit = Number.isNaN(digits) ? escapeAt(bytes, at) : undefined;
    if (Number.isNaN(digits) && (!unit || unit.length === 1)) {
      at++;
      continue;
    }
    length += bytes.copy(decoded, length, from, at);
    if (unit) length += unit.bytes.copy(decoded, length);
    else decoded[length++] = digits;
    at += unit?.length ?? 3;
    from = at;
  }
  length += bytes.copy(decoded, length, from);
  return decoded.subarray(0, length);
}

/** Whether bytes from a position to their end may be the beginning of `form`, with or without escapes. */
export function mayBegin(bytes: Buffer, start: number, form: Buffer): boolean {
  let matched = 0;
  for (let at = start; at < bytes.length; ) {
    const byte = bytes[at];
    const unit = byte === form[matched] && !isMark(byte) ? undefined : escapeAt(bytes, at);
    if (unit === undefined && isMark(byte)) return true;
    const [read, length] = unit ? [unit.bytes, unit.length] : [bytes.subarray(at, at + 1), 1];
    if (matched + read.length > form.length || !form.subarray(matched, matched + read.length).equals(read))
      return false;
    matched += read.length;
    at += length;
    if (matched === form.length) return false;
  }
  return true;
}

const isMark = (byte: number | undefined): boolean =>
  byte === PERCENT || byte === AMPERSAND || byte === BACKSLASH;

function hexOf(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Number.NaN;
}

function nextEscape(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && !mayEscape(bytes[at], bytes[at + 1])) at++;
  return at;
}

/** Whether two bytes may begin an escape, which spares most others a closer look. */
function mayEscape(byte: number | undefined, next: number | undefined): boolean {
  if (!isMark(byte) || next === undefined) return false;
  const letter = next | 0x20;
  if (byte === PERCENT) return (next >= 0x30 && next <= 0x39) || (letter >= 0x61 && letter <= 0x66);
  if (byte === AMPERSAND) return next === 0x23 || (letter >= 0x61 && letter <= 0x7a);
  return letter === 0x75 || letter === 0x78 || [0x22, 0x27, 0x2f, BACKSLASH].includes(next);
}

/** The unit at a position; a mark that begins no escape stands for itself. */
function escapeAt(bytes: Buffer, at: number): Unit {
  const byte = bytes[at];
  const text = isMark(byte) ? bytes.toString('latin1', at, Math.min(at + MAX_GROWTH, bytes.length)) : '';
  if (text !== '' && at + text.length === bytes.length && BEGUN.test(text)) return undefined;
  return unitOf(text) ?? { bytes: bytes.subarray(at, at + 1), length: 1 };
}

function unitOf(text: string): Unit {
  const percent = PERCENT_ESCAPE.exec(text);
  if (percent) return { bytes: Buffer.from(percent[1] ?? '', 'hex'), length: 3 };
  const [whole, u, braced, x, itself] = BACKSLASH_ESCAPE.exec(text) ?? [];
  if (whole)
    return { bytes: itself ? Buffer.from(itself) : characterOf(u ?? braced ?? x), length: whole.length };
  const [entity, hex, decimal, name] = ENTITY.exec(text) ?? [];
  const named = name === undefined ? undefined : NAMED[name.toLowerCase()];
  if (!entity || (name !== undefined && named === undefined)) return undefined;
  const bytes = named === undefined ? characterOf(hex, decimal) : Buffer.from(named);
  return { bytes, length: entity.length };
}

function characterOf(hex: string | undefined, decimal = ''): Buffer {
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
  return Buffer.from(code <= 0x10ffff ? String.fromCodePoint(code) : '');
}
