import { standardSignature } from '#libs/webhooks/index.js';
import { delayOf } from '../channels/notification-channel.js';

const MAX_BYTES = 20 * 1024;
const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3_600_000];

/** Before each further attempt; the first one comes at once. */
export const RETRY_DELAYS = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  10 * HOUR,
] as const;
const SPREAD = 0.2;

/**
 * How long after so many attempts the next one comes, spread so that not all come back at once, and not before the time that
 * the receiver asked for; undefined after the last.
 */
export function retryDelay(attempts: number, askedMs = 0, random = Math.random()): number | undefined {
  const delay = RETRY_DELAYS[attempts - 1];
  return delay && delayOf(Math.round(delay * (1 + SPREAD * (2 * random - 1))), askedMs);
}

/** The headers of one attempt (Standard Webhooks 1.0.0); several secrets sign while one takes the place of another. */
export function signedHeaders(
  id: string,
  body: string,
  secrets: readonly string[],
  at = new Date(),
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signatures = secrets.map(secret => standardSignature(secret, { id, timestamp, body }));
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}

/** `webhook-id` of a message. */
export const webhookIdOf = (messageId: string): string => `msg_${messageId}`;

/** What is sent, as JSON: ids and links, no words of people. Where that is too much, `data` is left out. */
export function messageBody(type: string, at: Date, data: Record<string, unknown>): string {
  const message = { type, timestamp: at.toISOString() };
  const body = JSON.stringify({ ...message, data });
  return Buffer.byteLength(body) <= MAX_BYTES
    ? body
    : JSON.stringify({ ...message, data: { truncated: true } });
}
