/**
 * One PostgreSQL for all test files, with a migrated database that each of them clones. Uses the built service. Where
 * TEST_DATABASE_URL names one already, that is used and left running.
 */
import { chmodSync, existsSync, mkdtempSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import path from 'node:path';

const SHARED_MEMORY = '/dev/shm';
const TMPFS = 0x01021994;
/** Ten times what a whole run was seen to take at once. */
const ROOM = 4 * 1024 ** 3;

export default async function setup() {
  if (process.env.TEST_DATABASE_URL) return;
  const { startPostgres } = await import('../dist/libs/embedded-postgres/index.js');
  const { migrate } = await import('../dist/src/platform/database/migrate.js');
  const { migrations } = await import('../dist/src/migrations.js');
  const folder = mkdtempSync(path.join(placeOfData(), 'atelier-test-'));
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

/** Memory where there is plenty: a clone is 1,100 files, which takes a disk twenty times as long. */
function placeOfData() {
  if (!existsSync(SHARED_MEMORY) || freemem() < ROOM) return tmpdir();
  const { type, bavail, bsize } = statfsSync(SHARED_MEMORY);
  return type === TMPFS && bavail * bsize >= ROOM ? SHARED_MEMORY : tmpdir();
}
