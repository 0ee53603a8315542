import { type RawBuilder, sql } from 'kysely';

export interface LeaseNames {
  /** What the table is called in the statements. */
  readonly alias?: string;
  /** The column with the id of the process. */
  readonly holder?: string;
  /** The column that the version before compares with the clock instead; null in rows of processes with a heartbeat. */
  readonly until?: string;
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

  constructor(processId: string, table: string, { alias = table, holder = 'holder', until }: LeaseNames) {
    const column = sql.ref(`${alias}.${holder}`);
    this.claimed = sql`${sql.ref(holder)} = ${processId}`;
    this.released = sql`${sql.ref(holder)} = null`;
    this.isOurs = sql<boolean>`${column} = ${processId}`;
    const isGone = sql<boolean>`not exists (select from process where process.id = ${column})`;
    const isOver = (rest: RawBuilder<boolean>) =>
      until === undefined ? rest : sql<boolean>`coalesce(${sql.ref(`${alias}.${until}`)} < now(), ${rest})`;
    this.isOrphaned = isOver(sql<boolean>`(${column} is not null and ${isGone})`);
    this.isFree = isOver(sql<boolean>`(${column} is null or ${isGone})`);
  }
}
