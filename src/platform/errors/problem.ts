import { LimitReached } from '#libs/concurrency-limit/index.js';
import { HttpRefusal } from '#libs/fastify-hardening/index.js';
import { isOrphan } from '#libs/resilient-postgres/index.js';

/**
 * What a caller did wrong, or what keeps us from doing it: an HTTP status and one sentence a person can act on.
 * Domain code throws one of the classes below; the filter turns it into `{"detail"}`.
 */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly detail: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
  }
}

const statusClass = (status: number) =>
  class extends Problem {
    constructor(detail: string, headers?: Readonly<Record<string, string>>) {
      super(status, detail, headers);
    }
  };

export class BadRequest extends statusClass(400) {}
export class Unauthorized extends statusClass(401) {
  constructor(detail: string) {
    super(detail, { 'www-authenticate': 'Bearer' });
  }
}
export class PaymentRequired extends statusClass(402) {}
export class Forbidden extends statusClass(403) {}
export class NotFound extends statusClass(404) {}
export class Conflict extends statusClass(409) {}
export class Gone extends statusClass(410) {}
export class PreconditionFailed extends statusClass(412) {}
export class TooLarge extends statusClass(413) {}
export class UnsupportedMediaType extends statusClass(415) {}
export class Invalid extends statusClass(422) {}
export class TooManyRequests extends statusClass(429) {}
export class Unavailable extends statusClass(503) {}
/** A disk is full (RFC 4918 section 11.5). */
export class InsufficientStorage extends statusClass(507) {}

type Translation = (error: Error) => Problem;
const translations = new Map<abstract new (...args: never[]) => Error, Translation>();

/** Says once how the errors of a library answer over HTTP, so that no service wraps its calls. */
export function translateErrors<E extends Error>(
  type: abstract new (...args: never[]) => E,
  translate: (error: E) => Problem,
): void {
  translations.set(type, error => translate(error as E));
}

translateErrors(HttpRefusal, ({ status, message, headers }) => new Problem(status, message, headers));
translateErrors(LimitReached, ({ message }) => new TooManyRequests(message, { 'retry-after': '5' }));

const DISK_FULL = "The disk of the service's data (DATA_DIR) is full; free some space there, and try again";
const DISK_FULL_CODES: unknown[] = ['ENOSPC', 'EDQUOT'];

/** Whether the operating system had no room for what the service keeps itself, beside the workspaces. */
function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return DISK_FULL_CODES.includes((error as NodeJS.ErrnoException).code) || isDiskFull(error.cause);
}

/** The problem that `error` stands for; undefined for a bug of ours. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  for (const [type, translate] of translations) if (error instanceof type) return translate(error);
  if (isDiskFull(error)) return new InsufficientStorage(DISK_FULL);
  return isOrphan(error) ? new NotFound('What this belongs to was deleted meanwhile') : undefined;
}

/** What is wrong with what was asked for; undefined where nothing is. Faults of ours are thrown. */
export async function problemIn(asked: Promise<unknown>): Promise<Problem | undefined> {
  try {
    await asked;
    return undefined;
  } catch (error) {
    const problem = problemOf(error);
    if (!problem) throw error;
    return problem;
  }
}

/** Says of what cannot be seen the same as of what is not there, whatever it is that keeps it from being seen. */
export async function unseenAs<T>(detail: string, look: Promise<T>): Promise<T> {
  try {
    return await look;
  } catch (error) {
    if (problemOf(error)?.status === 404) throw new NotFound(detail);
    throw error;
  }
}
