import { isIP } from 'node:net';
import { Injectable, OnModuleInit } from '@nestjs/common';
import { Config } from '../../../platform/config/index.js';
import { Conflict } from '../../../platform/errors/index.js';
import { HostingFacts } from '../../../platform/health/index.js';
import { Log } from '../../../platform/log/index.js';
import { compareSites } from './isolation.js';

export const HOSTED_KINDS = ['site', 'server'] as const;
export type HostedKind = (typeof HOSTED_KINDS)[number];

export interface HostLabel {
  readonly kind: HostedKind;
  readonly slug: string;
  /** Undefined for the live version. */
  readonly version: number | undefined;
}

const VERSION_LABEL = /^v([1-9]\d{0,8})--([a-z0-9-]+)$/;

/** Domain below which each site and server has a host, and so an origin, of its own. */
@Injectable()
export class HostingDomain implements OnModuleInit {
  /** Undefined if the service is reached by IP address and HOSTING_DOMAIN is not set. */
  readonly domain: string | undefined;
  readonly scheme: string;
  private readonly port: string;

  constructor(
    private readonly config: Config,
    private readonly facts: HostingFacts,
    private readonly log: Log,
  ) {
    const address = URL.parse(config.baseUrl);
    this.domain = config.hostingDomain ?? domainOf(address?.hostname ?? '');
    this.scheme = address?.protocol ?? 'http:';
    this.port = address?.port ? `:${address.port}` : '';
  }

  onModuleInit(): void {
    const host = URL.parse(this.config.baseUrl)?.hostname ?? '';
    const isolation = compareSites(this.domain, host);
    this.facts.set({ domain: this.domain ?? null, isolation });
    if (isolation === 'same_site' && this.config.publicUrl !== undefined && this.domain !== 'localhost')
      this.log.warn(
        { domain: this.domain },
        'sites are below the domain of the service itself; set HOSTING_DOMAIN to a domain of their own, so that browsers keep them apart',
      );
  }

  get isSecure(): boolean {
    return this.scheme === 'https:';
  }

  /** 409 without a domain. */
  requireUsable(): void {
    if (this.domain === undefined)
      throw new Conflict(
        'Sites and servers need hosts of their own: set PUBLIC_URL to a name instead of an IP address, or HOSTING_DOMAIN to a domain whose subdomains lead here',
      );
  }

  /** Host of the live version, or of one version. Null without a domain. */
  hostOf(kind: HostedKind, slug: string, version?: number): string | null {
    if (this.domain === undefined) return null;
    const label = version === undefined ? slug : `v${version}--${slug}`;
    return `${label}.${kind}s.${this.domain}`;
  }

  originOf(host: string): string {
    return `${this.scheme}//${host}${this.port}`;
  }

  /** Whether a host lies below `sites.` or `servers.` of the domain. */
  holds(host: string): boolean {
    return this.domain !== undefined && HOSTED_KINDS.some(kind => this.isBelow(host, kind));
  }

  /** Undefined for hosts elsewhere. */
  read(host: string): HostLabel | undefined {
    if (this.domain === undefined) return undefined;
    for (const kind of HOSTED_KINDS) {
      if (!this.isBelow(host, kind)) continue;
      const label = host.slice(0, -`.${kind}s.${this.domain}`.length);
      if (label === '' || label.includes('.')) return undefined;
      const [, version, slug = label] = VERSION_LABEL.exec(label) ?? [];
      return { kind, slug, version: version === undefined ? undefined : Number(version) };
    }
    return undefined;
  }

  private isBelow(host: string, kind: HostedKind): boolean {
    return host === `${kind}s.${this.domain}` || host.endsWith(`.${kind}s.${this.domain}`);
  }
}

/** Normalizes a Host header: lower case, without port and final dot. */
export const normalizeHost = (host: string): string =>
  host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase();

function domainOf(hostname: string): string | undefined {
  if (hostname === '') return undefined;
  if (/^(127\.[\d.]+|\[::1\])$/.test(hostname)) return 'localhost';
  return isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? hostname : undefined;
}
