import { existsSync, readFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import type { Host } from './host.js';
import { openDatabase } from './open-database.js';
import { CannotStart, Config, mistypedSettings, unknownSettings } from './platform/config/index.js';
import { createLog, type Log, survivesLostOutput } from './platform/log/index.js';
import { requireDataDir, sentenceFor } from './start-failure.js';

const SHELL = '/bin/sh';
const ENV_FILE = '--env-file=';

/**
 * process.exit() may hang: it joins V8's compiler threads, which may wait for a garbage collection that never comes
 * (https://github.com/nodejs/node/issues/54918). Replacing the process by a program that only exits joins nothing and keeps
 * the exit code. No `exit` listeners run, nor what Node.js does at an exit: compiled code is kept here (NODE_COMPILE_CACHE).
 */
function leave(code: 0 | 1): void {
  flushCompileCache();
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

const USAGE =
  'There is no such command; use `npm start -- set-password EMAIL` or `npm start -- set-email OLD NEW`, or no command to start the service';

/** Whether the service is not to be started: the operator wants one thing done, which may be while it runs. */
function isOperatorCommand([name, ...rest]: readonly string[]): boolean {
  return (name === 'set-password' && rest.length === 1) || (name === 'set-email' && rest.length === 2);
}

/** The settings for it: no jobs, and no more in the log than what goes wrong. */
const operatorEnvironment = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  LOG_LEVEL: 'error',
  ...environment,
  ROLE: 'api',
});

function warnOfUnknownSettings(log: Log): void {
  const mistyped = mistypedSettings(process.env);
  for (const [name, setting] of mistyped)
    log.warn({ name, setting }, `${name} is not a setting and has no effect; did you mean ${setting}?`);
  const files = process.execArgv
    .filter(flag => flag.startsWith(ENV_FILE))
    .map(flag => flag.slice(ENV_FILE.length));
  for (const file of files)
    for (const name of unknownSettings(readFileSync(file, 'utf8')))
      if (!mistyped.has(name))
        log.warn(
          { name, file },
          `${name} in ${file} is not a setting of Atelier; docs/settings.md lists all`,
        );
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

survivesLostOutput();
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
  warnOfUnknownSettings(log);
  // A gateway only reads there.
  if (config.role !== 'gateway') requireDataDir(config);
  const host: Host = {
    config,
    log,
    command,
    started: stop => started.push(stop),
    done: () => void end().finally(() => leave(0)),
    failed: error => {
      if (!ending) stopWith(log, error);
    },
  };
  const opening = openDatabase(host);
  // Its failure is reported when it is waited for.
  opening.catch(() => undefined);
  // Loading it takes a while: wrong settings are reported first, and the database starts meanwhile.
  const { start } = await import('./start.js');
  await start(host, opening);
} catch (error) {
  // What is stopped while it starts fails to.
  if (!ending) stopWith(log, error);
}
