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

/** What a list is ordered by: a column, which no two rows have alike. */
interface PageOrder {
  /** `id`, or with the alias of its table: `o.id`. */
  readonly by?: string;
  readonly kind?: keyof typeof CURSOR_PARTS;
  readonly newestFirst?: boolean;
}

/** A page of what `read` finds: rows after a position in the order, `limit` at most. */
export async function readPage<Row extends object>(
  { by = 'id', kind = 'id' }: PageOrder,
  { limit = DEFAULT_LIMIT, cursor }: PageInput,
  read: (slice: { after?: string; limit: number }) => Promise<Row[]>,
): Promise<Page<Row>> {
  const [after] = decodeCursor(cursor, kind);
  const rows = await read({ after, limit: limit + 1 });
  const name = by.slice(by.indexOf('.') + 1) as keyof Row;
  return pageOf(
    rows,
    limit,
    row => row,
    row => [String(row[name])],
  );
}

/** A page of what a query finds. */
export function selectPage<DB, TB extends keyof DB, Row extends object>(
  query: SelectQueryBuilder<DB, TB, Row>,
  input: PageInput,
  order: PageOrder = {},
): Promise<Page<Row>> {
  const { by = 'id', newestFirst = false } = order;
  const column = sql<string>`${sql.ref(by)}`;
  return readPage(order, input, ({ after, limit }) => {
    const ordered = query.orderBy(column, newestFirst ? 'desc' : 'asc').limit(limit);
    return (after === undefined ? ordered : ordered.where(column, newestFirst ? '<' : '>', after)).execute();
  });
}

/** As {@link selectPage}, each row as its view. */
export async function pageById<DB, TB extends keyof DB, Row extends object, Item>(
  query: SelectQueryBuilder<DB, TB, Row>,
  input: PageInput,
  view: (row: Row) => Item,
  order: PageOrder = {},
): Promise<Page<Item>> {
  const page = await selectPage(query, input, order);
  return { ...page, items: page.items.map(view) };
}

/** A time from a request as an instant: ISO 8601 knows forms, such as weeks, that name none by themselves. */
export function readInstant(field: string, time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) throw new Invalid(`${field} must be a time, e.g. 2026-11-21T09:30:00Z`);
  return date.toISOString();
}
