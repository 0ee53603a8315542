import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { standardSignature } from './standard.js';

/** How senders prove that a webhook is theirs. */
export type Scheme = 'standard' | 'github' | 'gitlab' | 'stripe' | 'slack' | 'hmac';

/** A signature of a sender that follows none of the known schemes. */
export interface HmacRule {
  readonly header: string;
  readonly algorithm: 'sha256' | 'sha512' | 'sha1';
  readonly encoding: 'hex' | 'base64';
  /** What stands before the signature, such as `sha256=`. */
  readonly prefix: string;
  /** The header by which a delivery is known again. */
  readonly idHeader: string | null;
}

export interface Received {
  /** By lower-case names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The bytes as they came. */
  readonly body: Buffer;
  readonly now: Date;
}

export type Verdict =
  /** The delivery's own id, where the scheme sends one in a header. */
  { readonly ok: true; readonly key: string | null } | { readonly ok: false; readonly reason: string };

/** Signatures are good for so long, before and after. */
const TOLERANCE_S = 300;
const MAX_SIGNATURES = 20;

/** Whether a webhook was signed with one of the secrets; what is compared is compared in constant time. */
export function verifyWebhook(
  scheme: Scheme,
  received: Received,
  secrets: readonly string[],
  rule: HmacRule | null = null,
): Verdict {
  if (scheme === 'hmac') return rule ? verifyHmac(received, secrets, rule) : refused('No rule is set');
  return VERIFIERS[scheme](received, secrets);
}

const VERIFIERS: Record<
  Exclude<Scheme, 'hmac'>,
  (received: Received, secrets: readonly string[]) => Verdict
> = {
  /** Standard Webhooks 1.0.0. */
  standard(received, secrets) {
    const id = headerOf(received, 'webhook-id');
    const timestamp = headerOf(received, 'webhook-timestamp');
    const given = headerOf(received, 'webhook-signature').split(' ').slice(0, MAX_SIGNATURES);
    if (id === '') return refused('The header webhook-id is missing');
    const stale = staleness(timestamp, received.now);
    if (stale) return stale;
    const expected = secrets.map(secret => standardSignature(secret, { id, timestamp, body: received.body }));
    return anyEqual(expected, given) ? accepted(id) : refused('The signature in webhook-signature is wrong');
  },

  /** docs.github.com, "Validating webhook deliveries". */
  github(received, secrets) {
    const given = headerOf(received, 'x-hub-signature-256');
    if (given === '')
      return refused('The header X-Hub-Signature-256 is missing: give the webhook its secret');
    const expected = secrets.map(secret => `sha256=${hmac('sha256', secret, received.body, 'hex')}`);
    const key = headerOf(received, 'x-github-delivery') || null;
    return anyEqual(expected, [given]) ? accepted(key) : refused('X-Hub-Signature-256 is wrong');
  },

  /** docs.gitlab.com, "Webhooks": the secret itself is sent. */
  gitlab(received, secrets) {
    const given = headerOf(received, 'x-gitlab-token');
    if (given === '') return refused('The header X-Gitlab-Token is missing: give the webhook its secret');
    const key = headerOf(received, 'idempotency-key') || headerOf(received, 'x-gitlab-event-uuid') || null;
    return anyEqual(secrets, [given]) ? accepted(key) : refused('X-Gitlab-Token is wrong');
  },

  /** docs.stripe.com/webhooks, "Verify webhook signatures manually"; the delivery's id is in its body. */
  stripe(received, secrets) {
    const parts = headerOf(received, 'stripe-signature')
      .split(',')
      .slice(0, MAX_SIGNATURES)
      .map(part => part.trim().split('=', 2) as [string, string?]);
    const timestamp = parts.find(([name]) => name === 't')?.[1] ?? '';
    const given = parts.filter(([name]) => name === 'v1').map(([, value = '']) => value);
    const stale = staleness(timestamp, received.now);
    if (stale) return stale;
    const signed = Buffer.concat([Buffer.from(`${timestamp}.`), received.body]);
    const expected = secrets.map(secret => hmac('sha256', secret, signed, 'hex'));
    return anyEqual(expected, given) ? accepted(null) : refused('Stripe-Signature is wrong');
  },

  /** docs.slack.dev, "Verifying requests from Slack"; the delivery's id is in its body. */
  slack(received, secrets) {
    const timestamp = headerOf(received, 'x-slack-request-timestamp');
    const stale = staleness(timestamp, received.now);
    if (stale) return stale;
    const signed = Buffer.concat([Buffer.from(`v0:${timestamp}:`), received.body]);
    const expected = secrets.map(secret => `v0=${hmac('sha256', secret, signed, 'hex')}`);
    const given = headerOf(received, 'x-slack-signature');
    return anyEqual(expected, [given]) ? accepted(null) : refused('X-Slack-Signature is wrong');
  },
};

function verifyHmac(received: Received, secrets: readonly string[], rule: HmacRule): Verdict {
  const { header, algorithm, encoding, prefix, idHeader } = rule;
  const given = headerOf(received, header);
  if (given === '') return refused(`The header ${header} is missing`);
  const expected = secrets.map(secret => prefix + hmac(algorithm, secret, received.body, encoding));
  const sent = encoding === 'hex' ? prefix + given.slice(prefix.length).toLowerCase() : given;
  if (!given.startsWith(prefix) || !anyEqual(expected, [sent])) return refused(`${header} is wrong`);
  return accepted((idHeader && headerOf(received, idHeader)) || null);
}

const accepted = (key: string | null): Verdict => ({ ok: true, key });
const refused = (reason: string): Verdict => ({ ok: false, reason });

const hmac = (algorithm: string, secret: string, body: Buffer, encoding: 'hex' | 'base64'): string =>
  createHmac(algorithm, secret).update(body).digest(encoding);

const headerOf = ({ headers }: Received, name: string): string => [headers[name] ?? ''].flat()[0] ?? '';

function staleness(timestamp: string, now: Date): Verdict | undefined {
  if (!/^\d{1,12}$/.test(timestamp)) return refused('The time of the signature is missing');
  const off = Math.abs(now.getTime() / 1000 - Number(timestamp));
  return off > TOLERANCE_S ? refused(`The signature is older than ${TOLERANCE_S} seconds`) : undefined;
}

/** Of hashes, so that neither lengths nor contents show in the time that it takes. */
function anyEqual(expected: readonly string[], given: readonly string[]): boolean {
  const digests = (texts: readonly string[]) => texts.map(text => hash('sha256', text, 'buffer'));
  const [ours, theirs] = [digests(expected), digests(given)];
  let isEqual = false;
  for (const one of ours) for (const other of theirs) if (timingSafeEqual(one, other)) isEqual = true;
  return isEqual;
}
