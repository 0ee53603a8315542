import { isExactNumber, toDouble } from '#libs/exact-json/index.js';
import { type FieldSpec, fieldsOf, type Shape } from './field.js';

const HIDDEN = '[hidden]';
const SECRET_NAME =
  /(^|_)(password|passphrase|secret|token|api_key|private_key|credentials?|authorization|cookie)$/i;
const MAX_TEXT = 2_000;
const MAX_BYTES = 16_384;
const MAX_DEPTH = 32;
/** More than these take more bytes than are shown, whatever they are. */
const MAX_VALUES = 8_192;

/**
 * A value as a record of it may show it: without what its shape marks as secret or what is named like one, with long
 * texts cut. Of what is too large even so only the size is kept.
 */
export function redact(shape: Shape | null, value: unknown): unknown {
  const redaction = new Redaction();
  const shown = redaction.of(shape, value, 0);
  if (redaction.isTooLarge) return { left_out: `more than ${MAX_VALUES} values` };
  const bytes = Buffer.byteLength(JSON.stringify(shown) ?? '');
  return bytes > MAX_BYTES ? { left_out: `${bytes} bytes` } : shown;
}

/** A value as a person may read it who decides about it: all of it but what its shape marks as secret or what is named like one. */
export const withoutSecrets = (shape: Shape | null, value: unknown): unknown =>
  new Redaction(storableText, Number.POSITIVE_INFINITY).of(shape, value, 0);

/** Of one value; looks at no more of it than can be shown. */
class Redaction {
  private values = 0;

  constructor(
    private readonly text: (text: string) => string = cutText,
    private readonly maxValues: number = MAX_VALUES,
  ) {}

  get isTooLarge(): boolean {
    return this.values > this.maxValues;
  }

  of(shape: Shape | null, value: unknown, depth: number): unknown {
    this.values++;
    if (typeof value === 'string') return this.text(value);
    if (typeof value !== 'object' || value === null || isExactNumber(value)) return value;
    if (value instanceof Date) return value.toISOString();
    if (depth > MAX_DEPTH) return '…';
    if (Array.isArray(value)) return this.few(value).map(item => this.of(shape, item, depth + 1));
    const fields = shape ? fieldsOf(shape) : new Map<string, FieldSpec>();
    return Object.fromEntries(
      this.few(Object.entries(value)).map(([name, inner]) => {
        const spec = fields.get(name);
        const hides = inner !== null && inner !== undefined && isSecret(name, spec, inner);
        return [this.text(name), hides ? HIDDEN : this.of(spec?.shape?.() ?? null, inner, depth + 1)];
      }),
    );
  }

  /** Those of a list or an object that are looked at: none where there are too many to show any. */
  private few<T>(items: readonly T[]): readonly T[] {
    if (this.values + items.length <= this.maxValues) return items;
    this.values = this.maxValues + 1;
    return [];
  }
}

/** The name alone decides for text only: `token: 3` is a count. */
function isSecret(name: string, spec: FieldSpec | undefined, value: unknown): boolean {
  return (
    spec?.secret === true ||
    (SECRET_NAME.test(name) && !['number', 'boolean'].includes(typeof toDouble(value)))
  );
}

/** Text that every database and encoder takes: well formed, without NUL characters. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}

/** A text as a record of it may show it: not too long, and storable. */
export function cutText(text: string): string {
  if (text.length <= MAX_TEXT) return storableText(text);
  return `${storableText(text.slice(0, MAX_TEXT))}… (${text.length - MAX_TEXT} characters more)`;
}
