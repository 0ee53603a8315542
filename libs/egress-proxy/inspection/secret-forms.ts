import { ESCAPE_MARKS, hasEscapes, MAX_GROWTH, mayBegin, unescaped } from './escapes.js';

/** Shorter ones would be found in almost any text. */
const MIN_LENGTH = 6;

/**
 * The forms in which a server may send a secret back: as it is, in hexadecimal digits, in base64 (also as a part of something
 * longer, such as `user:password`), in UTF-16; each with or without the escapes of URLs, JSON and HTML.
 */
export class SecretForms {
  private readonly forms: readonly Buffer[];
  private readonly longest: number;
  /** 1 for each byte that a form may begin with. */
  private readonly starts = new Uint8Array(256);

  constructor(secrets: readonly string[]) {
    const kept = new Set(secrets.filter(secret => secret.length >= MIN_LENGTH));
    // What holds another secret is found by that.
    const least = [...kept].filter(one => ![...kept].some(other => other !== one && one.includes(other)));
    const forms = new Map(least.flatMap(formsOf).map(form => [form.toString('latin1'), form]));
    this.forms = [...forms.values()];
    this.longest = Math.max(0, ...this.forms.map(form => form.length));
    for (const byte of [...ESCAPE_MARKS, ...this.forms.map(form => form[0] ?? 0)]) this.starts[byte] = 1;
  }

  isIn(bytes: Buffer): boolean {
    if (this.forms.some(form => bytes.includes(form))) return true;
    if (!hasEscapes(bytes)) return false;
    const plain = unescaped(bytes);
    return plain.length < bytes.length && this.forms.some(form => plain.includes(form));
  }

  /** How many bytes at the end may be the beginning of a form. */
  begunAt(bytes: Buffer): number {
    const escaped = bytes.subarray(Math.max(0, bytes.length - this.longest * MAX_GROWTH));
    const window = hasEscapes(escaped) ? escaped.length : Math.min(this.longest, bytes.length);
    for (let at = bytes.length - window; at < bytes.length; at++)
      if (this.starts[bytes[at] ?? 0] && this.forms.some(form => mayBegin(bytes, at, form)))
        return bytes.length - at;
    return 0;
  }
}

function formsOf(secret: string): Buffer[] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString('hex');
  const wide = Buffer.from(secret, 'utf16le');
  const texts = [secret, secret.replaceAll(' ', '+'), hex, hex.toUpperCase(), ...base64Of(bytes)];
  return [...texts.map(text => Buffer.from(text)), wide, Buffer.from(wide).swap16()];
}

/** What base64 of anything that holds the bytes has, at each of three offsets, in both alphabets. */
function base64Of(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap(offset => {
    const all = Buffer.concat([Buffer.alloc(offset), bytes]);
    // The first and last digits also depend on the bytes around.
    const digits = all
      .toString('base64')
      .slice(Math.ceil((offset * 8) / 6), Math.floor((all.length * 8) / 6));
    return [digits, digits.replaceAll('+', '-').replaceAll('/', '_')];
  });
}
