const SHOWN = '***';
/** Shorter texts are in much that is no secret. */
const LEAST = 4;
/** Longer ones are looked for in pieces, so that little of what a script prints is held back. */
const PIECE = 512;
/** Secrets that overlap without end, such as `aaaa`, hold no more back. */
const MAX_HELD = 4 * PIECE;

/**
 * Withholds secrets in a text that comes in pieces: as they are, line by line, and as JSON, URLs, base64 and hexadecimal
 * digits have them. What a script encodes otherwise cannot be recognized.
 */
export class SecretMask {
  private readonly forms: readonly string[];
  /** The end of what came, which may be the beginning of a secret. */
  private held = '';

  constructor(secrets: Iterable<string>) {
    this.forms = [...new Set([...secrets].flatMap(formsOf).flatMap(piecesOf))];
  }

  /** Returns what may be shown of the text so far. */
  add(text: string): string {
    if (this.forms.length === 0) return text;
    const all = this.held + text;
    const end = this.endOfCertain(all);
    this.held = all.slice(end);
    return this.mask(all.slice(0, end));
  }

  /** Returns the rest, when nothing more comes. */
  end(): string {
    const rest = this.mask(this.held);
    this.held = '';
    return rest;
  }

  private mask(text: string): string {
    const found: [from: number, to: number][] = [];
    for (const form of this.forms)
      for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + 1))
        found.push([at, at + form.length]);
    let masked = '';
    let end = 0;
    for (const [from, to] of found.sort(([a], [b]) => a - b)) {
      // What overlaps or adjoins the one before is a part of it.
      if (from > end || end === 0) masked += `${text.slice(end, from)}${SHOWN}`;
      end = Math.max(end, to);
    }
    return masked + text.slice(end);
  }

  /** Up to where no secret reaches that may go on behind the text. */
  private endOfCertain(text: string): number {
    let end = text.length - this.heldLength(text);
    for (let before = text.length; end < before; ) {
      before = end;
      for (const form of this.forms) {
        const at = end > 0 ? text.lastIndexOf(form, end - 1) : -1;
        if (at >= 0 && at + form.length > end) end = at;
      }
    }
    return text.length - end > MAX_HELD ? text.length : end;
  }

  /** How many characters at the end of a text begin a secret. */
  private heldLength(text: string): number {
    let longest = 0;
    for (const form of this.forms) {
      const from = Math.max(0, text.length - form.length + 1);
      for (
        let at = text.indexOf(form[0] as string, from);
        at >= 0;
        at = text.indexOf(form[0] as string, at + 1)
      )
        if (form.startsWith(text.slice(at))) {
          longest = Math.max(longest, text.length - at);
          break;
        }
    }
    return longest;
  }
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const base64 = bytes.toString('base64');
  const hex = bytes.toString('hex');
  return [
    secret,
    ...secret.split(/\r?\n/),
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    base64,
    base64.replace(/=+$/, ''),
    bytes.toString('base64url'),
    hex,
    hex.toUpperCase(),
  ]
    .map(form => form.trim())
    .filter(form => form.length >= LEAST);
}

function piecesOf(form: string): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < form.length; at += PIECE) pieces.push(form.slice(at, at + PIECE));
  const last = pieces.at(-1) as string;
  if (pieces.length > 1 && last.length < LEAST) pieces.splice(-2, 2, `${pieces.at(-2)}${last}`);
  return pieces;
}
