import { type Configuration, PostgreSqlConnection, PostgreSqlDriver } from '@mikro-orm/postgresql';
import type { Dialect, Driver } from 'kysely';
import type { Pool } from 'pg';
import { PreparedStatements } from './prepared-statements.js';

/**
 * Kysely never gives a connection back to the pool whose `begin` or `rollback` failed, as they do when it was lost. With
 * each such loss the pool would have one place less, until every request waited for ever. Here it is given back, and the
 * pool discards what is dead.
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
      // The server has undone the transaction of a lost connection; why it was lost is told by what failed first.
      await Promise.allSettled([rollback(connection)]);
    },
  });
}

class ReleasingConnection extends PostgreSqlConnection {
  override createKyselyDialect(overrides: Parameters<PostgreSqlConnection['createKyselyDialect']>[0]) {
    const statements = new PreparedStatements();
    const onPoolCreated = (pool: Pool) => void pool.on('connect', client => statements.attach(client));
    const dialect = super.createKyselyDialect({ ...overrides, onPoolCreated } as typeof overrides);
    const createDriver: Dialect['createDriver'] = dialect.createDriver.bind(dialect);
    return Object.assign(dialect, { createDriver: () => releasing(createDriver()) });
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
