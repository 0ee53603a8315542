import { isIP, SocketAddress } from 'node:net';

/**
 * What an attacker cannot change at will of where they come from: the IPv4 address, or the /64 of the IPv6 address that
 * one site gets (RFC 6177). An IPv4 address in IPv6 clothes (RFC 4291 section 2.5.5.2) counts as IPv4.
 */
export function addressPrefix(address: string): string {
  const [bare = ''] = address.split('%');
  if (isIP(bare) !== 6) return bare;
  const canonical = new SocketAddress({ address: bare, family: 'ipv6' }).address;
  const mapped = canonical.match(/^::ffff:(\d+\.\d+\.\d+\.\d+)$/i)?.[1];
  if (mapped) return mapped;
  const [head = '', tail] = canonical.split('::');
  const groups = head === '' ? [] : head.split(':');
  const ending = tail ? tail.split(':') : [];
  const zeros = tail === undefined ? 0 : 8 - groups.length - ending.length;
  const all = [...groups, ...Array<string>(Math.max(zeros, 0)).fill('0'), ...ending];
  return `${all.slice(0, 4).join(':')}::/64`;
}
