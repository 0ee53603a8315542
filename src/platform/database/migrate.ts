import type { MigrationObject } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/postgresql';
import { runMigrations } from 'bullmq';
import type pg from 'pg';
import { CONNECTION_SETTINGS, ResilientClient, withQueryDeadline } from '#libs/resilient-postgres/index.js';
import { CannotStart } from '../config/index.js';
import { ormOptions } from './database.module.js';

/** Any number of processes may start at once: the first migrates, the others wait for it. */
const MIGRATION_LOCK = 0x41544c52;

/** Brings the schema of the service and of its queue up to date. `migrations` are all that there are, in their order. */
export async function migrate(
  connectionString: string,
  migrations: readonly MigrationObject[],
): Promise<void> {
  const client = new ResilientClient({ connectionString, ...CONNECTION_SETTINGS });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const done = await migrated(client, migrations);
    if (done.length < migrations.length) await migrateService(connectionString, migrations);
    await runMigrations(client);
  } finally {
    await client.end();
  }
}

async function migrateService(
  connectionString: string,
  migrationsList: readonly MigrationObject[],
): Promise<void> {
  const orm = await MikroORM.init({
    ...ormOptions(connectionString, [], 2),
    migrations: {
      migrationsList: [...migrationsList],
      transactional: true,
      allOrNothing: true,
      snapshot: false,
      silent: true,
      tableName: 'migration',
    },
  });
  try {
    // A migration takes as long as it takes.
    await withQueryDeadline(0, () => orm.migrator.up());
  } finally {
    await orm.close(true);
  }
}

/** The names of the migrations that this database has had. Refuses a database that another version has made. */
async function migrated(client: pg.Client, migrations: readonly MigrationObject[]): Promise<string[]> {
  const { rows: tables } = await client.query(`select to_regclass('migration') is not null as present`);
  if (!tables[0].present) return [];
  const { rows } = await client.query<{ name: string }>('select name from migration');
  const known = new Set(migrations.map(({ name }) => name));
  const done = rows.map(({ name }) => name);
  if (done.every(name => known.has(name))) return done;
  if (done.some(name => known.has(name)))
    throw new CannotStart(
      'The database was made by a newer version of Atelier; start that version, or restore a backup from before.',
    );
  throw new CannotStart(
    'The database was made by a pre-release of Atelier, which this version cannot read; start with an empty DATA_DIR, or with an empty database in DATABASE_URL.',
  );
}
