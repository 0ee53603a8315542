import { LRUCache } from 'lru-cache';
import { RE2JS } from 're2js';
import { type ExactNumber, isExactNumber, isSameScalar } from '#libs/exact-json/index.js';

/** Dotted path → what the value there has to be. */
export type Filter = Readonly<Record<string, FilterRule>>;
type Scalar = string | number | boolean | null | ExactNumber;
export type FilterRule =
  | string
  | number
  | boolean
  | null
  | ExactNumber
  | readonly Scalar[]
  | { readonly not: Scalar | readonly Scalar[] }
  /** A regular expression of RE2 that is found in a text. */
  | { readonly matches: string };

/** Whether all of `given` is as the filter asks for. */
export function matchesFilter(filter: Filter, given: object): boolean {
  return mismatchIn(filter, given) === null;
}

/** Says which part of `given` is not as the filter asks for; null where all is. */
export function mismatchIn(filter: Filter, given: object): string | null {
  for (const [path, rule] of Object.entries(filter)) {
    const value = valueAt(given, path.split('.'));
    if (!matches(rule, value))
      return `${path} is ${shown(value)}, but the filter asks for ${JSON.stringify(rule)}`;
  }
  return null;
}

function shown(value: unknown): string {
  if (value === undefined) return 'absent';
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  if (typeof value !== 'string') return String(value);
  return JSON.stringify(
    value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value.slice(0),
  ).replaceAll('\\u0000', '');
}

function matches(rule: FilterRule, value: unknown): boolean {
  if (Array.isArray(rule)) return rule.some(one => isSameScalar(one, value));
  if (typeof rule === 'object' && rule !== null && 'not' in rule) return !matches(rule.not, value);
  if (typeof rule === 'object' && rule !== null && 'matches' in rule)
    return (
      typeof value === 'string' && expressions.memo(rule.matches).matcher(value.slice(0, MAX_MATCHED)).find()
    );
  return isSameScalar(rule, value ?? null);
}

/** What stands at a path of own fields. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => {
    if (typeof at !== 'object' || at === null || isExactNumber(at)) return undefined;
    const found = Object.hasOwn(at, key) ? (at as Record<string, unknown>)[key] : undefined;
    return found;
  }, value);
}

const MAX_SHOWN = 100;
/** Of a text, what an expression is looked for in. */
const MAX_MATCHED = 10_000;
const expressions = new LRUCache<string, RE2JS>({
  max: 500,
  memoMethod: expression => RE2JS.compile(expression),
});
