import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { Injectable } from '@nestjs/common';
import { Config } from '../config/index.js';

/** What the names in TRUSTED_PROXIES stand for. */
const NAMED: Record<string, readonly string[]> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/** Which peers are proxies of ours, for what is served beside the API. */
@Injectable()
export class TrustedProxies {
  private readonly trusted = new BlockList();
  private readonly hasProxies: boolean;

  constructor({ publicUrl, trustedProxies }: Config) {
    this.hasProxies = publicUrl !== undefined;
    for (const range of trustedProxies.flatMap(place => NAMED[place] ?? [place])) {
      const [address = '', bits] = range.split('/');
      const type = isIP(address) === 6 ? 'ipv6' : 'ipv4';
      if (bits === undefined) this.trusted.addAddress(address, type);
      else this.trusted.addSubnet(address, Number(bits), type);
    }
  }

  /** Whether X-Forwarded-* of a peer are believed: as in the API, of none where PUBLIC_URL is not set. */
  believes(address: string | undefined): boolean {
    return this.hasProxies && this.has(address);
  }

  /** Whether an address is one of TRUSTED_PROXIES. */
  has(address: string | undefined): boolean {
    const version = isIP(address ?? '');
    return version !== 0 && this.trusted.check(address ?? '', version === 6 ? 'ipv6' : 'ipv4');
  }

  /** Where a request comes from: the last address in X-Forwarded-For that no proxy of ours has. */
  clientOf({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string {
    let client = socket.remoteAddress ?? 'unknown';
    const forwarded = String(headers['x-forwarded-for'] ?? '')
      .split(',')
      .reverse();
    for (const address of forwarded) {
      const named = address.trim();
      if (!this.believes(client) || isIP(named) === 0) break;
      client = named;
    }
    return client;
  }
}
