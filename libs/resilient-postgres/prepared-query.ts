import pg, { type QueryResult } from 'pg';

/** What `pg` knows of the rows of a statement. */
interface Shape {
  readonly fields: unknown[];
  readonly _parsers: unknown;
  readonly _prebuiltEmptyResultObject: unknown;
}

/** How the rows of the prepared statements of one connection look, by name. */
export type Shapes = Map<string, Shape>;

/** What `pg` has and its types lack. */
interface Wire {
  close(what: unknown): void;
  describe(what: unknown): void;
}

interface Parts {
  callback: (error: Error | null, result: QueryResult) => void;
  readonly _result: object;
  hasBeenParsed(wire: Wire): unknown;
  prepare(wire: Wire): void;
  handleRowDescription(message: { fields: unknown[] }): void;
}

const PlainQuery = pg.Query as unknown as new (statement: object) => Parts;

/**
 * A prepared statement whose rows are described once a connection, not with each execution: PostgreSQL refuses to execute one
 * whose rows would look another way (`cached plan must not change result type`).
 */
export class PreparedQuery extends PlainQuery implements PromiseLike<QueryResult> {
  private readonly answer = Promise.withResolvers<QueryResult>();

  constructor(
    private readonly statement: { name: string; text: string; values: unknown[] },
    /** Read by `pg`. */
    readonly query_timeout: number,
    private readonly shapes: Shapes,
  ) {
    super(statement);
    const { resolve, reject } = this.answer;
    this.callback = (error, result) => (error ? reject(error) : resolve(result));
  }

  // biome-ignore lint/suspicious/noThenProperty: `pg` returns a query that it is given, where it else returns a promise.
  get then(): PromiseLike<QueryResult>['then'] {
    const { promise } = this.answer;
    return promise.then.bind(promise);
  }

  override prepare(wire: Wire): void {
    const shape = this.hasBeenParsed(wire) ? this.shapes.get(this.statement.name) : undefined;
    if (shape) {
      super.handleRowDescription({ fields: [] });
      Object.assign(this._result, shape);
    }
    const { close, describe } = wire;
    // `pg` closes a statement when its values cannot be sent, and then still takes it for prepared.
    Object.assign(wire, { close: skip, describe: shape ? skip : describe });
    try {
      super.prepare(wire);
    } finally {
      Object.assign(wire, { close, describe });
    }
  }

  override handleRowDescription(message: { fields: unknown[] }): void {
    super.handleRowDescription(message);
    const { fields, _parsers, _prebuiltEmptyResultObject } = this._result as Shape;
    this.shapes.set(this.statement.name, { fields, _parsers, _prebuiltEmptyResultObject });
  }
}

const skip = () => undefined;
