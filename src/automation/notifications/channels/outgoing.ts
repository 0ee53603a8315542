import { type GuardedFetch, GuardedFetchError, retryAfterMs } from '#libs/guarded-fetch/index.js';
import { Invalid } from '../../../platform/errors/index.js';

/** With these `Retry-After` says when to come back. */
const NOT_NOW = [429, 503];

export interface Answer {
  /** Null: there was no answer. */
  readonly status: number | null;
  /** Why it failed, without secrets; null where it was taken (2xx). */
  readonly reason: string | null;
  /** How long the receiver asks to wait before the next one. */
  readonly askedMs?: number;
}

type Message = {
  headers: Record<string, string>;
  body: string | Uint8Array<ArrayBuffer>;
  signal?: AbortSignal;
  timeoutMs?: number;
};

/** Sends to an address that a person named. Redirects are not followed, and bodies of answers not read. Throws where it is aborted. */
export async function post(outgoing: GuardedFetch, address: string, message: Message): Promise<Answer> {
  try {
    const url = new URL(address);
    outgoing.refuseUnreachable(url);
    const response = await outgoing.fetch(url, { ...message, method: 'POST', redirect: 'manual' });
    await response.body?.cancel();
    const { status, ok, headers } = response;
    const askedMs = NOT_NOW.includes(status) ? retryAfterMs(headers) : undefined;
    return { status, reason: ok ? null : reasonOf(status), askedMs };
  } catch (error) {
    message.signal?.throwIfAborted();
    return { status: null, reason: whyUnanswered(error as FetchFailure) };
  }
}

/** Refuses what will never be sent to. A name may still turn out to lead to a private address when it is. */
export function requireReachable(outgoing: GuardedFetch, address: string, field: string): void {
  const url = URL.parse(address);
  if (!url) throw new Invalid(`${field} must be an address such as https://example.com/hooks`);
  try {
    outgoing.refuseUnreachable(url);
  } catch (error) {
    if (error instanceof GuardedFetchError) throw new Invalid(`${field} cannot be used: ${error.message}`);
    throw error;
  }
}

const reasonOf = (status: number): string =>
  status >= 300 && status < 400
    ? `It answered ${status}; redirects are not followed`
    : `It answered ${status}`;

type FetchFailure = GuardedFetchError | { code?: string; cause?: { code?: string } };

/** Of an error that is not ours to show, only what kind it is. */
function whyUnanswered(error: FetchFailure): string {
  if (error instanceof GuardedFetchError) return error.message;
  return `It could not be reached (${error.cause?.code ?? error.code ?? 'no answer'})`;
}
