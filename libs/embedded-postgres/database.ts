import pg from 'pg';
import { superuser } from './cluster.js';

/**
 * Makes the database and a role of the same name that owns it. The role may make further databases (tests clone
 * theirs) but is no superuser: it cannot read files or run programs through SQL.
 */
export async function requireDatabase(host: string, port: number, database: string): Promise<void> {
  const client = new pg.Client({ host, port, user: superuser, database: 'postgres' });
  await client.connect();
  try {
    const name = client.escapeIdentifier(database);
    const role = await client.query('select from pg_roles where rolname = $1', [database]);
    if (role.rowCount === 0) await client.query(`create role ${name} login createdb`);
    const found = await client.query('select from pg_database where datname = $1', [database]);
    if (found.rowCount === 0) await client.query(`create database ${name} owner ${name}`);
  } finally {
    await client.end();
  }
}
