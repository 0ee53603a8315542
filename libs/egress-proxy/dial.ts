import { lookup } from 'node:dns/promises';
import { connect, isIP, type Socket } from 'node:net';
import { EgressRefusal } from './refusal.js';

export type Resolver = (host: string) => Promise<string[]>;

export const systemResolver: Resolver = async host => {
  const found = await lookup(host, { all: true, verbatim: true });
  return found.map(({ address }) => address);
};

/**
 * The addresses of a host, looked up once; what is connected to is what was checked. One that must not be reached, among
 * others, refuses them all: the name may be meant to lead there at another time.
 */
export async function permittedAddresses(
  host: string,
  resolve: Resolver,
  allows: (address: string, host: string) => boolean,
  advice = '',
): Promise<string[]> {
  const addresses = isIP(host) === 0 ? await resolved(host, resolve) : [host];
  if (addresses.length === 0) throw new EgressRefusal('unresolved', `${host} has no address`);
  if (!addresses.every(address => allows(address, host)))
    throw new EgressRefusal(
      'address',
      `${host} leads to an address that is not one of the public internet. ${advice}`.trimEnd(),
    );
  return addresses;
}

async function resolved(host: string, resolve: Resolver): Promise<string[]> {
  try {
    return await resolve(host);
  } catch (error) {
    throw new EgressRefusal('unresolved', `${host} was not found (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Connects to the first of the addresses that answers in time. */
export async function dial(
  host: string,
  addresses: string[],
  port: number,
  timeoutMs: number,
): Promise<Socket> {
  for (const address of addresses) {
    const socket = await connected(address, port, timeoutMs);
    if (socket) return socket;
  }
  throw new EgressRefusal('unresolved', `${host} does not answer on port ${port}`);
}

function connected(host: string, port: number, timeoutMs: number): Promise<Socket | undefined> {
  return new Promise(resolve => {
    const socket = connect({ host, port, allowHalfOpen: true });
    const settle = (result: Socket | undefined): void => {
      clearTimeout(timer);
      if (!result) socket.destroy();
      resolve(result);
    };
    const timer = setTimeout(() => settle(undefined), timeoutMs);
    socket.once('connect', () => settle(socket));
    socket.once('error', () => settle(undefined));
  });
}
