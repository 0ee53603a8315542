import type { Selectable } from 'kysely';
import type { Schema } from './tables.js';

/** A row as a query builder returns it. Times are as PostgreSQL prints them (see {@link iso}). */
export type Row<T extends keyof Schema> = Selectable<Schema[T]>;

/** A time from a row or an entity as the interface shows it: ISO 8601, UTC. */
export function iso(time: string | Date): string {
  return (typeof time === 'string' ? new Date(time) : time).toISOString();
}

/** As {@link iso}, for a time that may not have come yet. */
export function isoOrNull(time: string | Date | null): string | null {
  return time === null ? null : iso(time);
}
