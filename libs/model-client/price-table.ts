import type { ModelInputKind } from './catalogue.js';
import type { ModelPrice } from './cost.js';

/** What an operator states about a model, by id `provider/name`; what is left out stays as it was known. */
export type PriceTable = Record<
  string,
  {
    context_window?: number | null;
    price?: { input: number; output: number; cache_read?: number | null; cache_write?: number | null } | null;
    /** What it takes beside text. */
    input?: ModelInputKind[];
  }
>;

export interface StatedModel {
  context_window?: number | null;
  price?: ModelPrice | null;
  input?: readonly ModelInputKind[];
}

/** Checks a price table that was read from JSON. Throws an Error that names the entry and the field. */
export function readPriceTable(table: unknown): Map<string, StatedModel> {
  if (!isRecord(table)) throw new Error('The price table must be a JSON object with model ids as keys.');
  return new Map(Object.entries(table).map(([id, entry]) => [id, readEntry(id, entry)]));
}

function readEntry(id: string, entry: unknown): StatedModel {
  if (!/^[^/]+\/.+$/.test(id))
    throw new Error(`Price table: "${id}" is not an id of the form provider/name.`);
  if (!isRecord(entry)) throw new Error(`Price table: the entry of "${id}" must be an object.`);
  onlyKeys(id, entry, ['context_window', 'price', 'input']);
  const { context_window, price, input } = entry;
  return {
    ...(context_window === undefined
      ? {}
      : { context_window: amountOrNull(id, 'context_window', context_window) }),
    ...(price === undefined ? {} : { price: readPrice(id, price) }),
    ...(input === undefined ? {} : { input: readInput(id, input) }),
  };
}

function readInput(id: string, input: unknown): ModelInputKind[] {
  const kinds = Array.isArray(input) ? input : [undefined];
  return kinds.map(kind => {
    if (kind === 'image' || kind === 'pdf') return kind;
    throw new Error(`Price table: input of "${id}" must be a list of "image" and "pdf".`);
  });
}

function readPrice(id: string, price: unknown): ModelPrice | null {
  if (price === null) return null;
  if (!isRecord(price)) throw new Error(`Price table: the price of "${id}" must be an object or null.`);
  onlyKeys(id, price, ['input', 'output', 'cache_read', 'cache_write']);
  return {
    input: amount(id, 'input', price.input),
    output: amount(id, 'output', price.output),
    cache_read: amountOrNull(id, 'cache_read', price.cache_read ?? null),
    cache_write: amountOrNull(id, 'cache_write', price.cache_write ?? null),
  };
}

function amountOrNull(id: string, field: string, value: unknown): number | null {
  return value === null ? null : amount(id, field, value);
}

function amount(id: string, field: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value;
  throw new Error(`Price table: ${field} of "${id}" must be a number that is not negative.`);
}

function onlyKeys(id: string, value: Record<string, unknown>, allowed: string[]): void {
  const unknown = Object.keys(value).find(key => !allowed.includes(key));
  if (unknown)
    throw new Error(`Price table: "${id}" has an unknown field "${unknown}"; use ${allowed.join(', ')}.`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
