import { isIP } from 'node:net';
import { Injectable, OnModuleInit } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { targetOf } from '#libs/fastify-hardening/index.js';
import { Config } from '../../platform/config/index.js';
import { Conflict } from '../../platform/errors/index.js';
import { Ingress, type PublicHosts } from '../../platform/ingress/index.js';
import { sendNotice } from './pages/page.js';

/** A PDF is shown by the browser's viewer, which a sandbox would keep out; it is no document of ours all the same. */
const PDF_POLICY = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'";

/** What links lead to, as the first part of their paths: shares, forms. */
export type LinkPrefix = 's' | 'f';

/**
 * Shared files are shown on a host of their own, `share.` before the service's: whatever a file holds, no browser lets it
 * act on the service or read what is kept there. Neither host serves what belongs on the other.
 */
@Injectable()
export class ShareOrigin implements PublicHosts, OnModuleInit {
  readonly name = 'share links';
  readonly hosts: readonly string[];
  readonly paths = /^\/[sf]\//;
  readonly headers = {
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'x-robots-tag': 'noindex, nofollow',
  };
  private readonly address: URL | undefined;

  constructor(
    config: Config,
    private readonly ingress: Ingress,
  ) {
    this.address = deriveShareAddress(config.baseUrl);
    this.hosts = this.address ? [this.address.hostname] : [];
  }

  onModuleInit(): void {
    this.ingress.serve(this);
  }

  get isSecure(): boolean {
    return this.address?.protocol === 'https:';
  }

  /** 409 where the service is reached by an IP address, below which there is no other host. */
  requireUsable(): void {
    if (!this.address)
      throw new Conflict(
        'Share links need a host of their own: set PUBLIC_URL to a name instead of an IP address',
      );
  }

  at(path: string): string | null {
    return this.address ? `${this.address.origin}${path}` : null;
  }

  urlOf(token: string, prefix: LinkPrefix = 's'): string | null {
    return this.at(`/${prefix}/${token}`);
  }

  answer(path: string, reply: FastifyReply): void {
    if (path === '/robots.txt')
      void reply.type('text/plain; charset=utf-8').send('User-agent: *\nDisallow: /\n');
    else sendNotice(reply, 'nowhere');
  }

  answerElsewhere({ method, url }: FastifyRequest, reply: FastifyReply): void {
    if (this.address && (method === 'GET' || method === 'HEAD'))
      void reply.redirect(`${this.address.origin}${targetOf(url).address}`, 308);
    else sendNotice(reply, 'nowhere');
  }

  finish(reply: FastifyReply): void {
    if (reply.getHeader('content-type') === 'application/pdf')
      void reply.header('content-security-policy', PDF_POLICY);
  }
}

function deriveShareAddress(baseUrl: string): URL | undefined {
  if (!URL.canParse(baseUrl)) return undefined;
  const address = new URL(baseUrl);
  const { hostname } = address;
  const isLoopback = /^(127\.[\d.]+|\[::1\])$/.test(hostname);
  if (hostname === '' || (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 && !isLoopback)) return undefined;
  address.hostname = `share.${isLoopback ? 'localhost' : hostname}`;
  return address;
}
