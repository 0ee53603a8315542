import type { IncomingMessage } from 'node:http';
import type { HeaderRules } from './forwarded-headers.js';

/** Headers of a request that say which site a browser was on. */
const OF_BROWSERS = new Set(['origin', 'referer']);
/** Headers of an answer that name the program's own address. */
const OF_PROGRAMS = new Set(['location', 'content-location', 'access-control-allow-origin']);

/**
 * Header rules for a program that believes that it is at `local` ("localhost:3000"): its own origin is replaced as its Host is. Other
 * origins stay as they are, so that a program still recognizes requests from other sites.
 *
 * @param origin of the server, as visitors know it
 */
export function localHostRules(
  { headers }: IncomingMessage,
  { local, origin, rules }: { local: string; origin: string; rules: HeaderRules },
): HeaderRules {
  const { protocol, host } = new URL(origin);
  const publicHost = headers.host ?? host;
  const publicOrigin = `${protocol}//${publicHost}`;
  return {
    requestHeader: (name, value) => {
      const kept = rules.requestHeader(name, value);
      if (kept === undefined || !OF_BROWSERS.has(name)) return kept;
      return movedFrom(publicHost, `http://${local}`, kept);
    },
    responseHeader: (name, value) => {
      const kept = rules.responseHeader(name, value);
      if (kept === undefined || !OF_PROGRAMS.has(name)) return kept;
      return movedFrom(local, publicOrigin, kept);
    },
  };
}

/** A URL on `host`, at another origin; any other text as it is. A URL without a scheme keeps none. */
function movedFrom(host: string, origin: string, text: string): string {
  const [start, scheme = '', authority = ''] = /^(https?:)?\/\/([^/?#]*)/i.exec(text) ?? [];
  if (start === undefined || authority.toLowerCase() !== host.toLowerCase()) return text;
  const rest = text.slice(start.length);
  return scheme === '' ? `//${new URL(origin).host}${rest}` : `${origin}${rest}`;
}
