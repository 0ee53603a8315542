import type { ClientBase, QueryResult } from 'pg';
import { queryDeadline } from './deadline.js';
import { type KnownStatements, PreparedQuery } from './prepared-query.js';
import type { Types } from './row-shape.js';

/** Prepared statements of one connection; far more than programs have, but those with lists have many lengths. */
const MAX_STATEMENTS = 500;
/** SQLSTATE of a prepared statement whose tables were changed meanwhile. */
const PLAN_CHANGED = '0A000';

interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly query_timeout: number;
}

/** Executes a statement with its values. */
type Ask = (text: string, values: readonly unknown[]) => Promise<QueryResult>;

/** How `pg` takes statements: it returns a promise, or the prepared query that it was given. */
type Query = ((query: Statement | PreparedQuery) => PromiseLike<QueryResult>) &
  ((...args: unknown[]) => unknown);

/**
 * Names for statements by their text. PostgreSQL plans a named statement a few times per connection and then keeps the
 * plan; planning an unnamed one costs more than running it.
 */
export class PreparedStatements {
  private readonly names = new Map<string, string | undefined>();
  private readonly attached = new WeakMap<ClientBase, Ask>();

  /** Makes `client` prepare what it is asked with parameters, and keep to the deadline of who asks. */
  attach(client: ClientBase): void {
    const known: KnownStatements = { shapes: new Map(), types: client as ClientBase & Types };
    const plain = client.query.bind(client) as unknown as Query;
    const ask: Ask = (text, values) => this.run(plain, known, text, values);
    const query = (...args: unknown[]): unknown => {
      const [text, values, callback] = args;
      if (typeof text !== 'string' || callback !== undefined) return plain(...args);
      // Without parameters it may be several statements, which cannot be prepared.
      if (!Array.isArray(values) || values.length === 0)
        return plain({ text, query_timeout: queryDeadline() });
      return ask(text, values);
    };
    this.attached.set(client, ask);
    Object.assign(client, { query });
  }

  /** As the `query` of an attached client does, where there are parameters. */
  ask(client: ClientBase, text: string, values: readonly unknown[]): Promise<QueryResult> {
    const ask = this.attached.get(client);
    return ask ? ask(text, values) : client.query(text, [...values]);
  }

  private async run(
    plain: Query,
    known: KnownStatements,
    text: string,
    values: readonly unknown[],
  ): Promise<QueryResult> {
    try {
      const name = this.nameOf(text);
      const query_timeout = queryDeadline();
      if (name === undefined) return await plain({ text, values, query_timeout });
      const query = new PreparedQuery({ name, text, values }, query_timeout, known);
      const asked = plain(query);
      return await (asked === query ? query.answer : asked);
    } catch (error) {
      // From now on it is planned each time: the connections that hold the old plan live on.
      if ((error as { code?: unknown }).code === PLAN_CHANGED) this.names.set(text, undefined);
      throw error;
    }
  }

  private nameOf(text: string): string | undefined {
    const name = this.names.get(text);
    if (name !== undefined || this.names.has(text) || this.names.size >= MAX_STATEMENTS) return name;
    const given = `s${this.names.size}`;
    this.names.set(text, given);
    return given;
  }
}
