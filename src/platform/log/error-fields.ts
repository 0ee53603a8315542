import { stdSerializers } from 'pino';

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
  const text = { type, message: withoutSecrets(message), stack: withoutSecrets(stack ?? '') };
  return { ...text, ...Object.fromEntries(shown), ...parts };
}
