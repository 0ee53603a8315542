import type { AnyEntity, EntityClass } from '@mikro-orm/core';
import { ReflectMetadataProvider } from '@mikro-orm/decorators/legacy';
import { MikroOrmModule } from '@mikro-orm/nestjs';
import { defineConfig, Options } from '@mikro-orm/postgresql';
import { DynamicModule, Global, Module } from '@nestjs/common';
import type { PoolConfig } from 'pg';
import { Config } from '../config/index.js';
import { Log } from '../log/index.js';
import { CONNECTION_SETTINGS, DatabaseClient, DatabaseConnection } from './client.js';
import { Database } from './database.js';
import { CHORE_QUERY_MS, type PoolRules, PoolWatch, QUERY_MS, ReleasingDriver } from './pool.js';

/** MikroORM's settings; `entities` is empty where only migrations run. */
export function ormOptions(
  connectionString: string,
  entities: EntityClass<AnyEntity>[],
  poolSize: number,
  rules: PoolRules & PoolConfig = {},
): Options {
  const url = new URL(connectionString);
  return defineConfig({
    driver: ReleasingDriver,
    metadataProvider: ReflectMetadataProvider,
    entities,
    discovery: { warnWhenNoEntities: false },
    driverOptions: { connectionString, Client: DatabaseClient, ...CONNECTION_SETTINGS, ...rules },
    host: decodeURIComponent(url.hostname),
    dbName: decodeURIComponent(url.pathname.slice(1)),
    pool: { min: 0, max: poolSize },
    schemaGenerator: { ignoreSchema: ['bullmq'] },
    allowGlobalContext: false,
    forceUtcTimezone: true,
  });
}

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
