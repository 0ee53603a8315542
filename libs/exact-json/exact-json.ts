/** A number of a JSON text that no double is equal to. `JSON.stringify` writes it as it was read. */
export interface ExactNumber {
  readonly rawJSON: string;
}

/** Source text access of ECMAScript 2026, which Node.js has and the library of TypeScript has not. */
interface SourceText {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): ExactNumber;
  isRawJSON(value: unknown): value is ExactNumber;
}
const json = JSON as unknown as SourceText;

/** Digits of a number when it is written out. Databases hold more, and `1e999999` would be a megabyte there. */
const MAX_DIGITS = 1_000;
/** What a text has that has a number that may not be a double: sixteen digits, or an exponent of three. */
const SUSPECT = /[\d.]{16}|\d[eE][+-]?\d{3}/;
const NUMBER = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * As `JSON.parse`, but that a number that no double is equal to becomes an {@link ExactNumber}, so that it is written again with all
 * its digits. Throws SyntaxError, also for a number of more than 1,000 digits.
 */
export function parseJson(text: string): unknown {
  if (!SUSPECT.test(text)) return JSON.parse(text);
  return json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? numberOf(value, source) : value,
  );
}

export const isExactNumber = (value: unknown): value is ExactNumber => json.isRawJSON(value);

/** The number that a text has as JSON writes it, with all its digits; else `otherwise`. */
export function exactNumber(text: string, otherwise: number): number | ExactNumber {
  if (!NUMBER.test(text)) return otherwise;
  try {
    const read = parseJson(text);
    return isExactNumber(read) ? read : otherwise;
  } catch {
    return otherwise; // It has zeros in front, or too many digits.
  }
}

/**
 * A JSON text in which each number that is no double is a string behind `mark`, for a parser that is not ours; {@link unmarked} makes
 * numbers of them again. A text that is no JSON stays as it is.
 */
export function marked(text: string, mark: string): string {
  if (!SUSPECT.test(text)) return text;
  try {
    return JSON.stringify(parseJson(text), (_key, value) =>
      isExactNumber(value) ? mark + value.rawJSON : value,
    );
  } catch {
    return text;
  }
}

/** A value whose marked strings are numbers: exact ones, or doubles. */
export function unmarked<T>(value: T, mark: string, isExact: boolean): T;
export function unmarked(value: unknown, mark: string, isExact: boolean): unknown {
  if (typeof value === 'string' && value.startsWith(mark)) {
    const text = value.slice(mark.length);
    return isExact ? json.rawJSON(text) : Number(text);
  }
  if (typeof value !== 'object' || value === null) return value;
  const within = (inner: unknown) => unmarked(inner, mark, isExact);
  if (Array.isArray(value)) return value.map(within);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, within(inner)]));
}

/** The number that is nearest, for what reckons with numbers; anything else as it is. */
export const toDouble = (value: unknown): unknown => (isExactNumber(value) ? Number(value.rawJSON) : value);

/** A value with doubles alone, for what takes no exact numbers. */
export function withDoubles(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return toDouble(value);
  if (Array.isArray(value)) return value.map(withDoubles);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withDoubles(inner)]));
}

/** As `String`, which throws for an exact number. */
export const textOf = (value: unknown): string => (isExactNumber(value) ? value.rawJSON : String(value));

/** Whether two values are the same text, number, boolean or null. */
export function isSameScalar(one: unknown, other: unknown): boolean {
  if (!isExactNumber(one) || !isExactNumber(other)) return one === other;
  return sameDigits(decimalOf(one.rawJSON), decimalOf(other.rawJSON));
}

function numberOf(value: number, source: string): number | ExactNumber {
  if (source.length <= 15 && !/e/i.test(source)) return value;
  const read = decimalOf(source);
  if (Number.isFinite(value) && sameDigits(read, decimalOf(String(value)))) return value;
  const { digits, exponent } = read;
  if (Math.max(digits.length + Math.max(0, exponent), -exponent) > MAX_DIGITS)
    throw new SyntaxError(`The number ${source.slice(0, 20)}… has more than ${MAX_DIGITS} digits`);
  return json.rawJSON(source);
}

/** A number as `digits` without zeros at their ends, times ten to the `exponent`. */
interface Decimal {
  readonly isNegative: boolean;
  readonly digits: string;
  readonly exponent: number;
}

function decimalOf(text: string): Decimal {
  const [, whole = '', fraction = '', power = '0'] = NUMBER.exec(text) ?? [];
  const all = whole + fraction;
  let [from, to] = [0, all.length];
  while (all[from] === '0') from++;
  while (to > from && all[to - 1] === '0') to--;
  if (from === to) return { isNegative: false, digits: '', exponent: 0 };
  const exponent = Number(power) - fraction.length + all.length - to;
  return { isNegative: text.startsWith('-'), digits: all.slice(from, to), exponent };
}

const sameDigits = (one: Decimal, other: Decimal): boolean =>
  one.digits === other.digits && one.exponent === other.exponent && one.isNegative === other.isNegative;
