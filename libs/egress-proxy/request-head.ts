import type { IncomingMessage } from 'node:http';
import { splitAuthority } from './host.js';
import { EgressRefusal } from './refusal.js';

/** Who says two hosts means one of them for the proxy and the other for the server. */
export function requireSameHost({ headers }: IncomingMessage, host: string): void {
  if (headers.host === undefined || headers.host === '') return;
  if (splitAuthority(headers.host, 80).host !== host)
    throw new EgressRefusal(
      'host',
      `The header Host names another host than the request, which names ${host}`,
    );
}
