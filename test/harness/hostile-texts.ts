/** Texts that cost the most for their length somewhere: in an expression, an encoder, a parser, a database. */
const UNITS: Readonly<Record<string, string>> = {
  letters: 'a',
  spaces: ' ',
  'line ends': '\n',
  'line ends of two characters': '\r\n',
  addresses: 'a@',
  'dotted letters': 'a.',
  dots: '.',
  hyphens: 'a-',
  'climbing paths': '../',
  'deep paths': 'a/',
  stars: '*',
  'globs across folders': '**/',
  braces: '{a,b}',
  groups: '(a|',
  'repeated groups': '(a*)*',
  brackets: '[',
  images: '![',
  backslashes: '\\',
  quotes: '"',
  escapes: '%2e',
  digits: '1',
  times: '1:',
  emoji: '😀',
  'combining marks': '\u0301',
  'letters that grow': 'ŉİ',
  controls: '\u0001',
  tags: '<a ',
  commas: ',',
  assignments: 'a=b; ',
  'halves of pairs': '\ud800',
};

export const HOSTILE_KINDS: readonly string[] = Object.keys(UNITS);

/** A text of `characters` (code points) of a kind, with another character at its end, so that what nearly matches fails late. */
export function hostileText(kind: string, characters: number): string {
  const unit = UNITS[kind] ?? kind;
  const perUnit = [...unit].length;
  return `${unit.repeat(Math.max(0, Math.floor((characters - 1) / perUnit)))}${characters > 0 ? '!' : ''}`;
}

/** As long as fits into `bytes` in a given encoding, and has no more than `characters`. */
export function fittingText(
  kind: string,
  characters: number,
  bytes: number,
  sizeOf: (text: string) => number,
): string {
  const sample = hostileText(kind, 1001);
  const most = Math.floor((bytes / sizeOf(sample)) * 1000);
  return hostileText(kind, Math.max(1, Math.min(characters, most)));
}

const lists = (count: number) => Array.from({ length: count }, () => []);
const nested = (depth: number, wrap: (inner: unknown) => unknown) => {
  let value: unknown = 0;
  for (let n = 0; n < depth; n++) value = wrap(value);
  return value;
};
const keyed = (count: number, keyOf: (n: number) => string, value: unknown = 0) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [keyOf(n), value]));

/** JSON objects that cost the most where any is taken: as deep, as wide and as long as it may be. */
export const HOSTILE_OBJECTS: Readonly<Record<string, () => object>> = {
  'many lists': () => ({ a: lists(90_000) }),
  'many keys': () => keyed(90_000, n => `k${n}`),
  'many numbers as keys': () => keyed(90_000, n => `${n * 7}`),
  'long keys': () => keyed(900, n => `${n}${'k'.repeat(15_000)}`),
  'lists in lists': () => ({ a: nested(60, inner => [inner]) }),
  'wide lists in lists': () => ({ a: nested(60, inner => [...lists(1400), inner]) }),
  'objects in objects': () => nested(60, inner => ({ a: inner })) as object,
  'a long text': () => ({ a: 'a'.repeat(15_000_000) }),
  'many texts': () => ({ a: Array.from({ length: 90_000 }, (_, n) => `${n}${'é'.repeat(60)}`) }),
};

/** JSON Schemas that cost the most to compile, and to check an answer by. */
export const HOSTILE_SCHEMAS: Readonly<Record<string, () => object>> = {
  'a pattern that goes back': () => ({
    type: 'object',
    properties: { a: { type: 'string', pattern: '^(a+)+$' } },
  }),
  'a long pattern': () => ({
    type: 'object',
    properties: { a: { type: 'string', pattern: '(a{0,30}){0,30}'.repeat(2000) } },
  }),
  'many patterns': () => ({
    type: 'object',
    properties: keyed(2000, n => `p${n}`, { type: 'string', pattern: '(a|b)*c{1,50}' }),
  }),
  'many properties': () => ({ type: 'object', properties: keyed(20_000, n => `p${n}`, { type: 'string' }) }),
  'many values': () => ({
    type: 'object',
    properties: { a: { enum: Array.from({ length: 80_000 }, (_, n) => n) } },
  }),
  'many required fields': () => ({
    type: 'object',
    required: Array.from({ length: 80_000 }, (_, n) => `${n}`),
  }),
  'schemas in schemas': () =>
    nested(28, inner => ({ type: 'object', properties: { a: inner || { type: 'string' } } })) as object,
  'alternatives in alternatives': () =>
    nested(12, inner => ({
      type: 'object',
      anyOf: [inner || {}, inner || {}, inner || {}].slice(0, 2),
    })) as object,
  'references to itself': () => ({
    type: 'object',
    $defs: keyed(500, n => `d${n}`, { allOf: [{ $ref: '#' }, { $ref: '#' }] }),
    allOf: Array.from({ length: 500 }, (_, n) => ({ $ref: `#/$defs/d${n}` })),
  }),
};
