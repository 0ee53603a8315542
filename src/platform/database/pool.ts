import { AsyncLocalStorage } from 'node:async_hooks';
import { type Configuration, PostgreSqlConnection, PostgreSqlDriver } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import type { Dialect, Driver } from 'kysely';
import type { ClientBase, Pool, QueryResult } from 'pg';

/** How long a query of background work may take. */
export const QUERY_MS = 60_000;
/** How long a query of a request may take: its caller gets 503 before a usual client times out. */
export const REQUEST_QUERY_MS = 8_000;
/** How long a query of a chore may take, which goes through much at once. */
export const CHORE_QUERY_MS = 15 * 60_000;

const deadlines = new AsyncLocalStorage<number>();

/**
 * Runs `work`, each of whose queries fails after so many milliseconds. The connection of a query that failed so is closed:
 * it may not work any more. 0: no deadline.
 */
export function withQueryDeadline<T>(milliseconds: number, work: () => T): T {
  return deadlines.run(milliseconds, work);
}

/** How many milliseconds a query may take that is asked now. */
export function queryDeadline(): number {
  return deadlines.getStore() ?? QUERY_MS;
}

/** Fails when an answer takes longer, for whatever reason. */
export async function within<T>(milliseconds: number, answer: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`No answer in ${milliseconds} ms`)), milliseconds);
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** How long all connections may be taken, while others wait, until the pool counts as stuck: longer than any query may take. */
const STUCK_MS = 90_000;

/** The counts of a `pg.Pool`. */
export interface PoolCounts {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
  readonly options: { readonly max?: number };
}

/** Whether the pool still hands out connections. While the database is unreachable it does: callers get an error in time. */
@Injectable()
export class PoolWatch {
  /** The pool, once it was opened. */
  pool: PoolCounts | undefined;
  private waitingSince: number | undefined;

  asked(): void {
    this.waitingSince ??= performance.now();
  }

  /** A connection was acquired, released, or could not be made. */
  moved(): void {
    this.waitingSince = undefined;
  }

  get isStuck(): boolean {
    return this.waitingSince !== undefined && performance.now() - this.waitingSince > STUCK_MS;
  }
}

interface Scope {
  isOpen: boolean;
}

const scopes = new AsyncLocalStorage<Scope>();

/**
 * A transaction asked the pool for a second connection. It may wait for others that wait for one too, each holding what
 * the other needs: all connections are taken then, for good.
 */
export class SecondConnection extends Error {
  constructor() {
    super('A query outside the unit of work, inside a transaction; pass the unit on to what asks it');
  }
}

/** Runs the work of one transaction, so that {@link isInTransaction} knows of it, whatever is called in between. */
export async function inTransaction<T>(work: () => Promise<T>): Promise<T> {
  const scope = { isOpen: true };
  try {
    return await scopes.run(scope, work);
  } finally {
    scope.isOpen = false;
  }
}

/** Whether the caller was called, at whatever distance, by the work of a transaction that is still open. */
export function isInTransaction(): boolean {
  return scopes.getStore()?.isOpen === true;
}

/** Prepared statements of one connection; ours are far fewer, but those with lists have many lengths. */
const MAX_STATEMENTS = 500;
/** SQLSTATE of a prepared statement whose tables were changed by a newer version of the service. */
const PLAN_CHANGED = '0A000';

interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values?: unknown[];
  readonly query_timeout: number;
}
type PlainQuery = (query: Statement) => Promise<QueryResult>;

/**
 * Names for statements by their text. PostgreSQL plans a named statement a few times per connection and then keeps the
 * plan; planning an unnamed one costs more than running it.
 */
export class PreparedStatements {
  private readonly names = new Map<string, string | undefined>();

  /** Makes `client` prepare what it is asked with parameters, and keep to the deadline of who asks. */
  attach(client: ClientBase): void {
    const plain = client.query.bind(client) as unknown as PlainQuery & ((...args: unknown[]) => unknown);
    const query = (...args: unknown[]): unknown => {
      const [text, values, callback] = args;
      if (typeof text !== 'string' || callback !== undefined) return plain(...args);
      // Without parameters it may be several statements, which cannot be prepared.
      if (!Array.isArray(values) || values.length === 0)
        return plain({ text, query_timeout: queryDeadline() });
      return this.run(plain, text, values);
    };
    Object.assign(client, { query });
  }

