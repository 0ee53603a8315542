import type { IncomingHttpHeaders } from 'node:http';

export interface Asked {
  readonly method?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

const isSafe = ({ method = 'GET' }: Asked): boolean => method === 'GET' || method === 'HEAD';

/** Whether a person opens an address in a tab of their own. Frames are never asked to sign in. */
export function isNavigation(request: Asked): boolean {
  if (!isSafe(request)) return false;
  const { 'sec-fetch-mode': mode, 'sec-fetch-dest': dest, accept = '' } = request.headers;
  if (mode === undefined) return accept.includes('text/html');
  return mode === 'navigate' && (dest === undefined || dest === 'document');
}

/**
 * Whether a request's cookies count: sent by its own origin, an allowed one, or a navigation. Neighbours are same-site, so
 * SameSite does not help.
 */
export function cookieCounts(request: Asked, ownOrigin: string, allowedOrigins: readonly string[]): boolean {
  const { 'sec-fetch-site': site, origin } = request.headers;
  if (origin !== undefined && origin !== ownOrigin) return allowedOrigins.includes(origin);
  if (site === undefined || site === 'same-origin' || site === 'none') return true;
  return isNavigation(request);
}

/** Whether the request comes from a page of this host. */
export function isSameOrigin({ headers }: Asked, ownOrigin: string): boolean {
  const { 'sec-fetch-site': site, origin } = headers;
  if (origin !== undefined) return origin === ownOrigin;
  return site === 'same-origin';
}

const BOT =
  /bot\b|crawl|spider|slurp|preview|facebookexternalhit|embedly|whatsapp|skypeuripreview|discord|telegram|mastodon|link-?expander/i;

/** Crawlers and link previews, which never sign in. */
export const isBot = ({ headers }: Asked): boolean => BOT.test(headers['user-agent'] ?? '');
