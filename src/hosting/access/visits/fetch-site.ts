import type { IncomingHttpHeaders } from 'node:http';

/** A request as far as it says where it comes from. */
export interface Asked {
  readonly method?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

const isSafe = ({ method = 'GET' }: Asked): boolean => method === 'GET' || method === 'HEAD';

/** Whether a person follows an address in a tab of their own: in a frame, nobody is asked to sign in. */
export function isNavigation(request: Asked): boolean {
  if (!isSafe(request)) return false;
  const { 'sec-fetch-mode': mode, 'sec-fetch-dest': dest, accept = '' } = request.headers;
  if (mode === undefined) return accept.includes('text/html');
  return mode === 'navigate' && (dest === undefined || dest === 'document');
}

/**
 * Whether a cookie of a request counts: only where the host itself made it, an origin that is allowed to, or a person who
 * followed a link. Sites are neighbours (same-site), so SameSite cookies come with the requests of others, too.
 */
export function cookieCounts(request: Asked, ownOrigin: string, allowedOrigins: readonly string[]): boolean {
  const { 'sec-fetch-site': site, origin } = request.headers;
  if (origin !== undefined && origin !== ownOrigin) return allowedOrigins.includes(origin);
  if (site === undefined || site === 'same-origin' || site === 'none') return true;
  return isNavigation(request);
}

/** Whether the page of this very host made the request; what no other site may do in its name. */
export function isSameOrigin({ headers }: Asked, ownOrigin: string): boolean {
  const { 'sec-fetch-site': site, origin } = headers;
  if (origin !== undefined) return origin === ownOrigin;
  return site === 'same-origin';
}

const BOT =
  /bot\b|crawl|spider|slurp|preview|facebookexternalhit|embedly|whatsapp|skypeuripreview|discord|telegram|mastodon|link-?expander/i;

/** Programs that read a page to show what it is about, and never sign in. */
export const isBot = ({ headers }: Asked): boolean => BOT.test(headers['user-agent'] ?? '');
