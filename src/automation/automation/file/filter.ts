import type { Filter, FilterRule } from './automation-definition.js';

/** Whether what came in is what the filter asks for, all of it; headers go by their lower-case names. */
export function matchesFilter(filter: Filter, given: object): boolean {
  return Object.entries(filter).every(([path, rule]) => matches(rule, valueAt(given, path.split('.'))));
}

function matches(rule: FilterRule, value: unknown): boolean {
  if (Array.isArray(rule)) return rule.some(one => one === value);
  if (typeof rule === 'object' && rule !== null && 'not' in rule) return !matches(rule.not, value);
  return rule === (value ?? null);
}

/** A name may hold dots, as that of a header does not. */
function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => {
    if (typeof at !== 'object' || at === null) return undefined;
    const found = Object.hasOwn(at, key) ? (at as Record<string, unknown>)[key] : undefined;
    return found;
  }, value);
}
