import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { Public } from '../../platform/access/index.js';
import { Config } from '../../platform/config/index.js';
import { connectHtml, type HtmlPage, sendPage } from '../../platform/pages/index.js';

/** For a person who opens the address of an installation: what this is, and the ways in. */
function landingPage(baseUrl: string): HtmlPage {
  return {
    title: 'A workspace for teams and agents',
    body: `<p>This is Atelier: files, a sandbox and agents that work in both, over an API and over MCP. It runs here.</p>
<p><a class="button" href="/docs">API documentation</a></p>
${connectHtml(baseUrl)}
<p class="aside">No account? Open the link of your invitation. Lost your password? <a href="/auth/forgot">Get a new one</a>.</p>
<p class="aside">For programs: <a href="/api/openapi.json">OpenAPI description</a>, <a href="/api/health">health</a>.</p>`,
  };
}

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
