import path from 'node:path';
import { findRunningPostgres, startPostgres } from '#libs/embedded-postgres/index.js';
import type { ServiceParts } from './app.module.js';
import { FirstBoot, welcome } from './first-boot.js';
import { GatewayProcesses } from './gateway-processes.js';
import { GatewayProcess } from './hosting/gateway/index.js';
import { SetupToken } from './identity/auth/index.js';
import { migrations } from './migrations.js';
import { operate } from './operator.js';
import { CannotStart, type Config } from './platform/config/index.js';
import { migrate } from './platform/database/index.js';
import { requireRedis } from './platform/jobs/index.js';
import type { Log } from './platform/log/index.js';
import { createServer, createWorker } from './server.js';
import { listenFailure } from './start-failure.js';

/** The process that the service runs in. */
export interface Host {
  readonly config: Config;
  readonly log: Log;
  /** What the operator wants done instead, if anything. */
  readonly command: readonly string[];
  /** Takes what ends a part that was started; the last is ended first. */
  readonly started: (stop: () => Promise<unknown>) => void;
  /** Ends the process. */
  readonly done: () => void;
  /** Ends the process because of `error`, unless it ends already. */
  readonly failed: (error: unknown) => void;
}

const postgresDir = ({ dataDir }: Config) => path.join(dataDir, 'postgres');

async function openDatabase({ config, log, command, started, failed }: Host): Promise<string> {
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

/** Sites and servers alone: in this process, or in several that share its port. */
async function startGateway({ config, log, started, done }: Host, parts: ServiceParts): Promise<void> {
  if (config.gatewayProcesses > 1) {
    const processes = new GatewayProcesses(config, log);
    started(() => processes.stop());
    await processes.start();
  } else {
    const context = await createWorker(parts);
    started(() => context.close());
    const gateway = context.get(GatewayProcess, { strict: false });
    started(() => gateway.close());
    await gateway.listen().catch(error => {
      throw listenFailure(error, config);
    });
    process.send?.('listening');
    // Whoever started this process has ended without a word.
    process.once('disconnect', done);
  }
  log.info({ port: config.port, role: config.role }, 'listening');
}

/** Starts the service; or does what the operator wants, and ends the process. */
export async function start(host: Host): Promise<void> {
  const { config, log, command, started, done } = host;
  if (config.redisUrl) await requireRedis(config.redisUrl);
  const connectionString = await openDatabase(host);
  await migrate(connectionString, migrations);
  const parts = { config, log, database: { connectionString } };
  if (config.role === 'gateway') return startGateway(host, parts);
  if (command.length > 0) {
    await operate(parts, command);
    return done();
  }
  if (!config.servesHttp) {
    const worker = await createWorker(parts);
    started(() => worker.close());
    log.info({ role: config.role }, 'working');
    return;
  }
  const app = await createServer(parts);
  started(() => app.close());
  const credentials = config.databaseUrl ? undefined : await new FirstBoot(app, config).credentials();
  const setupToken = await app.get(SetupToken, { strict: false }).renew();
  if (setupToken)
    log.warn({}, `The first account to register owns this installation; its setup_token is ${setupToken}`);
  await app.listen(config.port, config.host).catch(error => {
    throw listenFailure(error, config);
  });
  log.info({ port: config.port, role: config.role }, 'listening');
  process.stdout.write(welcome(config, credentials));
}
