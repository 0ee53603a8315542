import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/index.js';

export interface LeaseNames {
  /** What the table is called in the statements. */
  readonly alias?: string;
  /** The column with the id of the process. */
  readonly holder?: string;
}

interface ForgottenRows {
  /** The column that `isKnown` is asked about. */
  readonly key?: string;
  /** Rows to look at; by default all. */
  readonly among?: RawBuilder<boolean>;
}

/**
 * Rows of a table that one process at a time holds: parts of the statements that claim, release and recover them, so that a
 * claim costs no statement of its own.
 */
export class LeasedRows {
  /** For `set`. */
  readonly claimed: RawBuilder<unknown>;
  readonly released: RawBuilder<unknown>;
  /** This process holds it, or did at its last heartbeat. */
  readonly isOurs: RawBuilder<boolean>;
  readonly isOrphaned: RawBuilder<boolean>;
  /** Without a holder, or orphaned. */
  readonly isFree: RawBuilder<boolean>;

  constructor(
    processId: string,
    private readonly table: string,
    { alias = table, holder = 'holder' }: LeaseNames,
  ) {
    const column = sql.ref(`${alias}.${holder}`);
    this.claimed = sql`${sql.ref(holder)} = ${processId}`;
    this.released = sql`${sql.ref(holder)} = null`;
    this.isOurs = sql<boolean>`${column} = ${processId}`;
    const isGone = sql<boolean>`not exists (select from process where process.id = ${column})`;
    this.isOrphaned = sql<boolean>`(${column} is not null and ${isGone})`;
    this.isFree = sql<boolean>`(${column} is null or ${isGone})`;
  }

  /**
   * Condition on the rows that this process holds without knowing it, because the answer to a claim was lost. They are read
   * before `isKnown` is asked, so that a claim under way is not among them. A row that is claimed again before the condition is
   * used has another version (`xmin`), and is left alone.
   */
  async forgotten(
    database: Database,
    isKnown: (key: string) => boolean,
    { key = 'id', among = sql<boolean>`true` }: ForgottenRows = {},
  ): Promise<RawBuilder<boolean>> {
    const [column, version] = [sql.ref(`${this.table}.${key}`), sql.ref(`${this.table}.xmin`)];
    const { rows } = await sql<{ key: string; version: string }>`
      select ${column}::text as key, ${version}::text as version from ${sql.table(this.table)}
      where ${this.isOurs} and ${among}`.execute(database.tables());
    const forgotten = rows.filter(row => !isKnown(row.key));
    if (forgotten.length === 0) return sql<boolean>`false`;
    return sql<boolean>`(${this.isOurs} and (${column}::text, ${version}::text) in (
      select * from unnest(${forgotten.map(row => row.key)}::text[], ${forgotten.map(row => row.version)}::text[])))`;
  }
}
