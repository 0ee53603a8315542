import { isIP } from 'node:net';

/**
 * What counts as one caller among addresses: an IPv4 address by itself, an IPv6 address with its whole /64, which is what
 * one subscriber gets. What is no address (a proxy may say anything) counts as one caller.
 */
export function networkOf(address: string): string {
  const version = isIP(address);
  if (version === 4) return address;
  if (version === 0) return 'unknown';
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped?.[1]) return mapped[1];
  const [head = '', tail] = address.split('%', 1).join('').toLowerCase().split('::');
  const groups = head.split(':').filter(Boolean);
  // What `::` stands for, so that the first four groups are known.
  const missing = tail === undefined ? 0 : 8 - groups.length - tail.split(':').filter(Boolean).length;
  const all = [...groups, ...Array<string>(Math.max(0, missing)).fill('0'), ...(tail ?? '').split(':')];
  const network = all.slice(0, 4).map(group => Number.parseInt(group || '0', 16).toString(16));
  return `${network.join(':')}::/64`;
}
