import type { IncomingMessage } from 'node:http';
import type { HeaderRules } from './forwarded-headers.js';

/** Request headers that name the browser's origin. */
const OF_BROWSERS = new Set(['origin', 'referer']);
/** Response headers that name the program's own address. */
const OF_PROGRAMS = new Set(['location', 'content-location', 'access-control-allow-origin']);

/**
 * Header rules for programs that expect to be at `local` ("localhost:3000"). Only their own origin is replaced, so they still
 * recognize foreign ones.
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

/** Moves a URL on `host` to another origin; other text stays. */
function movedFrom(host: string, origin: string, text: string): string {
  const [start, scheme = '', authority = ''] = /^(https?:)?\/\/([^/?#]*)/i.exec(text) ?? [];
  if (start === undefined || authority.toLowerCase() !== host.toLowerCase()) return text;
  const rest = text.slice(start.length);
  return scheme === '' ? `//${new URL(origin).host}${rest}` : `${origin}${rest}`;
}
