import type { Selectable } from 'kysely';
import type { Schema } from './tables.js';

type Snake<S extends string> = S extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${Snake<Tail>}`
  : '';
type Column<T> = T extends Date ? string : T;

/** A row as a query builder returns it; `J` says what the JSON in it is. Times are as PostgreSQL prints them (see {@link iso}). */
export type Row<T, J = unknown> = T extends keyof Schema
  ? unknown extends J
    ? Selectable<Schema[T]>
    : Omit<Selectable<Schema[T]>, keyof J> & J
  : EntityRow<T>;

type EntityRow<Entity> = {
  [K in keyof Entity as K extends string
    ? Entity[K] extends (...args: never[]) => unknown
      ? never
      : Snake<K>
    : never]: Column<Entity[K]>;
};

/** Tables by name, for a query builder: `Tables<{ workspace: Workspace }>`. */
export type Tables<T> = { [K in keyof T]: EntityRow<T[K]> };

/** A time from a row or an entity as the interface shows it: ISO 8601, UTC. */
export function iso(time: string | Date): string {
  return (typeof time === 'string' ? new Date(time) : time).toISOString();
}

/** As {@link iso}, for a time that may not have come yet. */
export function isoOrNull(time: string | Date | null): string | null {
  return time === null ? null : iso(time);
}
