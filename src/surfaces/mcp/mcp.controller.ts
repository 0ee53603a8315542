import { All, Controller, Req, Res, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OAuthResources } from '../../identity/oauth/index.js';
import { type Actor, Public } from '../../platform/access/index.js';
import { readBody } from '../../platform/bodies/index.js';
import { BadRequest, Invalid, UnsupportedMediaType } from '../../platform/errors/index.js';
import { sendPage } from '../../platform/pages/index.js';
import { HttpCall } from './call/http-call.js';
import { toolViewOf } from './call/mcp-call.js';
import { McpGuard, wantsPage } from './mcp.guard.js';
import { McpEndpoint } from './mcp-endpoint.js';
import { McpOrigins } from './mcp-origins.js';
import { mcpPage } from './mcp-page.js';
import { ScopeChallenges } from './tools/scope-challenges.js';

/** Longest text in the parameters of a request, in characters. */
const MAX_TEXT = 16_384;

/** The MCP endpoint. It answers for itself what the guard of the other routes would: who calls, and from where. */
@Public()
@UseGuards(McpGuard)
@ApiExcludeController()
@Controller()
export class McpController {
  constructor(
    private readonly endpoint: McpEndpoint,
    private readonly origins: McpOrigins,
    private readonly resources: OAuthResources,
    private readonly scopes: ScopeChallenges,
  ) {}

  @All('/mcp')
  async serve(@Req() request: FastifyRequest & { user: Actor }, @Res() reply: FastifyReply): Promise<void> {
    if (wantsPage(request)) {
      sendPage(reply, mcpPage(this.resources.mcp));
      return;
    }
    this.allowOrigin(request, reply);
    if (request.method === 'OPTIONS') {
      await reply.status(204).send();
      return;
    }
    const body = await readBody(request);
    if (isStream(body))
      throw new UnsupportedMediaType('Send the body as JSON, with Content-Type: application/json');
    // Later revisions know no batches; each message counts as the request that it is.
    if (Array.isArray(body)) throw new BadRequest('Send one message at a time, not a batch');
    const view = toolViewOf(request.query as Record<string, unknown>);
    refuseLongTexts(body);
    const call = new HttpCall(request.user, view, reply);
    await this.scopes.requireEnough(call, body);
    await this.endpoint.answer(call, { request, reply });
  }

  /** Lets the pages of an allowed origin read what is answered. */
  private allowOrigin({ headers }: FastifyRequest, reply: FastifyReply): void {
    void reply.header('vary', 'Origin');
    if (!this.origins.isAllowed(headers.origin)) return;
    void reply.headers({
      'access-control-allow-origin': headers.origin,
      'access-control-allow-methods': 'GET, POST, DELETE, OPTIONS',
      'access-control-allow-headers':
        headers['access-control-request-headers'] ?? 'authorization, content-type, mcp-protocol-version',
      'access-control-expose-headers': 'www-authenticate, mcp-session-id, x-request-id, retry-after',
    });
  }
}

const isStream = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && 'pipe' in body && typeof body.pipe === 'function';

/** Only calls of tools have long texts; what the SDK does with others, it does several times. Throws Invalid. */
function refuseLongTexts(body: unknown): void {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: unknown };
  if (method === 'tools/call' || typeof params !== 'object' || params === null) return;
  for (const [name, value] of Object.entries(params))
    if (typeof value === 'string' && value.length > MAX_TEXT)
      throw new Invalid(`${name.slice(0, 100)} must have at most ${MAX_TEXT} characters`);
}
