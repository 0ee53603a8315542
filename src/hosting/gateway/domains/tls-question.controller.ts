import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../../platform/access/index.js';
import { NotFound } from '../../../platform/errors/index.js';
import { TrustedProxies } from '../../../platform/http/index.js';
import { Ingress } from '../../../platform/ingress/index.js';
import { HostTable } from '../hosts/host-table.js';
import { normalizeHost } from '../hosts/hosting-domain.js';

/** Tells the proxy in front whether to get a certificate: otherwise anyone could have it ask for any host. */
@Public()
@ApiExcludeController()
@Controller()
export class TlsQuestionController {
  constructor(
    private readonly hosts: HostTable,
    private readonly ingress: Ingress,
    private readonly proxies: TrustedProxies,
  ) {}

  @Get('/hosting/tls-allowed')
  async answer(
    @Query('domain') domain: unknown,
    @Req() { raw }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const host = normalizeHost(typeof domain === 'string' ? domain : '');
    const isOurs = this.proxies.has(raw.socket.remoteAddress) && host !== '' && (await this.isServed(host));
    if (!isOurs) throw new NotFound('Nothing is served on this host');
    void reply.type('text/plain; charset=utf-8').send('yes\n');
  }

  private async isServed(host: string): Promise<boolean> {
    return this.ingress.has(host) || (await this.hosts.find(host)) !== null;
  }
}
