import { All, Controller, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../../platform/access/index.js';
import { RAW_BODY } from '../../../platform/bodies/index.js';
import { Config } from '../../../platform/config/index.js';
import { targetOf } from '../../../platform/http/index.js';
import { Quotas } from '../../auth/index.js';
import { OAUTH_ROUTES } from '../pages/routes.js';
import { OAuthTokens } from '../tokens/oauth-tokens.js';
import { TokenHandles } from '../tokens/token-handles.js';
import { bodyOf, handOver } from './hand-over.js';
import { OAuthProvider } from './oauth-provider.js';
import { repairParameters } from './request-repairs.js';

const FORM = /^application\/x-www-form-urlencoded\b/i;
const TAKES_TOKEN: string[] = [OAUTH_ROUTES.introspection, OAUTH_ROUTES.revocation];

/** The endpoints of the authorization server that oidc-provider answers; the pages for people are our own. */
@Public()
@ApiExcludeController()
@Controller()
export class OAuthController {
  constructor(
    private readonly provider: OAuthProvider,
    private readonly tokens: OAuthTokens,
    private readonly handles: TokenHandles,
    private readonly quotas: Quotas,
    private readonly config: Config,
  ) {}

  @RouteConfig(RAW_BODY)
  @All(['/oauth/*', '/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'])
  async answer(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const target = targetOf(request.url);
    const { path } = target;
    const query = new URLSearchParams(target.query);
    if (path === OAUTH_ROUTES.registration) await this.admitRegistration(request, reply);
    if (reply.sent) return;
    if (path === OAUTH_ROUTES.authorization) repairParameters(path, query);
    if (path === OAUTH_ROUTES.code_verification) prefill(query);
    const body = await this.repairBody(path, request, await bodyOf(request));
    await handOver(await this.provider.current(), request, reply, { path, query, body });
  }

  private async repairBody(path: string, { headers }: FastifyRequest, body: Buffer): Promise<Buffer> {
    if (body.length === 0 || !FORM.test(headers['content-type'] ?? '')) return body;
    const fields = new URLSearchParams(body.toString());
    repairParameters(path, fields);
    const token = TAKES_TOKEN.includes(path) && fields.get('token');
    const claims = token ? await this.tokens.read(token) : undefined;
    if (claims) fields.set('token', this.handles.wrap(claims));
    return Buffer.from(fields.toString());
  }

  /** Pages of any origin may register their client; how many, depends on where they are seen from. */
  private async admitRegistration(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    void reply.header('access-control-allow-origin', '*');
    if (request.method === 'OPTIONS')
      await reply
        .status(204)
        .headers({
          'access-control-allow-methods': 'POST',
          'access-control-allow-headers': 'content-type',
          'access-control-max-age': '3600',
        })
        .send();
    if (request.method === 'POST')
      await this.quotas.spendOfAddress('oauth-register', request.ip, this.config.oauthRegistrationsPerHour);
  }
}

/** A code in the address is shown to be compared, not sent on by itself: the person did not type it (RFC 8628 section 5.4). */
function prefill(query: URLSearchParams): void {
  const code = query.get('user_code');
  query.delete('user_code');
  if (code) query.set('shown_code', code);
}