  private async run(plain: PlainQuery, text: string, values: unknown[]): Promise<QueryResult> {
    try {
      return await plain({ name: this.nameOf(text), text, values, query_timeout: queryDeadline() });
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

/** How the connections of a pool may be used. */
export interface PoolRules {
  /** Called when a transaction is about to wait for a second connection; what it throws keeps it from that. */
  readonly onSecondConnection?: (error: SecondConnection) => void;
  /** What watches the connections; a function, because the options that hold it are copied. */
  readonly watch?: () => PoolWatch;
  /** Called with the pool once it is opened. */
  readonly onPool?: (pool: Pool) => void;
}

/** The error of the pool when no connection became free in time. */
const ALL_TAKEN = 'timeout exceeded when trying to connect';

/**
 * Kysely never releases a connection whose `begin` or `rollback` failed, as they do when it was lost: with each loss the pool
 * would have one connection less. Here it is released, and the pool discards it.
 */
function releasing(driver: Driver): Driver {
  const begin = driver.beginTransaction.bind(driver);
  const rollback = driver.rollbackTransaction.bind(driver);
  return Object.assign(driver, {
    beginTransaction: async (...[connection, settings]: Parameters<Driver['beginTransaction']>) => {
      try {
        await begin(connection, settings);
      } catch (error) {
        await driver.releaseConnection(connection);
        throw error;
      }
    },
    rollbackTransaction: async (connection: Parameters<Driver['rollbackTransaction']>[0]) => {
      // The server has undone the transaction of a lost connection; the statement that failed first says why.
      await Promise.allSettled([rollback(connection)]);
    },
  });
}

/** Waits for a connection until the deadline of the caller; the pool's own timeout is shorter than that of background work. */
function guarded(driver: Driver, { onSecondConnection, watch: watchOf }: PoolRules): Driver {
  const watch = watchOf?.();
  const give = driver.acquireConnection.bind(driver);
  const release = driver.releaseConnection.bind(driver);
  const acquire = async (...options: Parameters<Driver['acquireConnection']>) => {
    const end = performance.now() + queryDeadline();
    for (;;)
      try {
        watch?.asked();
        const connection = await give(...options);
        watch?.moved();
        return connection;
      } catch (error) {
        const areAllTaken = (error as Error).message === ALL_TAKEN;
        if (!areAllTaken) watch?.moved();
        if (!areAllTaken || performance.now() >= end) throw error;
      }
  };
  return Object.assign(driver, {
    releaseConnection: (connection: Parameters<Driver['releaseConnection']>[0]) => {
      watch?.moved();
      return release(connection);
    },
    acquireConnection: async (...options: Parameters<Driver['acquireConnection']>) => {
      if (isInTransaction()) onSecondConnection?.(new SecondConnection());
      return acquire(...options);
    },
  });
}

class ReleasingConnection extends PostgreSqlConnection {
  override createKyselyDialect(given: Parameters<PostgreSqlConnection['createKyselyDialect']>[0]) {
    const { onSecondConnection, watch, onPool, ...overrides } = given as typeof given & PoolRules;
    const statements = new PreparedStatements();
    const onPoolCreated = (pool: Pool) => {
      pool.on('connect', client => statements.attach(client));
      onPool?.(pool);
    };
    const dialect = super.createKyselyDialect({ ...overrides, onPoolCreated } as typeof overrides);
    const createDriver: Dialect['createDriver'] = dialect.createDriver.bind(dialect);
    return Object.assign(dialect, {
      createDriver: () => guarded(releasing(createDriver()), { onSecondConnection, watch }),
    });
  }
}

/** MikroORM's PostgreSQL driver, which survives connections that are lost in the middle of a transaction. */
export class ReleasingDriver extends PostgreSqlDriver {
  protected override readonly connection: PostgreSqlConnection;

  constructor(config: Configuration) {
    super(config);
    this.connection = new ReleasingConnection(config);
  }
}
