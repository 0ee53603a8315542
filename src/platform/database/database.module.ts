import type { AnyEntity, EntityClass } from '@mikro-orm/core';
import { MikroOrmModule } from '@mikro-orm/nestjs';
import { DynamicModule, Global, Module } from '@nestjs/common';
import { Config } from '../config/index.js';
import { Log } from '../log/index.js';
import { DatabaseConnection } from './connection.js';
import { Database } from './database.js';
import { CHORE_QUERY_MS, QUERY_MS } from './deadline.js';
import { ormOptions } from './orm.js';
import { PoolWatch } from './pool-watch.js';
import { ReleasingDriver } from './releasing-driver.js';

/**
 * What the server does by itself where a process does not: it ends statements of processes that are gone, transactions that
 * are left open, and what waits for a lock for ever.
 */
const SESSION_SETTINGS = {
  statement_timeout: CHORE_QUERY_MS,
  idle_in_transaction_session_timeout: CHORE_QUERY_MS,
  lock_timeout: QUERY_MS,
  options: '-c client_connection_check_interval=2000',
};

/** The connection pool and the entities of all features. */
@Global()
@Module({})
export class DatabaseModule {
  static with(entities: EntityClass<AnyEntity>[]): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        MikroOrmModule.forRootAsync({
          driver: ReleasingDriver,
          inject: [DatabaseConnection, Config, Log, PoolWatch],
          useFactory: (connection: DatabaseConnection, config: Config, log: Log, watch: PoolWatch) => ({
            ...ormOptions(connection.connectionString, entities, config.databasePool, {
              ...SESSION_SETTINGS,
              watch: () => watch,
              onPool: pool => {
                watch.pool = pool;
              },
              onSecondConnection: error => {
                log.error({ err: error }, 'database: a transaction asks for a second connection');
                if (connection.refusesSecondConnections) throw error;
              },
            }),
            registerRequestContext: false,
          }),
        }),
      ],
      providers: [Database],
      exports: [Database],
    };
  }
}
