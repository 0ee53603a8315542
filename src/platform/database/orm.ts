import type { AnyEntity, EntityClass } from '@mikro-orm/core';
import { ReflectMetadataProvider } from '@mikro-orm/decorators/legacy';
import { defineConfig, Options } from '@mikro-orm/postgresql';
import type { PoolConfig } from 'pg';
import { CONNECTION_SETTINGS, DatabaseClient } from './client.js';
import { type PoolRules, ReleasingDriver } from './releasing-driver.js';

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
