import path from 'node:path';
import { ownerOf } from './owner-lock.js';
import { addressOf } from './start-postgres.js';

/** The address of a PostgreSQL that another live process runs on `dataDir`; undefined where none does. */
export function findRunningPostgres(dataDir: string, database: string): string | undefined {
  const owner = ownerOf(`${path.resolve(dataDir)}.lock`);
  return owner && addressOf(owner.socketFolder, database);
}
