import { Socket } from 'node:net';
import pg from 'pg';
import { parseJson } from '#libs/exact-json/index.js';
import { queryDeadline } from './deadline.js';
import { StatementNames } from './statement-names.js';

const TIMED_OUT = 'Query read timeout';
const names = new StatementNames();

/** A socket that ends where one of its listeners throws, as the parser of `pg` does for a malformed message. */
class GuardedSocket extends Socket {
  override emit(event: string | symbol, ...values: unknown[]): boolean {
    if (event !== 'data') return super.emit(event, ...values);
    try {
      return super.emit(event, ...values);
    } catch (error) {
      this.destroy(new Error('Connection terminated: the server sent a malformed message', { cause: error }));
      return true;
    }
  }
}

/**
 * A connection whose loss does not end the process: it always has an error listener, also after `removeAllListeners`. A
 * malformed message counts as a lost connection, and so does a query that timed out: the next query would wait behind it.
 */
export class ResilientClient extends pg.Client {
  private readonly socket: Socket;

  constructor(settings?: pg.ClientConfig) {
    const socket = new GuardedSocket();
    super({ ...settings, stream: () => socket });
    this.socket = socket;
    this.on('error', () => undefined);
    for (const type of [pg.types.builtins.JSON, pg.types.builtins.JSONB]) this.setTypeParser(type, parseJson);
  }

  override removeAllListeners(event?: string | symbol): this {
    return super.removeAllListeners(event).on('error', () => undefined);
  }

  override query<R extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<pg.QueryResult<R>>;
  // biome-ignore lint/suspicious/noExplicitAny: `pg` also takes callbacks, cursors and streams, whose overloads have no common type.
  override query(...question: any[]): any;
  override query(...question: unknown[]): unknown {
    const answer: unknown = Reflect.apply(super.query, this, question);
    if (answer instanceof Promise)
      answer.catch(({ message }: Error) => {
        if (message === TIMED_OUT) this.socket.destroy();
      });
    return answer;
  }
}

/** Prepares statements that have parameters, and gives each statement the deadline of its caller. */
export class PreparingClient extends ResilientClient {
  override query<R extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<pg.QueryResult<R>>;
  // biome-ignore lint/suspicious/noExplicitAny: as in the base class.
  override query(...question: any[]): any;
  override query(text: unknown, values?: unknown, callback?: unknown): unknown {
    if (typeof text !== 'string' || callback !== undefined) return super.query(text, values, callback);
    return this.ask(text, values as unknown[] | undefined);
  }

  private async ask(text: string, values: unknown[] = []): Promise<pg.QueryResult> {
    const query_timeout = queryDeadline();
    // A text without parameters may hold several statements, which cannot be prepared.
    if (values.length === 0) return super.query({ text, query_timeout });
    try {
      const name = names.get(text);
      return await super.query({ text, values: values.map(sendable), query_timeout, name });
    } catch (error) {
      names.failed(text, error);
      throw error;
    }
  }
}

/**
 * Writes objects as JSON, as `pg` would, but before the statement is sent: where a value cannot be written, `pg` closes the
 * prepared statement on the server and goes on using its name.
 */
function sendable(value: unknown): unknown {
  const isPlain = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isPlain && !(value instanceof Date) && !ArrayBuffer.isView(value) ? JSON.stringify(value) : value;
}

/** Settings of all connections: none waits for ever for a server that has gone silent. */
export const CONNECTION_SETTINGS = {
  connectionTimeoutMillis: 8_000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
} as const;
