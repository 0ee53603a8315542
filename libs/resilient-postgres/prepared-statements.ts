import type { ClientBase, QueryResult } from 'pg';
import { queryDeadline } from './deadline.js';
import { PreparedQuery, type Shapes } from './prepared-query.js';

/** Prepared statements of one connection; far more than programs have, but those with lists have many lengths. */
const MAX_STATEMENTS = 500;
/** SQLSTATE of a prepared statement whose tables were changed meanwhile. */
const PLAN_CHANGED = '0A000';

interface Statement {
  readonly text: string;
  readonly values?: unknown[];
  readonly query_timeout: number;
}
type PlainQuery = (query: Statement | PreparedQuery) => Promise<QueryResult>;

/**
 * Names for statements by their text. PostgreSQL plans a named statement a few times per connection and then keeps the
 * plan; planning an unnamed one costs more than running it.
 */
export class PreparedStatements {
  private readonly names = new Map<string, string | undefined>();

  /** Makes `client` prepare what it is asked with parameters, and keep to the deadline of who asks. */
  attach(client: ClientBase): void {
    const shapes: Shapes = new Map();
    const plain = client.query.bind(client) as unknown as PlainQuery & ((...args: unknown[]) => unknown);
    const query = (...args: unknown[]): unknown => {
      const [text, values, callback] = args;
      if (typeof text !== 'string' || callback !== undefined) return plain(...args);
      // Without parameters it may be several statements, which cannot be prepared.
      if (!Array.isArray(values) || values.length === 0)
        return plain({ text, query_timeout: queryDeadline() });
      return this.run(plain, shapes, text, values);
    };
    Object.assign(client, { query });
  }

  private async run(
    plain: PlainQuery,
    shapes: Shapes,
    text: string,
    values: unknown[],
  ): Promise<QueryResult> {
    try {
      const name = this.nameOf(text);
      const query_timeout = queryDeadline();
      if (name === undefined) return await plain({ text, values, query_timeout });
      return await plain(new PreparedQuery({ name, text, values }, query_timeout, shapes));
    } catch (error) {
      // From now on it is planned each time: the connections that hold the old plan live on.
      if ((error as { code?: unknown }).code === PLAN_CHANGED) this.names.set(text, undefined);
      throw error;
    }
  }

  private nameOf(text: string): string | undefined {
    if (this.names.has(text) || this.names.size >= MAX_STATEMENTS) return this.names.get(text);
    const name = `s${this.names.size}`;
    this.names.set(text, name);
    return name;
  }
}
