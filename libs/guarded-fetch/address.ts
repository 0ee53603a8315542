import { BlockList, isIP } from 'node:net';

/** IANA IPv4 Special-Purpose Address Registry, multicast and reserved space, and the one metadata service with a public address. */
const NOT_PUBLIC_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32', // Azure's
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/** Global unicast (RFC 4291). What lies outside is loopback, private, link-local, or an IPv4 address in disguise: `::/96`, `::ffff:0:0/96`, `64:ff9b::/96`. */
const PUBLIC_V6 = '2000::/3';

/** Within it: protocol assignments with Teredo (RFC 4380), documentation, 6to4 (RFC 3056), AS112. */
const NOT_PUBLIC_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'];

/** Where clouds hand out credentials to any process that asks. Nothing can open these. */
const METADATA = [
  '169.254.0.0/16',
  '168.63.129.16/32', // Azure
  '100.100.100.200/32', // Alibaba
  '192.0.0.192/32', // Oracle
  'fe80::/10',
  'fd00:ec2::254/128', // Amazon
  'fd20:ce::254/128', // Google
  '64:ff9b::/96', // any of IPv4's in disguise
  '2002::/16',
];

/** Throws for what is no `network/prefix`. */
function rangesOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = '', prefix] = range.split('/');
    list.addSubnet(network, Number(prefix), isIP(network) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

const notPublicV4 = rangesOf(NOT_PUBLIC_V4);
const publicV6 = rangesOf([PUBLIC_V6]);
const notPublicV6 = rangesOf(NOT_PUBLIC_V6);
const metadata = rangesOf(METADATA);

const isWithin = (list: BlockList, address: string): boolean => {
  const family = isIP(address);
  return family !== 0 && !address.includes('%') && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
};

/** Whether an IP address is one of the public internet; false for what is no address. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !notPublicV4.check(address, 'ipv4');
  // An address with a zone belongs to one link.
  if (family !== 6 || address.includes('%')) return false;
  return publicV6.check(address, 'ipv6') && !notPublicV6.check(address, 'ipv6');
}

/** Whether an IP address may be connected to, for a request to this host and port. */
export type AddressPolicy = (address: string, host: string, port: string) => boolean;

/** A list of private places that may be reached cannot be read; the message says why. */
export class InvalidPrivateHosts extends Error {}

/** Private places that an operator lets requests reach: `chat.corp:443` and `10.1.2.0/24`. Never a metadata service. */
export class PrivateHosts {
  private constructor(
    private readonly hosts: ReadonlySet<string>,
    private readonly ranges: BlockList,
  ) {}

  static readonly none = new PrivateHosts(new Set(), new BlockList());

  /** Throws InvalidPrivateHosts. */
  static parse(entries: readonly string[]): PrivateHosts {
    const hosts = new Set<string>();
    const ranges: string[] = [];
    for (const entry of entries) {
      if (entry.includes('/')) ranges.push(asRange(entry));
      else hosts.add(asHost(entry));
    }
    return new PrivateHosts(hosts, rangesOf(ranges));
  }

  /** Whether the operator named where this address leads: its host and port, or a range that its IP address is in. */
  lists({ hostname, port, protocol }: URL): boolean {
    return this.hosts.has(hostPort(hostname, port || DEFAULT_PORTS[protocol])) || this.covers(bare(hostname));
  }

  /** Whether what a name leads to may be connected to. */
  allows(address: string, hostname: string, port: string): boolean {
    if (isWithin(metadata, address)) return false;
    return this.covers(address) || this.hosts.has(hostPort(hostname, port));
  }

  private covers(address: string): boolean {
    return isWithin(this.ranges, address) && !isWithin(metadata, address);
  }
}

const DEFAULT_PORTS: Record<string, string> = { 'http:': '80', 'https:': '443' };

const bare = (hostname: string) => hostname.replace(/^\[|\]$/g, '');
const hostPort = (hostname: string, port = '') => `${bare(hostname).toLowerCase()}:${port}`;

function asRange(range: string): string {
  const [network = '', prefix = ''] = range.split('/');
  const longest = isIP(network) === 6 ? 128 : 32;
  if (isIP(network) === 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > longest)
    throw new InvalidPrivateHosts(`"${range}" is no network such as 10.1.2.0/24`);
  return range;
}

function asHost(entry: string): string {
  const { hostname, port, pathname } = URL.parse(`x://${entry}`) ?? { hostname: '', port: '', pathname: '' };
  if (!hostname || !port || pathname || /[@?#\s]/.test(entry))
    throw new InvalidPrivateHosts(`"${entry}" is no host with a port such as chat.corp:443`);
  return hostPort(hostname, port);
}
