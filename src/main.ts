import { existsSync } from 'node:fs';
import path from 'node:path';
import { findRunningPostgres, startPostgres } from '#libs/embedded-postgres/index.js';
import { FirstBoot, welcome } from './first-boot.js';
import { SetupToken } from './identity/auth/index.js';
import { migrations } from './migrations.js';
import { isOperatorCommand, operate, operatorEnvironment, USAGE } from './operator.js';
import { Config, mistypedSettings } from './platform/config/index.js';
import { migrate } from './platform/database/index.js';
import { requireRedis } from './platform/jobs/index.js';
import { createLog, type Log } from './platform/log/index.js';
import { createServer, createWorker } from './server.js';
import { CannotStart, listenFailure, requireDataDir, sentenceFor } from './start-failure.js';

const SHELL = '/bin/sh';

/**
 * process.exit() may hang: it joins V8's compiler threads, which may wait for a garbage collection that never comes
 * (https://github.com/nodejs/node/issues/54918). Replacing the process by a program that only exits joins nothing and keeps
 * the exit code. No `exit` listeners run.
 */
function leave(code: 0 | 1): void {
  if (process.execve && existsSync(SHELL)) process.execve(SHELL, ['sh', '-c', `exit ${code}`], {});
  process.exit(code);
}

/** How long after DRAIN_SECONDS everything must have ended. */
const STOP_SECONDS = 5;

/** What was started, in order; ended in reverse. */
const started: (() => Promise<unknown>)[] = [];
let ending: Promise<void> | undefined;
let config: Config | undefined;
let log: ReturnType<typeof createLog> | undefined;

/** If something hangs, the process still ends; others take over its leases as after a crash. */
function leaveByDeadline(): void {
  const seconds = (config?.drainSeconds ?? 0) + STOP_SECONDS;
  setTimeout(() => {
    log?.error({ seconds }, 'stopped by force: something did not end in time');
    leave(1);
  }, seconds * 1000).unref();
}

function end(): Promise<void> {
  if (!ending) leaveByDeadline();
  ending ??= started.reduceRight((before, stop) => before.then(() => endOne(stop)), Promise.resolve());
  return ending;
}

/** A step that fails does not stop the others. */
async function endOne(stop: () => Promise<unknown>): Promise<void> {
  try {
    await stop();
  } catch (error) {
    log?.error({ err: error }, 'shutdown step failed');
  }
}

const command = process.argv.slice(2);
const postgresDir = ({ dataDir }: Config) => path.join(dataDir, 'postgres');

async function openDatabase(config: Config, log: Log): Promise<string> {
  if (config.databaseUrl) return config.databaseUrl;
  const running = isOperatorCommand(command) && findRunningPostgres(postgresDir(config), 'atelier');
  if (running) return running;
  const postgres = await startPostgres({
    dataDir: postgresDir(config),
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
  for (const [name, setting] of mistypedSettings(process.env))
    log.warn({ name, setting }, `${name} is not a setting and has no effect; did you mean ${setting}?`);
  requireDataDir(config);
  if (config.redisUrl) await requireRedis(config.redisUrl);
  const connectionString = await openDatabase(config, log);
  await migrate(connectionString, migrations);
  const parts = { config, log, database: { connectionString } };
  if (isOperatorCommand(command)) {
    await operate(parts, command);
    void end().finally(() => leave(0));
    return;
  }
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
  await app.listen(config.port, config.host).catch(error => {
    throw listenFailure(error, config);
  });
  log.info({ port: config.port, role: config.role }, 'listening');
  process.stdout.write(welcome(config, credentials));
}

function stopWith(log: Log | undefined, error: unknown): void {
  const sentence = sentenceFor(error);
  if (!sentence) log?.error({ err: error }, 'cannot start');
  // The log may be off.
  process.stderr.write(`\nAtelier cannot run: ${sentence ?? String(error)}\n`);
  void end().finally(() => leave(1));
}

/**
 * An unexpected error, also in a promise without a handler: the process ends, as its state may be wrong. Others take over its
 * leases as after a crash.
 */
function endByFault(error: unknown): void {
  log?.error({ err: error }, 'an unexpected fault ends this process');
  process.stderr.write('\nAtelier ended: an unexpected fault, which is in the log.\n');
  void end().finally(() => leave(1));
}

try {
  if (command.length > 0 && !isOperatorCommand(command)) throw new CannotStart(USAGE);
  config = Config.from(isOperatorCommand(command) ? operatorEnvironment(process.env) : process.env);
  log = createLog(config);
  process.on('uncaughtException', endByFault);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      log?.info({ signal }, 'stopping');
      void end().finally(() => leave(0));
    });
  await start(config, log);
} catch (error) {
  stopWith(log, error);
}
