import type { Socket } from 'node:net';
import type { FieldDef, QueryResult } from 'pg';
import { executionOf } from './bind-message.js';
import { RowShape, type Types } from './row-shape.js';

/** What `pg` has and its types lack. */
interface Wire {
  readonly stream: Socket;
  /** The texts of prepared statements by name: of those that are, and of those that were sent. */
  readonly parsedStatements: Record<string, string>;
  readonly submittedNamedStatements: Record<string, string>;
  parse(statement: { name: string; text: string }): void;
  _send(message: Buffer): void;
  _ending: boolean;
}

/** What one connection knows of its prepared statements. */
export interface KnownStatements {
  /** How their rows look, by name. */
  readonly shapes: Map<string, RowShape>;
  readonly types: Types;
}

/** A prepared statement, and the values that it is executed with. */
interface Execution {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/**
 * An execution of a prepared statement, as `pg` takes queries. It is sent in one piece. The rows are described once a connection,
 * not with each execution: PostgreSQL refuses to execute a statement whose rows would look another way (`cached plan must not
 * change result type`).
 */
export class PreparedQuery implements PromiseLike<QueryResult> {
  readonly answer: Promise<QueryResult>;
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
  /** Read and wrapped by `pg`. */
  callback: (error?: Error | null) => void;
  /** What else has to know of its failure. */
  onError: ((error: Error) => void) | undefined;
  private shape: RowShape | undefined;
  private readonly rows: object[] = [];
  private command = '';
  private rowCount: number | null = null;
  /** Why a row could not be read; said once the server is ready for what comes next. */
  private fault: Error | undefined;

  constructor(
    { name, text, values }: Execution,
    /** Read by `pg`. */
    readonly query_timeout: number,
    private readonly known: KnownStatements,
  ) {
    this.name = name;
    this.text = text;
    this.values = values;
    const { promise, resolve, reject } = Promise.withResolvers<QueryResult>();
    this.answer = promise;
    this.callback = error => {
      if (!error) return resolve(this.result());
      this.onError?.(error);
      reject(error);
    };
  }

  // biome-ignore lint/suspicious/noThenProperty: `pg` returns a query that it is given, where it else returns a promise.
  get then(): PromiseLike<QueryResult>['then'] {
    const { answer } = this;
    return answer.then.bind(answer);
  }

  /** Sends it; answers the error of values that cannot be sent, of which nothing is. */
  submit(wire: Wire): Error | null {
    const { name, text } = this;
    const isKnown = name in wire.parsedStatements || name in wire.submittedNamedStatements;
    this.shape = isKnown ? this.known.shapes.get(name) : undefined;
    let message: Buffer;
    try {
      message = executionOf(name, this.values, !this.shape);
    } catch (error) {
      return error as Error;
    }
    // As where `pg` sends it: the reset of a connection is then known by its end.
    wire._ending = true;
    if (isKnown) {
      wire._send(message);
      return null;
    }
    wire.stream.cork();
    wire.parse({ name, text });
    wire.submittedNamedStatements[name] = text;
    wire._send(message);
    wire.stream.uncork();
    return null;
  }

  handleRowDescription({ fields }: { fields: FieldDef[] }): void {
    this.shape = new RowShape(fields, this.known.types);
    this.known.shapes.set(this.name, this.shape);
  }

  /** `fields` are as they came, and become the values of a row in their place. */
  handleDataRow({ fields }: { fields: unknown[] }): void {
    if (this.fault) return;
    try {
      this.rows.push(this.rowOf(fields));
    } catch (error) {
      this.fault = error as Error;
    }
  }

  handleCommandComplete({ text }: { text: string }): void {
    const space = text.indexOf(' ');
    const count = space < 0 ? Number.NaN : Number(text.slice(text.lastIndexOf(' ') + 1));
    this.command = space < 0 ? text : text.slice(0, space);
    this.rowCount = Number.isNaN(count) ? null : count;
  }

  handleReadyForQuery(): void {
    this.callback(this.fault);
  }

  handleError(error: Error): void {
    this.callback(this.fault ?? error);
  }

  private rowOf(values: unknown[]): object {
    const { shape } = this;
    if (shape?.parsers.length !== values.length)
      throw new Error('The rows of a statement are not as they were described');
    const { parsers, make } = shape;
    for (let n = 0; n < values.length; n++) {
      const text = values[n];
      if (text !== null) values[n] = parsers[n]?.(text as string);
    }
    return make(values);
  }

  private result(): QueryResult {
    const { command, rowCount, rows, shape } = this;
    return { command, rowCount, rows, oid: 0, fields: [...(shape?.fields ?? [])] };
  }
}
