import { AsyncLocalStorage } from 'node:async_hooks';
import { LoggerService } from '@nestjs/common';
import { Logger, pino, stdSerializers } from 'pino';
import { Config } from '../config/index.js';
import { lineWriter } from './output.js';
import { sourceStack } from './source-stack.js';

/** What an error may say of itself besides its message; all else (rows, statements, bodies, headers) may hold secrets. */
const SHOWN = [
  'code',
  'severity',
  'schema',
  'table',
  'column',
  'constraint',
  'routine',
  'status',
  'statusCode',
  'syscall',
  'address',
  'port',
];

/** Secrets that tell themselves by their form: passwords in addresses, our keys, tokens, keys of model providers. */
const SECRETS = [
  /(?<=:\/\/[^\s/:@]*:)[^\s/@]+(?=@)/g,
  /\batl_[\w-]{20,}/g,
  /\beyJ[\w-]{10,}\.[\w-]+\.[\w-]+/g,
  /(?<=\b(?:Bearer|Basic) )[\w.~+/=-]{8,}/gi,
  /\bsk-[\w-]{12,}/g,
];

/** What is beyond is cut off: looking for secrets takes a time that grows faster than the text. */
const MAX_CHARACTERS = 10_000;

/** Text without what looks like a secret, and no longer than a log can use. */
export const withoutSecrets = (text: string): string =>
  SECRETS.reduce(
    (hidden, secret) => hidden.replace(secret, '[hidden]'),
    text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text,
  );

/** An error as the log shows it. Its causes are part of its message and stack. */
export function errorFields(error: unknown): object {
  if (!(error instanceof Error)) return { message: withoutSecrets(String(error)) };
  const { type, message, stack } = stdSerializers.err(error);
  const shown = SHOWN.flatMap(name => {
    const value = (error as unknown as Record<string, unknown>)[name];
    return typeof value === 'string' || typeof value === 'number' ? [[name, value]] : [];
  });
  const parts = error instanceof AggregateError ? { errors: error.errors.map(errorFields) } : {};
  const text = { type, message: withoutSecrets(message), stack: withoutSecrets(sourceStack(stack ?? '')) };
  return { ...text, ...Object.fromEntries(shown), ...parts };
}

/** Ids in every line that is logged below: the request, the run and the workspace at work. */
export interface LogContext {
  request_id?: string;
  run_id?: string;
  workspace_id?: string;
}

const contexts = new AsyncLocalStorage<LogContext>();

/** Runs `work` so that what it logs, also later and asynchronously, has `context`. */
export function withLogContext<T>(context: LogContext, work: () => T): T {
  return contexts.run({ ...contexts.getStore(), ...context }, work);
}

/** Adds ids that became known in the middle of a request. */
export function addLogContext(context: LogContext): void {
  const current = contexts.getStore();
  if (current) Object.assign(current, context);
}

const NEVER_LOGGED = [
  'password',
  'secret',
  'token',
  'access_token',
  'refresh_token',
  'api_key',
  'authorization',
  'cookie',
  'headers',
].flatMap(name => [name, `*.${name}`]);

/** One line for a person: time, level, message, then the ids and the error, if any. */
function textLine(line: string): string {
  const { level, time, msg, err, ...rest } = JSON.parse(line);
  const details = Object.entries(rest).map(
    ([key, value]) => `${key}=${typeof value === 'object' ? JSON.stringify(value) : value}`,
  );
  const tail = details.length > 0 ? `  ${details.join(' ')}` : '';
  const stack = err?.stack ? `\n${err.stack}` : '';
  return `${String(time).slice(11, 19)} ${String(level).padEnd(5)} ${msg ?? ''}${tail}${stack}\n`;
}

/** The process's logger: structured, one line an event, never a secret. */
export function createLog(config: Pick<Config, 'logLevel' | 'logFormat'>, out = process.stdout): Logger {
  const asText = config.logFormat === 'text' || (config.logFormat === 'auto' && out.isTTY === true);
  return pino(
    {
      level: config.logLevel,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      serializers: { err: errorFields },
      redact: { paths: NEVER_LOGGED, censor: '[hidden]' },
      mixin: () => contexts.getStore() ?? {},
    },
    asText ? lineWriter(out, textLine) : lineWriter(out),
  );
}

/** Injection token of the process's logger. */
export abstract class Log {
  abstract debug(fields: object, message: string): void;
  abstract info(fields: object, message: string): void;
  abstract warn(fields: object, message: string): void;
  abstract error(fields: object, message: string): void;
}

/** Nest's own messages through the same logger: its start-up chatter at debug, the rest as it is. */
export class NestLog implements LoggerService {
  constructor(private readonly to: Log) {}

  log(message: unknown, context?: string): void {
    this.to.debug({ context }, String(message));
  }

  warn(message: unknown, context?: string): void {
    this.to.warn({ context }, withoutSecrets(String(message)));
  }

  error(message: unknown, stack?: string, context?: string): void {
    this.to.error(
      { context, stack: stack && withoutSecrets(sourceStack(stack)) },
      withoutSecrets(String(message)),
    );
  }
}
