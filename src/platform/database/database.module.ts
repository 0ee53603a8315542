import type { AnyEntity, EntityClass } from '@mikro-orm/core';
import { MikroOrmModule } from '@mikro-orm/nestjs';
import { DynamicModule, Global, Module } from '@nestjs/common';
import { Config } from '../config/config.js';
import { DatabaseConnection } from './connection.js';
import { Database } from './database.js';
import { ormOptions } from './orm.js';
import { ReleasingDriver } from './releasing-driver.js';

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
          inject: [DatabaseConnection, Config],
          useFactory: (connection: DatabaseConnection, config: Config) => ({
            ...ormOptions(connection.connectionString, entities, config.databasePool),
            registerRequestContext: false,
          }),
        }),
      ],
      providers: [Database],
      exports: [Database],
    };
  }
}
