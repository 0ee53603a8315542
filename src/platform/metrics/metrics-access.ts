import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { NotFound, type Problem, Unauthorized } from '../errors/index.js';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** What proxies add to a request that they pass on. */
const OF_PROXIES = /^(forwarded|via|x-real-ip|x-client-ip|x-forwarded-.+|cf-connecting-ip|true-client-ip)$/;

/**
 * Why a request may not read the metrics: with METRICS_TOKEN it has to show that, and without it must come from a program
 * on this machine, directly. A proxy on this machine is one, too, and gives itself away by what it adds and by the host
 * that was asked for.
 */
export function refusalOf(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  token: string | undefined,
): Problem | undefined {
  if (token !== undefined)
    return isToken(headers.authorization, token)
      ? undefined
      : new Unauthorized('Send METRICS_TOKEN as Authorization: Bearer');
  const isDirect =
    isLoopback(socket.remoteAddress ?? '') &&
    isLocalHost(headers.host ?? '') &&
    !Object.keys(headers).some(name => OF_PROXIES.test(name));
  return isDirect ? undefined : new NotFound('No such endpoint');
}

function isToken(authorization: string | undefined, token: string): boolean {
  const [, given] = /^bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  const digest = (text: string) => hash('sha256', text, 'buffer');
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}

function isLoopback(address: string): boolean {
  const plain = address.replace(/^::ffff:/i, '');
  const version = isIP(plain);
  return version !== 0 && LOOPBACK.check(plain, version === 4 ? 'ipv4' : 'ipv6');
}

function isLocalHost(host: string): boolean {
  const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  return name.toLowerCase() === 'localhost' || isLoopback(name);
}
