import { isExactNumber } from '#libs/exact-json/index.js';
/** The value is nested deeper than what is written. */
export class NestedTooDeeply extends Error {}

const MAX_DEPTH = 100;

/**
 * The one text of a JSON value (RFC 8785): no white space, members in the order of their names' UTF-16 code units, numbers and
 * strings as ECMAScript writes them. Members that are undefined are left out. Throws {@link NestedTooDeeply}.
 */
export function canonicalJson(value: unknown, depth = 0): string {
  if (depth > MAX_DEPTH) throw new NestedTooDeeply(`The value is nested deeper than ${MAX_DEPTH} levels`);
  if (typeof value !== 'object' || value === null || isExactNumber(value))
    return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(item => canonicalJson(item, depth + 1)).join(',')}]`;
  const members = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, inner]) => `${JSON.stringify(name)}:${canonicalJson(inner, depth + 1)}`);
  return `{${members.join(',')}}`;
}
