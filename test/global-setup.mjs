/**
 * One PostgreSQL for all test files, with a migrated database that each of them clones. Uses the built service. Where
 * TEST_DATABASE_URL names one already, that is used and left running.
 */
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export default async function setup() {
  if (process.env.TEST_DATABASE_URL) return;
  const { startPostgres } = await import('../dist/libs/embedded-postgres/index.js');
  const { migrate } = await import('../dist/src/platform/database/migrate.js');
  const { migrations } = await import('../dist/src/migrations.js');
  const folder = mkdtempSync(path.join(tmpdir(), 'atelier-test-'));
  // PostgreSQL has an account of its own where we are root.
  chmodSync(folder, 0o755);
  const postgres = await startPostgres({
    dataDir: path.join(folder, 'postgres'),
    database: 'atelier_template',
    durable: false,
    settings: { max_connections: '300' },
  });
  await migrate(postgres.url, migrations);
  process.env.TEST_DATABASE_URL = postgres.url;
  globalThis.atelierTest = { folder, postgres };
}
