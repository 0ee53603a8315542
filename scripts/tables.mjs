/** `npm run generate:tables`: writes the types of all tables, from a database that is made and migrated for that. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { startPostgres } from '../dist/libs/embedded-postgres/index.js';
import { migrations } from '../dist/src/migrations.js';
import { migrate } from '../dist/src/platform/database/index.js';
import { tableTypes } from '../test/harness/table-types.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'atelier-tables-'));
// PostgreSQL has an account of its own where we are root.
chmodSync(folder, 0o755);
const postgres = await startPostgres({
  dataDir: path.join(folder, 'postgres'),
  database: 'tables',
  durable: false,
});
try {
  await migrate(postgres.url, migrations);
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  writeFileSync('src/platform/database/tables.ts', await tableTypes(client));
  await client.end();
} finally {
  await postgres.stop();
  rmSync(folder, { recursive: true });
}
