import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { EmbeddedPostgresError, startPostgres } from '#libs/embedded-postgres/index.js';
import { FirstBoot } from './first-boot.js';
import { SetupToken } from './identity/index.js';
import { leave } from './leave.js';
import { Config } from './platform/config/config.js';
import { InvalidSetting } from './platform/config/settings.js';
import { DatabaseUnusable, migrate } from './platform/database/migrate.js';
import { createLog, type Log } from './platform/log/log.js';
import { createServer, createWorker } from './server.js';
import { welcome } from './welcome.js';

/** The service cannot start as things are; the message says what to do. */
class CannotStart extends Error {}

/** What was started, in order; ended in reverse. */
const started: (() => Promise<unknown>)[] = [];
let ending: Promise<void> | undefined;

function end(): Promise<void> {
  ending ??= started.reduceRight(
    (before, stop) => before.then(stop).then(() => undefined),
    Promise.resolve(),
  );
  return ending;
}

async function openDatabase(config: Config, log: Log): Promise<string> {
  if (config.databaseUrl) return config.databaseUrl;
  mkdirSync(config.dataDir, { recursive: true });
  const postgres = await startPostgres({
    dataDir: path.join(config.dataDir, 'postgres'),
    database: 'atelier',
    log: line => log.debug({}, `postgres: ${line}`),
  });
  started.push(() => postgres.stop());
  void postgres.exited.then(() => {
    if (!ending)
      stopWith(log, new CannotStart('The embedded PostgreSQL ended by itself; start Atelier again.'));
  });
  return postgres.url;
}

async function start(config: Config, log: Log): Promise<void> {
  const connectionString = await openDatabase(config, log);
  await migrate(connectionString);
  const parts = { config, log, database: { connectionString } };
  if (!config.servesHttp) {
    const worker = await createWorker(parts);
    started.push(() => worker.close());
    log.info({ role: config.role }, 'working');
    return;
  }
  const app = await createServer(parts);
  started.push(() => app.close());
  const credentials = config.databaseUrl ? undefined : await new FirstBoot(app, config).credentials();
  const setupToken = await app.get(SetupToken, { strict: false }).renew();
  if (setupToken)
    log.warn({}, `The first account to register owns this installation; its setup_token is ${setupToken}`);
  await app.listen(config.port, config.host);
  log.info({ port: config.port, role: config.role }, 'listening');
  process.stdout.write(welcome(config, credentials));
}

/** A failure that an operator can mend, in words; undefined for a bug of ours. */
function sentenceFor(error: unknown, config: Config | undefined): string | undefined {
  const known = [InvalidSetting, EmbeddedPostgresError, DatabaseUnusable, CannotStart];
  if (known.some(type => error instanceof type)) return (error as Error).message;
  const { code, message } = (error ?? {}) as { code?: string; message?: string };
  if (code === 'EADDRINUSE')
    return `Port ${config?.port} is in use; stop what listens there, or set PORT to another.`;
  if (code === 'EACCES' && message?.includes('listen'))
    return `Port ${config?.port} may not be used; set PORT to one above 1023.`;
  if (code === 'ENOSPC') return 'The disk is full; free some space and start again.';
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === '28P01' || code === '3D000')
    return `The database in DATABASE_URL cannot be used: ${message}.`;
  return undefined;
}

function stopWith(log: Log | undefined, error: unknown, config?: Config): void {
  const sentence = sentenceFor(error, config);
  if (sentence) process.stderr.write(`\nAtelier cannot run: ${sentence}\n`);
  else if (log) log.error({ err: error }, 'cannot start');
  else process.stderr.write(`${String(error)}\n`);
  void end().finally(() => leave(1));
}

let config: Config | undefined;
let log: ReturnType<typeof createLog> | undefined;
try {
  config = Config.from(process.env);
  log = createLog(config);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      log?.info({ signal }, 'stopping');
      void end().finally(() => leave(0));
    });
  await start(config, log);
} catch (error) {
  stopWith(log, error, config);
}
