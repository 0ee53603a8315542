import type { AnyEntity, EntityClass } from '@mikro-orm/core';
import { ReflectMetadataProvider } from '@mikro-orm/decorators/legacy';
import { Migrator } from '@mikro-orm/migrations';
import { MikroOrmModule } from '@mikro-orm/nestjs';
import { defineConfig, Options } from '@mikro-orm/postgresql';
import { DynamicModule, Global, Module } from '@nestjs/common';
import type { PoolConfig } from 'pg';
import {
  CONNECTION_SETTINGS,
  type PoolRules,
  PoolWatch,
  PreparingClient,
  QUERY_MS,
  ResilientDriver,
} from '#libs/resilient-postgres/index.js';
import { Config } from '../config/index.js';
import { Log } from '../log/index.js';
import { Database } from './database.js';

/** Where the database is, as the `pg` driver takes it: an address, or the folder of a Unix socket as `host`. */
export abstract class DatabaseConnection {
  abstract readonly connectionString: string;
  /** Whether a transaction that asks for a second connection fails, as in tests; else it is only logged. */
  readonly refusesSecondConnections?: boolean;
}

/** How long a query of a request may take: its caller gets 503 before a usual client times out. */
export const REQUEST_QUERY_MS = 8_000;
/** How long a query of a chore may take, which goes through much at once. */
export const CHORE_QUERY_MS = 15 * 60_000;

/** MikroORM's settings; `entities` is empty where only migrations run. */
export function ormOptions(
  connectionString: string,
  entities: EntityClass<AnyEntity>[],
  poolSize: number,
  rules: PoolRules & PoolConfig = {},
): Options {
  const url = new URL(connectionString);
  return defineConfig({
    driver: ResilientDriver,
    metadataProvider: ReflectMetadataProvider,
    entities,
    // MikroORM looks for extensions that are not named here, and outside of the bundle it loads copies of them and of itself.
    extensions: [Migrator],
    discovery: { warnWhenNoEntities: false },
    driverOptions: { connectionString, Client: PreparingClient, ...CONNECTION_SETTINGS, ...rules },
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
          driver: ResilientDriver,
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
