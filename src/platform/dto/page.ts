import { type SelectQueryBuilder, sql } from 'kysely';
import type { Shape } from '#libs/fields/index.js';
import { Invalid } from '../errors/index.js';
import { type ById, withIds } from './by-id.js';
import { Field } from './field.js';

/** What deleting something answers. */
export class DeletedView {
  @Field.id('What was deleted') id: string;
  @Field.boolean('Always true') deleted: true;

  static of(id: string): DeletedView {
    return { id, deleted: true };
  }
}

/** Longest cursor, in characters: a position may hold the longest path of a file. */
const MAX_CURSOR = 6000;

/** What every list takes. */
export class PageInput {
  @Field.integer('Most items to return', { min: 1, max: 200, default: 50, optional: true, example: 50 })
  limit?: number;

  @Field.text('Where to go on: `next_cursor` of the page before', { optional: true, max: MAX_CURSOR })
  cursor?: string;
}

/** Input of a list below something: `ListById({ id: 'The chat' })`. */
export const ListById = <F extends string>(ids: Record<F, string>) =>
  withIds(class extends PageInput {}, ids);
export type ListById<F extends string = 'id'> = PageInput & ById<F>;

export interface Page<T> {
  items: T[];
  next_cursor: string | null;
}

/** The page shape of `item`, for OpenAPI. */
export function PageOf(item: new () => object, name: string): Shape & (new () => object) {
  class PageView {
    @Field.object('The items', () => item as Shape, { list: true }) items: object[];

    @Field.text('Pass as `cursor` for the next page; null on the last', { nullable: true, max: MAX_CURSOR })
    next_cursor: string | null;
  }
  Object.defineProperty(PageView, 'name', { value: name });
  return PageView;
}

/** A position in a list: the values it is ordered by, opaque to callers. */
export function encodeCursor(position: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

const CURSOR_PARTS = {
  id: /^[0-9a-f-]{36}$/i,
  time: /^\d{4}-\d\d-\d\dT[\d:.]+Z$/,
  number: /^\d{1,18}$/,
  text: /^[^\0]*$/,
};

/** Reads a cursor back, as the kinds of values that its list is ordered by. Throws Invalid for one we did not make. */
export function decodeCursor(cursor: string | undefined, ...kinds: (keyof typeof CURSOR_PARTS)[]): string[] {
  if (cursor === undefined) return [];
  const values = parseCursor(cursor).map(String);
  if (
    values.length !== kinds.length ||
    !kinds.every((kind, index) => CURSOR_PARTS[kind].test(values[index] ?? ''))
  )
    throw new Invalid('cursor is not one that this list gave out');
  return values;
}

function parseCursor(cursor: string): unknown[] {
  try {
    const values: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(values) ? values : [];
  } catch {
    return [];
  }
}

/** Cuts a result of `limit + 1` rows into a page; `position` names where a row stands in the order. */
export function pageOf<Row, Item>(
  rows: Row[],
  limit: number,
  view: (row: Row) => Item,
  position: (row: Row) => readonly (string | number)[],
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map(view),
    next_cursor: rows.length > limit && last !== undefined ? encodeCursor(position(last)) : null,
  };
}

export const DEFAULT_LIMIT = 50;

/** Executes a query as a page of a list in the order of the id `by`, the newest first where `newestFirst` says so. */
export async function pageById<DB, TB extends keyof DB, Row extends object, Item>(
  query: SelectQueryBuilder<DB, TB, Row>,
  { limit = DEFAULT_LIMIT, cursor }: PageInput,
  view: (row: Row) => Item,
  { by = 'id', newestFirst = false } = {},
): Promise<Page<Item>> {
  const [after] = decodeCursor(cursor, 'id');
  const id = sql<string>`${sql.ref(by)}`;
  const ordered = query.orderBy(id, newestFirst ? 'desc' : 'asc').limit(limit + 1);
  const rows = await (after ? ordered.where(id, newestFirst ? '<' : '>', after) : ordered).execute();
  const name = by.slice(by.indexOf('.') + 1) as keyof Row;
  return pageOf(rows, limit, view, row => [String(row[name])]);
}

/** A time from a request as an instant: ISO 8601 knows forms, such as weeks, that name none by themselves. */
export function readInstant(field: string, time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) throw new Invalid(`${field} must be a time, e.g. 2026-11-21T09:30:00Z`);
  return date.toISOString();
}
