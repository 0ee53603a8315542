import { LRUCache } from 'lru-cache';

/** Prepared statements of one connection. Programs have fewer; statements that spell out lists come in many lengths. */
const MAX_STATEMENTS = 1_000;
/** A statement has a name from this use on: most of those that are only used at the start get none. */
const NAMED_FROM = 3;
/**
 * SQLSTATEs of a prepared statement that cannot be used any more: its result columns have changed ("cached plan must not change
 * result type"), or the server does not know its name.
 */
const UNUSABLE: readonly unknown[] = ['0A000', '26000'];

/**
 * Names for statements by their text, the same on all connections. PostgreSQL plans a named statement a few times on each
 * connection and then keeps the plan; planning an unnamed statement costs more than running it.
 */
export class StatementNames {
  private readonly names = new Map<string, string | undefined>();
  /** How often statements without a name were used. */
  private readonly uses = new LRUCache<string, number>({ max: MAX_STATEMENTS });

  /** Returns undefined for a statement that has to be planned each time. */
  get(text: string): string | undefined {
    const known = this.names.get(text);
    if (known !== undefined || this.names.has(text) || this.names.size >= MAX_STATEMENTS) return known;
    const uses = (this.uses.get(text) ?? 0) + 1;
    this.uses.set(text, uses);
    if (uses < NAMED_FROM) return undefined;
    this.uses.delete(text);
    const name = `s${this.names.size}`;
    this.names.set(text, name);
    return name;
  }

  /** Retires the name of a statement that a connection cannot use any more; it is planned each time from now on. */
  failed(text: string, error: unknown): void {
    if (UNUSABLE.includes((error as { code?: unknown }).code)) this.names.set(text, undefined);
  }
}
