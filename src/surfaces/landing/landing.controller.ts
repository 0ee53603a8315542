import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../platform/access/index.js';
import { Config } from '../../platform/config/index.js';
import { sendPage } from '../../platform/pages/index.js';
import { landingPage } from './landing-page.js';

/** What is at the address that the service prints: a page for people, its links for programs. Nothing that is a secret. */
@Public()
@ApiExcludeController()
@Controller()
export class LandingController {
  constructor(private readonly config: Config) {}

  @Get('/')
  show(@Req() { headers }: FastifyRequest, @Res() reply: FastifyReply): void {
    const { baseUrl } = this.config;
    void reply.header('vary', 'Accept');
    if ((headers.accept ?? '').includes('text/html')) {
      sendPage(reply, landingPage(baseUrl));
      return;
    }
    void reply.send({
      name: 'Atelier',
      description: 'A workspace for teams and agents',
      docs: `${baseUrl}/docs`,
      openapi: `${baseUrl}/api/openapi.json`,
      mcp: `${baseUrl}/mcp`,
      health: `${baseUrl}/api/health`,
    });
  }
}
