import { setTimeout as sleep } from 'node:timers/promises';

export interface RetryPolicy {
  /** Calls in all, the first one included. */
  attempts: number;
  /** Upper bound of the first wait; it doubles with every attempt. */
  baseMs: number;
  /** Upper bound of any wait, a provider's Retry-After included. */
  maxMs: number;
}

/**
 * How long to wait after the given failed attempt (1, 2, …): exponential back-off with full jitter, so that
 * runs which failed together do not come back together. A provider's own figure is a floor; the jitter is
 * added on top of it.
 */
export function retryDelayMs(
  attempt: number,
  policy: RetryPolicy,
  retryAfterMs = 0,
  random: () => number = Math.random,
): number {
  const ceiling = retryAfterMs > 0 ? policy.baseMs : policy.baseMs * 2 ** (attempt - 1);
  return Math.round(Math.min(policy.maxMs, retryAfterMs + random() * Math.min(ceiling, policy.maxMs)));
}

/**
 * Reads `retry-after-ms` (milliseconds) or `Retry-After` (seconds or an HTTP date, RFC 9110 §10.2.3).
 * Header names are in lower case.
 */
export function readRetryAfter(
  headers: Record<string, string> | undefined,
  now: number = Date.now(),
): number | undefined {
  const milliseconds = nonNegative(headers?.['retry-after-ms']);
  if (milliseconds !== undefined) return milliseconds;
  const value = headers?.['retry-after'];
  const seconds = nonNegative(value);
  if (seconds !== undefined) return seconds * 1000;
  const date = value === undefined ? Number.NaN : Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function nonNegative(value: string | undefined): number | undefined {
  return value !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : undefined;
}

/** Waits, or returns early when the signal aborts; the caller looks at the signal. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
