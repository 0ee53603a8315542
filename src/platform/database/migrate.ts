import { MikroORM } from '@mikro-orm/postgresql';
import { runMigrations } from 'bullmq';
import type pg from 'pg';
import { CONNECTION_SETTINGS, DatabaseClient } from './client.js';
import { withQueryDeadline } from './deadline.js';
import { migrationsList } from './migrations/index.js';
import { ormOptions } from './orm.js';

/** The database cannot be used as it is; the message says what to do. */
export class DatabaseUnusable extends Error {}

/** Any number of processes may start at once: the first migrates, the others wait for it. */
const MIGRATION_LOCK = 0x41544c52;

/** Brings the schema of the service and of its queue up to date. */
export async function migrate(connectionString: string): Promise<void> {
  const client = new DatabaseClient({ connectionString, ...CONNECTION_SETTINGS });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await refuseNewerSchema(client);
    await migrateService(connectionString);
    await runMigrations(client);
  } finally {
    await client.end();
  }
}

async function migrateService(connectionString: string): Promise<void> {
  const orm = await MikroORM.init(ormOptions(connectionString, [], 2));
  try {
    // A migration takes as long as it takes.
    await withQueryDeadline(0, () => orm.migrator.up());
  } finally {
    await orm.close(true);
  }
}

async function refuseNewerSchema(client: pg.Client): Promise<void> {
  const { rows: tables } = await client.query(`select to_regclass('migration') is not null as present`);
  if (!tables[0].present) return;
  const { rows } = await client.query<{ name: string }>('select name from migration');
  const known = new Set(migrationsList.map(({ name }) => name));
  if (rows.some(({ name }) => !known.has(name)))
    throw new DatabaseUnusable(
      'The database was made by a newer version of Atelier; start that version, or restore a backup from before.',
    );
}
