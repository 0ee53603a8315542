import type { IncomingMessage } from 'node:http';

const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)$/i;

/** Another program on the way may have chosen another of several Hosts (RFC 9112 section 3.2). */
export function hasSeveralHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1;
}

/** Request target in origin form; undefined if it is invalid or names another host. */
export function targetAt({ url = '/', headers }: IncomingMessage): string | undefined {
  if (url.startsWith('/')) return url;
  const [, host, rest = ''] = ABSOLUTE.exec(url) ?? [];
  if (host === undefined || host.toLowerCase() !== headers.host?.toLowerCase()) return undefined;
  return rest.startsWith('/') ? rest : `/${rest}`;
}
