import { FieldSpec, fieldsOf, Shape } from '../http/field.js';

const HIDDEN = '[hidden]';
const SECRET_NAME =
  /(^|_)(password|passphrase|secret|token|api_key|private_key|credentials?|authorization|cookie)$/i;
const MOST_TEXT = 2_000;
const MOST_BYTES = 16_384;
const MOST_DEPTH = 32;

/**
 * A value as a record of it may show it: without what its shape marks as secret or what is named like one, with long
 * texts cut. What is too large even so is told by its size alone.
 */
export function redact(shape: Shape | null, value: unknown): unknown {
  const shown = redactValue(shape, value, 0);
  const bytes = Buffer.byteLength(JSON.stringify(shown) ?? '');
  return bytes > MOST_BYTES ? { left_out: `${bytes} bytes` } : shown;
}

function redactValue(shape: Shape | null, value: unknown, depth: number): unknown {
  if (typeof value === 'string') return cutText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return value.toISOString();
  if (depth > MOST_DEPTH) return '…';
  if (Array.isArray(value)) return value.map(item => redactValue(shape, item, depth + 1));
  const fields = shape ? fieldsOf(shape) : new Map<string, FieldSpec>();
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const spec = fields.get(name);
      const hides = inner !== null && inner !== undefined && isSecret(name, spec, inner);
      return [storable(name), hides ? HIDDEN : redactValue(spec?.shape?.() ?? null, inner, depth + 1)];
    }),
  );
}

/** The name alone decides for text only: `token: 3` is a count. */
function isSecret(name: string, spec: FieldSpec | undefined, value: unknown): boolean {
  return (
    spec?.secret === true ||
    (SECRET_NAME.test(name) && typeof value !== 'number' && typeof value !== 'boolean')
  );
}

/** A text as a record of it may show it: not too long, and as jsonb can hold it. */
export function cutText(text: string): string {
  if (text.length <= MOST_TEXT) return storable(text);
  return `${storable(text.slice(0, MOST_TEXT))}… (${text.length - MOST_TEXT} characters more)`;
}

/** A text as jsonb can hold it: without NUL characters and lone surrogates. */
export const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd');
