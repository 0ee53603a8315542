import { BadRequest, Forbidden } from '../../../platform/errors/index.js';
import type { WebhookTrigger } from '../../automation/index.js';

/** Sent with a text that a stranger wrote, so that no browser takes it for a page. */
export const ECHO_HEADERS = {
  'content-type': 'text/plain; charset=utf-8',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
  'cache-control': 'no-store',
} as const;

const META = /^[\w.-]{1,200}$/;
/** Printable characters, but none of those that HTML goes by. */
const GRAPH = /^[\x20\x21\x23-\x25\x28-\x3b\x3d\x3f-\x7e]{1,1000}$/;

/**
 * What Meta gets back from `GET ?hub.mode=subscribe&hub.verify_token=…&hub.challenge=…`; undefined where that is not asked.
 * The verify token is the last part of the address.
 */
export function metaChallenge({ challenge }: WebhookTrigger, url: string, token: string): string | undefined {
  const query = queryOf(url);
  if (challenge !== 'meta' || query.get('hub.mode') !== 'subscribe') return undefined;
  if (query.get('hub.verify_token') !== token)
    throw new Forbidden('hub.verify_token is not the last part of the address');
  return echoed('hub.challenge', query.get('hub.challenge') ?? '', META);
}

/** What Microsoft Graph gets back from `POST ?validationToken=…`; undefined where that is not asked. */
export function graphChallenge({ challenge }: WebhookTrigger, url: string): string | undefined {
  const token = queryOf(url).get('validationToken');
  return challenge !== 'graph' || token === null ? undefined : echoed('validationToken', token, GRAPH);
}

const queryOf = (url: string): URLSearchParams => new URL(url, 'http://localhost').searchParams;

function echoed(name: string, text: string, pattern: RegExp): string {
  if (pattern.test(text)) return text;
  throw new BadRequest(`${name} is none that a sender makes: it is not sent back`);
}
