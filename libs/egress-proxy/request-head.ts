import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { splitAuthority } from './host.js';
import { EgressRefusal } from './refusal.js';

/** What concerns one connection alone (RFC 9110, section 7.6.1), or is meant for the proxy. */
const BETWEEN_TWO = [
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['proxy-authorization', 'proxy-authenticate'],
];

/** Who says two hosts means one of them for the proxy and the other for the server. */
export function requireSameHost({ headers }: IncomingMessage, host: string): void {
  if (headers.host === undefined || headers.host === '') return;
  if (splitAuthority(headers.host, 80).host !== host)
    throw new EgressRefusal(
      'host',
      `The header Host names another host than the request, which names ${host}`,
    );
}

/** Headers as they are handed on. */
export function plainHeaders({ headers }: IncomingMessage): IncomingHttpHeaders {
  const named = (headers.connection ?? '').split(',').map(name => name.trim().toLowerCase());
  const dropped = new Set([...BETWEEN_TWO, ...named]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.has(name)));
}
