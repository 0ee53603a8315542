import { Resolver } from 'node:dns/promises';
import { Injectable } from '@nestjs/common';
import { Config } from '../../../platform/config/index.js';

const TIMEOUT_MS = 3_000;
const TRIES = 2;

export const recordOf = (host: string, proof: string) => ({
  type: 'TXT' as const,
  name: `_atelier.${host}`,
  value: `atelier-verification=${proof}`,
});

export type Unproved = string | undefined;

@Injectable()
export class HostProofs {
  private readonly resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });

  constructor({ hostingDns }: Config) {
    if (hostingDns.length > 0) this.resolver.setServers(hostingDns);
  }

  async check(host: string, proof: string): Promise<Unproved> {
    const { name, value } = recordOf(host, proof);
    try {
      const records = (await this.resolver.resolveTxt(name)).map(parts => parts.join(''));
      if (records.includes(value)) return undefined;
      return `${name} has ${records.length} TXT records, and none of them is the one that was given`;
    } catch (error) {
      const { code = 'an error' } = error as { code?: string };
      if (code === 'ENOTFOUND' || code === 'ENODATA') return `${name} has no TXT record yet`;
      return `${name} could not be looked up: the name server answered ${code}`;
    }
  }
}
