import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { Dispatcher } from 'undici';
import type { AddressPolicy } from './address.js';
import { GuardedFetchError } from './error.js';
import { limitParts } from './limited-answer.js';

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

const CONNECT_TIMEOUT_MS = 5000;

export const refusalOf = (host: string) =>
  new GuardedFetchError('address', `${host} is not a public address, so it is not fetched`);

/** Looks a name up and hands on only what `allows` lets through: what is connected to is exactly what was checked. */
function guardedLookup(allows: (address: string) => boolean) {
  return (host: string, options: LookupOptions, callback: LookupCallback): void => {
    lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      if (addresses.length === 0 || !addresses.every(({ address }) => allows(address)))
        return callback(refusalOf(host), []);
      const [first] = addresses;
      return options.all ? callback(null, addresses) : callback(null, first?.address ?? '', first?.family);
    });
  };
}

/**
 * Connections that are checked as they are made; literal addresses need no look-up, so they are checked by themselves. Those
 * that are kept are for more requests to the same host and port, and lead where they led when they were checked.
 */
export async function guardedAgent(
  allows: AddressPolicy,
  tls: Pick<ConnectionOptions, 'ca'>,
  isKept: boolean,
): Promise<Dispatcher> {
  const { Agent, buildConnector } = await import('undici');
  const agent = new Agent({
    connect(options, callback) {
      const host = options.hostname.replace(/^\[|\]$/g, '');
      const port = options.port || (options.protocol === 'https:' ? '443' : '80');
      if (isIP(host) && !allows(host, host, port)) callback(refusalOf(host), null);
      else {
        const lookup = guardedLookup(address => allows(address, host, port)) as never;
        buildConnector({ ...tls, timeout: CONNECT_TIMEOUT_MS, lookup })(options, callback);
      }
    },
    // 0: one request a connection, so that each is checked anew.
    pipelining: isKept ? 1 : 0,
  });
  return agent.compose(limitParts);
}
