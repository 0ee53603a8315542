import { Inject, Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../../../platform/config/config.js';
import { sendNotice } from '../pages/notice-page.js';

/** A PDF is shown by the browser's viewer, which a sandbox would keep out; it is no document of ours all the same. */
const PDF_POLICY = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'";
const PAGES = /^\/s\//;

/**
 * Shared files are shown on a host of their own, `share.` before the service's: whatever a file holds, no browser lets it
 * act on the service or read what is kept there. Neither host serves what belongs on the other.
 */
@Injectable()
export class ShareOrigin {
  private readonly origin: string;
  private readonly hostname: string;

  constructor(@Inject(Config) config: Config) {
    const url = new URL(config.baseUrl);
    url.hostname = `share.${url.hostname}`;
    this.origin = url.origin;
    this.hostname = url.hostname;
  }

  get isSecure(): boolean {
    return this.origin.startsWith('https:');
  }

  urlOf(token: string): string {
    return `${this.origin}/s/${token}`;
  }

  /** Stands before all routes, those of other frameworks included. */
  register(fastify: FastifyInstance): void {
    fastify.addHook('onRequest', (request, reply, done) => {
      const isPage = PAGES.test(request.url);
      if (this.isHere(request)) {
        void reply.headers(SHARE_HEADERS);
        if (isPage) done();
        else if (request.url === '/robots.txt') sendRobots(reply);
        else sendNotice(reply, 'nowhere');
      } else if (isPage) this.sendOver(request, reply);
      else done();
    });
    fastify.addHook('onSend', async (request, reply, payload) => {
      if (this.isHere(request) && reply.getHeader('content-type') === 'application/pdf')
        void reply.header('content-security-policy', PDF_POLICY);
      return payload;
    });
  }

  private isHere({ host }: FastifyRequest): boolean {
    // The port is another's where a proxy stands before the service; a final dot names the same host.
    const [name = ''] = host.toLowerCase().split(':');
    return name.replace(/\.$/, '') === this.hostname;
  }

  private sendOver({ method, url }: FastifyRequest, reply: FastifyReply): void {
    if (method === 'GET' || method === 'HEAD') void reply.redirect(`${this.origin}${url}`, 308);
    else sendNotice(reply, 'nowhere');
  }
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
