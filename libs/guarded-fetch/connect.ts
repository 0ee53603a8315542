import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { Agent, buildConnector } from 'undici';
import { GuardedFetchError } from './error.js';
import type { AddressPolicy } from './guarded-fetch.js';

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

const CONNECT_TIMEOUT_MS = 5000;

const refusalOf = (host: string) =>
  new GuardedFetchError('address', `${host} is not a public address, so it is not fetched`);

/** Looks a name up and hands on only what the policy allows: what is connected to is exactly what was checked. */
function guardedLookup(allows: AddressPolicy) {
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

/** Connections that are checked as they are made; literal addresses need no look-up, so they are checked by themselves. */
export function guardedAgent(allows: AddressPolicy, tls: Pick<ConnectionOptions, 'ca'>): Agent {
  const connector = buildConnector({
    ...tls,
    timeout: CONNECT_TIMEOUT_MS,
    lookup: guardedLookup(allows) as never,
  });
  return new Agent({
    connect(options, callback) {
      const host = options.hostname.replace(/^\[|\]$/g, '');
      if (isIP(host) && !allows(host)) callback(refusalOf(host), null);
      else connector(options, callback);
    },
    // One request a connection: each is checked anew.
    pipelining: 0,
  });
}
