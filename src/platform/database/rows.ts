type Snake<S extends string> = S extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${Snake<Tail>}`
  : '';
type Column<T> = T extends Date ? string : T;

/**
 * A row of an entity's table as a query builder returns it: snake_case columns, times as PostgreSQL prints them (see
 * {@link iso}).
 */
export type Row<Entity> = {
  [K in keyof Entity as K extends string
    ? Entity[K] extends (...args: never[]) => unknown
      ? never
      : Snake<K>
    : never]: Column<Entity[K]>;
};

/** Tables by name, for a query builder: `Tables<{ workspace: Workspace }>`. */
export type Tables<T> = { [K in keyof T]: Row<T[K]> };

/** A time from a row or an entity as the interface shows it: ISO 8601, UTC. */
export function iso(time: string | Date): string {
  return (typeof time === 'string' ? new Date(time) : time).toISOString();
}

/** As {@link iso}, for a time that may not have come yet. */
export function isoOrNull(time: string | Date | null): string | null {
  return time === null ? null : iso(time);
}
