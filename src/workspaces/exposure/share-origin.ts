import { isIP } from 'node:net';
import { Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../../platform/config/index.js';
import { Conflict } from '../../platform/errors/index.js';
import { targetOf } from '../../platform/http/index.js';
import { sendNotice } from './pages/notice-page.js';

/** A PDF is shown by the browser's viewer, which a sandbox would keep out; it is no document of ours all the same. */
const PDF_POLICY = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'";
const PAGES = /^\/s\//;

/**
 * Shared files are shown on a host of their own, `share.` before the service's: whatever a file holds, no browser lets it
 * act on the service or read what is kept there. Neither host serves what belongs on the other.
 */
@Injectable()
export class ShareOrigin {
  private readonly address: URL | undefined;

  constructor(config: Config) {
    this.address = shareAddressOf(config.baseUrl);
  }

  get isSecure(): boolean {
    return this.address?.protocol === 'https:';
  }

  /** Refuses (409) where the service is reached by a bare address, below which there is no other host. */
  requireUsable(): void {
    if (!this.address)
      throw new Conflict(
        'Share links need a host of their own: set PUBLIC_URL to a name instead of an IP address',
      );
  }

  /** Null where there is no such host. */
  urlOf(token: string): string | null {
    return this.address ? `${this.address.origin}/s/${token}` : null;
  }

  /** Stands before all routes, those of other frameworks included. */
  register(fastify: FastifyInstance): void {
    fastify.addHook('onRequest', (request, reply, done) => {
      // However the address is spelt: escapes and absolute forms lead to the same route.
      const { path } = targetOf(request.url);
      const isPage = PAGES.test(request.routeOptions.url ?? '');
      if (this.isHere(request)) {
        void reply.headers(SHARE_HEADERS);
        if (isPage) done();
        else if (path === '/robots.txt') sendRobots(reply);
        else sendNotice(reply, 'nowhere');
      } else if (isPage || PAGES.test(path)) this.sendOver(request, reply);
      else done();
    });
    fastify.addHook('onSend', (request, reply, payload, done) => {
      if (reply.getHeader('content-type') === 'application/pdf' && this.isHere(request))
        void reply.header('content-security-policy', PDF_POLICY);
      done(null, payload);
    });
  }

  private isHere({ host }: FastifyRequest): boolean {
    // The port is another's where a proxy stands before the service; a final dot names the same host.
    const [name = ''] = host.toLowerCase().split(':');
    return name.replace(/\.$/, '') === this.address?.hostname;
  }

  private sendOver({ method, url }: FastifyRequest, reply: FastifyReply): void {
    if (this.address && (method === 'GET' || method === 'HEAD'))
      void reply.redirect(`${this.address.origin}${targetOf(url).address}`, 308);
    else sendNotice(reply, 'nowhere');
  }
}

function shareAddressOf(baseUrl: string): URL | undefined {
  if (!URL.canParse(baseUrl)) return undefined;
  const address = new URL(baseUrl);
  const { hostname } = address;
  const isLoopback = /^(127\.[\d.]+|\[::1\])$/.test(hostname);
  if (hostname === '' || (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 && !isLoopback)) return undefined;
  address.hostname = `share.${isLoopback ? 'localhost' : hostname}`;
  return address;
}

const SHARE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'x-robots-tag': 'noindex, nofollow',
};

function sendRobots(reply: FastifyReply): void {
  void reply.type('text/plain; charset=utf-8').send('User-agent: *\nDisallow: /\n');
}
