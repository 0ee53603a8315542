import { type Configuration, PostgreSqlConnection, PostgreSqlDriver } from '@mikro-orm/postgresql';
import type { Dialect, Driver } from 'kysely';
import type { Pool } from 'pg';
import { queryDeadline } from './deadline.js';
import { type DirectWay, goDirectly } from './direct.js';
import { KeptCompiler } from './kept-compiler.js';
import type { PoolWatch } from './pool-watch.js';
import { PreparedStatements } from './prepared-statements.js';
import { isInTransaction, SecondConnection } from './transaction-scope.js';
import { inTurn } from './urgent.js';

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
function guarded(
  driver: Driver,
  { onSecondConnection, watch: watchOf }: PoolRules,
  poolOf: () => Pool | undefined,
): Driver {
  const watch = watchOf?.();
  const give = driver.acquireConnection.bind(driver);
  const release = driver.releaseConnection.bind(driver);
  const acquire = async (...options: Parameters<Driver['acquireConnection']>) => {
    const end = performance.now() + queryDeadline();
    for (;;)
      try {
        watch?.asked();
        const connection = await inTurn(poolOf(), () => give(...options));
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

class ResilientConnection extends PostgreSqlConnection {
  private direct: DirectWay | undefined;

  override createKysely(): ReturnType<PostgreSqlConnection['createKysely']> {
    const made = super.createKysely();
    if (this.direct) goDirectly(this.getClient().getExecutor(), this.direct);
    return made;
  }

  override createKyselyDialect(given: Parameters<PostgreSqlConnection['createKyselyDialect']>[0]) {
    const { onSecondConnection, watch, onPool, ...overrides } = given as typeof given & PoolRules;
    const statements = new PreparedStatements();
    let opened: Pool | undefined;
    const onPoolCreated = (pool: Pool) => {
      opened = pool;
      pool.on('connect', client => statements.attach(client));
      onPool?.(pool);
    };
    const dialect = super.createKyselyDialect({ ...overrides, onPoolCreated } as typeof overrides);
    this.direct = { pool: () => opened, statements, watch: watch?.() };
    const createDriver: Dialect['createDriver'] = dialect.createDriver.bind(dialect);
    return Object.assign(dialect, {
      createQueryCompiler: () => new KeptCompiler(),
      createDriver: () => guarded(releasing(createDriver()), { onSecondConnection, watch }, () => opened),
    });
  }
}

/** MikroORM's PostgreSQL driver, which survives connections that are lost in the middle of a transaction. */
export class ResilientDriver extends PostgreSqlDriver {
  protected override readonly connection: PostgreSqlConnection;

  constructor(config: Configuration) {
    super(config);
    this.connection = new ResilientConnection(config);
  }
}
