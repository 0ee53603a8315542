import path from 'node:path';
import { findRunningPostgres, startPostgres } from '#libs/embedded-postgres/index.js';
import type { Host } from './host.js';
import { CannotStart, type Config } from './platform/config/index.js';

const postgresDir = ({ dataDir }: Config) => path.join(dataDir, 'postgres');

/** The address of the database: of the server in DATABASE_URL, else of one that is started here. */
export async function openDatabase({ config, log, command, started, failed }: Host): Promise<string> {
  if (config.databaseUrl) return config.databaseUrl;
  const running = command.length > 0 && findRunningPostgres(postgresDir(config), 'atelier');
  if (running) return running;
  const postgres = await startPostgres({
    dataDir: postgresDir(config),
    database: 'atelier',
    log: line => log.debug({}, `postgres: ${line}`),
  });
  started(() => postgres.stop());
  void postgres.exited.then(() =>
    failed(new CannotStart('The embedded PostgreSQL ended by itself; start Atelier again.')),
  );
  return postgres.url;
}
