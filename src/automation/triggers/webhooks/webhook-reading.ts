import { HttpRefusal } from '#libs/fastify-hardening/index.js';
import { mismatchIn } from '#libs/value-filter/index.js';
import { type HmacRule, type Scheme, verifyWebhook } from '#libs/webhooks/index.js';
import type { WebhookTrigger } from '../../automation/index.js';
import { inputOf, type WebhookInput } from './webhook-body.js';

const MAX_KEY = 200;

/** A webhook as it came, with what its trigger says of such. */
export interface Arrived {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** With a `?` where it has a query. */
  readonly url: string;
  readonly body: Uint8Array;
  /** Milliseconds. */
  readonly at: number;
  readonly config: WebhookTrigger;
  readonly secrets: readonly string[];
}

export type Reading =
  | {
      readonly is: 'taken';
      readonly headers: WebhookInput['headers'];
      /** JSON of headers, query and body. */
      readonly payload: string | Uint8Array;
      /** What tells it from others of its trigger, where its sender says. */
      readonly key: string | null;
      /** Why the filter of its trigger does not let it through; null where it does. */
      readonly filtered: string | null;
      /** What its sender wants to have back, who asks whether the address is the right one. */
      readonly challenge: string | undefined;
    }
  | { readonly is: 'forged'; readonly reason: string }
  | { readonly is: 'refused'; readonly status: number; readonly reason: string };

/** Checks who sent it, then reads it: nothing is parsed before. */
export function readWebhook({ headers, url, body, at, config, secrets }: Arrived): Reading {
  const { verify, hmac, filter } = config;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const verdict = verdictOf(verify, { headers, body: bytes, now: new Date(at) }, secrets, hmac);
  if (!verdict.ok) return { is: 'forged', reason: verdict.reason };
  try {
    const query = new URLSearchParams(url.split('?', 2)[1] ?? '');
    const input = inputOf(headers, query, bytes, hmac?.header);
    return {
      is: 'taken',
      headers: input.headers,
      payload: JSON.stringify(input),
      key: keyOf(config, input, verdict.key),
      filtered: mismatchIn(filter, input),
      challenge: challengeIn(config, input),
    };
  } catch (error) {
    if (!(error instanceof HttpRefusal)) throw error;
    return { is: 'refused', status: error.status, reason: error.message };
  }
}

type Received = Parameters<typeof verifyWebhook>[1];

function verdictOf(
  verify: WebhookTrigger['verify'],
  received: Received,
  secrets: readonly string[],
  rule: HmacRule | null,
): ReturnType<typeof verifyWebhook> {
  if (verify !== 'token') return verifyWebhook(verify satisfies Scheme, received, secrets, rule);
  return { ok: true, key: [received.headers['idempotency-key'] ?? ''].flat()[0] || null };
}

/** Slack asks whether an address is the one that it was given. */
function challengeIn({ verify }: WebhookTrigger, { body }: WebhookInput): string | undefined {
  const { type, challenge } = fieldsOf(body);
  const isAsked = verify === 'slack' && type === 'url_verification' && typeof challenge === 'string';
  return isAsked ? challenge : undefined;
}

function keyOf({ verify }: WebhookTrigger, { body }: WebhookInput, sent: string | null): string | null {
  const { id, event_id } = fieldsOf(body);
  const inBody = verify === 'stripe' ? id : verify === 'slack' ? event_id : undefined;
  const key = typeof inBody === 'string' ? inBody : sent;
  return key === null ? null : key.slice(0, MAX_KEY).toWellFormed().replaceAll('\0', '');
}

const fieldsOf = (body: unknown): Record<string, unknown> =>
  typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
