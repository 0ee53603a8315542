import { isExactNumber } from '#libs/exact-json/index.js';

/** Longest texts that are tried, one after the other. */
const STEPS = [10_000, 2_000, 500, 100, 20];

/** Characters of the value as JSON. */
export const lengthOf = (value: unknown): number => JSON.stringify(value)?.length ?? 0;

/** The beginning of a text, with a word on what is missing. */
export function cutText(text: string, most: number): string {
  return text.length <= most
    ? text
    : `${text.slice(0, most).toWellFormed()}\n… ${text.length - most} characters left out`;
}

/**
 * A value of the same shape with at most `max` characters of JSON, where its texts can be cut so far; lists keep their
 * beginning where that is not enough.
 */
export function fitted<T>(value: T, max: number): T {
  for (const most of STEPS) {
    const cut = mapped(value, most, Number.POSITIVE_INFINITY);
    if (lengthOf(cut) <= max) return cut as T;
  }
  for (const items of [100, 20, 5]) {
    const cut = mapped(value, 100, items);
    if (lengthOf(cut) <= max) return cut as T;
  }
  return mapped(value, 20, 1) as T;
}

function mapped(value: unknown, most: number, items: number): unknown {
  if (typeof value === 'string') return cutText(value, most);
  if (Array.isArray(value)) return value.slice(0, items).map(item => mapped(item, most, items));
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, mapped(inner, most, items)]));
}

/** The first lines of a text that fit in JSON, and how many they are; at least a part of the first. */
export function firstLines(text: string, most: number): { text: string; lines: number } {
  let end = Math.min(text.length, most);
  while (JSON.stringify(text.slice(0, end)).length > most) end = Math.floor(end * 0.8);
  const part = text.slice(0, end).toWellFormed();
  const lastBreak = part.lastIndexOf('\n');
  const whole = lastBreak < 0 ? part : part.slice(0, lastBreak + 1);
  return { text: whole, lines: whole.split('\n').length - (whole.endsWith('\n') ? 1 : 0) };
}
