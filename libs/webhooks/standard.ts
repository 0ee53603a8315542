import { createHmac, randomBytes } from 'node:crypto';

/** What secrets of Standard Webhooks begin with. */
export const STANDARD_PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** As Standard Webhooks has it: `whsec_` and 24 to 64 bytes in base64. */
export const newStandardSecret = (): string => STANDARD_PREFIX + randomBytes(SECRET_BYTES).toString('base64');

/** One entry of `webhook-signature` (Standard Webhooks 1.0.0): `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`. */
export function standardSignature(
  secret: string,
  { id, timestamp, body }: { id: string; timestamp: string; body: Buffer | string },
): string {
  const encoded = secret.startsWith(STANDARD_PREFIX) ? secret.slice(STANDARD_PREFIX.length) : secret;
  const mac = createHmac('sha256', Buffer.from(encoded, 'base64'));
  return `v1,${mac.update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
}
