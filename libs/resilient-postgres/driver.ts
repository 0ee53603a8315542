import { type Configuration, PostgreSqlConnection, PostgreSqlDriver } from '@mikro-orm/postgresql';
import {
  type AbortableOperationOptions,
  type DatabaseConnection,
  PostgresDialect,
  PostgresDriver,
  type TransactionSettings,
} from 'kysely';
import type { Pool, PoolConfig } from 'pg';
import { queryDeadline } from './deadline.js';
import type { PoolWatch } from './pool-watch.js';
import { isInTransaction, SecondConnection } from './transaction-scope.js';

/** How the connections of a pool may be used. */
export interface PoolRules {
  /** Called when a transaction is about to wait for a second connection; an error that it throws prevents that. */
  readonly onSecondConnection?: (error: SecondConnection) => void;
  /** Watches the connections; a function, because MikroORM copies the options. */
  readonly watch?: () => PoolWatch;
  /** Called with the pool once it is opened. */
  readonly onPool?: (pool: Pool) => void;
}

/** The pool's error when no connection became free in time. */
const ALL_TAKEN = 'timeout exceeded when trying to connect';

/**
 * Kysely's driver, with deadlines for connections. Kysely never releases a connection whose `begin` or `rollback` failed, as
 * they do on a lost connection, and the pool would shrink with each loss. This driver releases it, and the pool discards it.
 */
class ResilientKyselyDriver extends PostgresDriver {
  private readonly watch: PoolWatch | undefined;

  constructor(
    pool: Pool,
    private readonly rules: PoolRules,
  ) {
    super({ pool });
    this.watch = rules.watch?.();
  }

  /** Waits until the deadline of the caller; the pool's own timeout is shorter than that of background work. */
  override async acquireConnection(options?: AbortableOperationOptions): Promise<DatabaseConnection> {
    if (isInTransaction()) this.rules.onSecondConnection?.(new SecondConnection());
    const end = performance.now() + queryDeadline();
    for (;;)
      try {
        this.watch?.asked();
        const connection = await super.acquireConnection(options);
        this.watch?.moved();
        return connection;
      } catch (error) {
        const areAllTaken = (error as Error).message === ALL_TAKEN;
        if (!areAllTaken) this.watch?.moved();
        if (!areAllTaken || performance.now() >= end) throw error;
      }
  }

  override releaseConnection(connection: DatabaseConnection): Promise<void> {
    this.watch?.moved();
    return super.releaseConnection(connection as Parameters<PostgresDriver['releaseConnection']>[0]);
  }

  override async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings) {
    try {
      await super.beginTransaction(connection, settings);
    } catch (error) {
      await this.releaseConnection(connection);
      throw error;
    }
  }

  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    // The server has undone the transaction of a lost connection; the statement that failed first says why.
    await Promise.allSettled([super.rollbackTransaction(connection)]);
  }
}

class ResilientDialect extends PostgresDialect {
  constructor(
    private readonly pool: Pool,
    private readonly rules: PoolRules,
  ) {
    super({ pool });
  }

  override createDriver(): PostgresDriver {
    return new ResilientKyselyDriver(this.pool, this.rules);
  }
}

class ResilientConnection extends PostgreSqlConnection {
  override createKyselyDialect({ onPool, watch, ...given }: PoolConfig & PoolRules): PostgresDialect {
    let pool: Pool | undefined;
    const onPoolCreated = (opened: Pool) => {
      pool = opened;
    };
    super.createKyselyDialect({ ...given, onPoolCreated } as PoolConfig);
    if (!pool) throw new Error('MikroORM opened no connection pool');
    onPool?.(pool);
    return new ResilientDialect(pool, { ...given, ...(watch && { watch }) });
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
