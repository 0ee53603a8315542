import type { ServiceParts } from './app.module.js';
import { FirstBoot, welcome } from './first-boot.js';
import { GatewayProcesses } from './gateway-processes.js';
import type { Host } from './host.js';
import { GatewayProcess } from './hosting/gateway/index.js';
import { SetupToken } from './identity/auth/index.js';
import { migrations } from './migrations.js';
import { operate } from './operator.js';
import type { Config } from './platform/config/index.js';
import { migrate } from './platform/database/index.js';
import { requireRedis } from './platform/jobs/index.js';
import { createServer, createWorker } from './server.js';
import { listenFailure } from './start-failure.js';

/** Registers the end of a part while it is created: one that is to stop meanwhile closes before the database that it uses. */
function created<T extends { close(): Promise<unknown> }>(
  { started }: Host,
  creating: Promise<T>,
): Promise<T> {
  started(async () => {
    const part = await creating.catch(() => undefined);
    await part?.close();
  });
  return creating;
}

/** Sites and servers alone: in this process, or in several that share its port. */
async function startGateway(host: Host, parts: ServiceParts): Promise<void> {
  const { config, log, started, done } = host;
  if (config.gatewayProcesses > 1) {
    const processes = new GatewayProcesses(config, log);
    started(() => processes.stop());
    await processes.start();
  } else {
    const context = await created(host, createWorker(parts));
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

/** The address of the database. Waits for both, so that what was started is known when one of them fails. */
async function stores({ redisUrl }: Config, opening: Promise<string>): Promise<string> {
  const [redis, database] = await Promise.allSettled([redisUrl && requireRedis(redisUrl), opening]);
  if (redis.status === 'rejected') throw redis.reason;
  if (database.status === 'rejected') throw database.reason;
  return database.value;
}

/** Starts the service; or does what the operator wants, and ends the process. `opening` gives the address of the database. */
export async function start(host: Host, opening: Promise<string>): Promise<void> {
  const { config, log, command, done } = host;
  const connectionString = await stores(config, opening);
  await migrate(connectionString, migrations);
  const parts = { config, log, database: { connectionString } };
  if (config.role === 'gateway') return startGateway(host, parts);
  if (command.length > 0) {
    await operate(parts, command);
    return done();
  }
  if (!config.servesHttp) {
    await created(host, createWorker(parts));
    log.info({ role: config.role }, 'working');
    return;
  }
  const app = await created(host, createServer(parts));
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
