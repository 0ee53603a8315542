import { asInteger } from './parse.js';
import { InvalidSetting, type Setting } from './setting.js';

/** One of the numbers of a variable: what it means, its default and its range. */
export interface Limit {
  readonly description: string;
  readonly fallback: number;
  readonly min: number;
  readonly max: number;
  /** Written with or without a unit: `1073741824`, `1GiB`. */
  readonly isBytes: boolean;
}

type Range = readonly [min: number, max: number];

export const count = (description: string, fallback: number, [min, max]: Range): Limit => ({
  description,
  fallback,
  min,
  max,
  isBytes: false,
});

export const bytes = (
  description: string,
  fallback: number,
  range: Range = [1, Number.MAX_SAFE_INTEGER],
): Limit => ({ ...count(description, fallback, range), isBytes: true });

/** Numbers of one kind in one variable, as `name=number` separated by commas. Those that are not listed have their defaults. */
export function limits<const K extends string>(
  name: string,
  description: string,
  parts: Readonly<Record<K, Limit>>,
): Setting<Readonly<Record<K, number>>> {
  const all = Object.entries<Limit>(parts);
  const fallback = Object.fromEntries(all.map(([part, limit]) => [part, limit.fallback]));
  return {
    name,
    description: [description, ...all.map(([part, limit]) => `  ${part}: ${limit.description}`)].join('\n'),
    shown: all.map(([part, limit]) => `${part}=${written(limit)}`).join(','),
    read: raw => ({ ...fallback, ...listed(raw ?? '', name, new Map(all)) }) as Record<K, number>,
  };
}

function listed(raw: string, name: string, parts: ReadonlyMap<string, Limit>): Record<string, number> {
  const values: Record<string, number> = {};
  for (const entry of raw.split(',')) {
    if (entry.trim() === '') continue;
    const [part = '', ...rest] = entry.split('=').map(text => text.trim());
    const limit = parts.get(part);
    if (!limit || rest.length !== 1)
      throw new InvalidSetting(
        `${name} must list limits such as ${exampleOf(parts)}, each one of ${[...parts.keys()].join(', ')}, not "${entry.trim()}".`,
      );
    if (part in values) throw new InvalidSetting(`${name} must list ${part} once.`);
    values[part] = parsed(rest[0] ?? '', `${part} in ${name}`, limit);
  }
  return values;
}

const UNITS = new Map([
  ['KiB', 2 ** 10],
  ['MiB', 2 ** 20],
  ['GiB', 2 ** 30],
  ['TiB', 2 ** 40],
]);

function parsed(text: string, name: string, { isBytes, min, max }: Limit): number {
  const [, digits, unit = ''] = /^(\d+)([KMGT]iB)$/.exec(text) ?? [];
  const factor = isBytes ? UNITS.get(unit) : undefined;
  return asInteger(min, max)(factor ? String(Number(digits) * factor) : text, name);
}

function written({ fallback, isBytes }: Limit): string {
  if (!isBytes) return String(fallback);
  const [unit, factor] = [...UNITS].findLast(([, size]) => fallback >= size && fallback % size === 0) ?? [
    '',
    1,
  ];
  return `${fallback / factor}${unit}`;
}

function exampleOf(parts: ReadonlyMap<string, Limit>): string {
  const [[part, limit] = ['', undefined]] = parts;
  return limit ? `${part}=${written(limit)}` : '';
}
