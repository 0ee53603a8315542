import { IncomingMessage } from 'node:http';
import { All, Controller, Get, Header, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Provider } from 'oidc-provider';
import { RAW_BODY, targetOf, wholeBody } from '#libs/fastify-hardening/index.js';
import { Public } from '../../../platform/access/index.js';
import { Config } from '../../../platform/config/index.js';
import { Quotas } from '../../auth/index.js';
import { SIGNING_ALGORITHM } from '../keys/signing-keys.js';
import { OAUTH_ROUTES } from '../pages/pages.js';
import { OAuthResources } from '../scopes/oauth-resources.js';
import { ADVERTISED_SCOPES } from '../scopes/scopes.js';
import { OAuthTokens } from '../tokens/oauth-tokens.js';
import { TokenHandles } from '../tokens/token-handles.js';
import { repairParameters } from './client-rules.js';
import { OAuthProvider } from './oauth-provider.js';

const MAX_BYTES = 56 * 1024;

/** A request as the authorization server is to see it. */
interface ProviderRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Buffer;
}

const isLoopback = (host = ''): boolean => /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i.test(host);

/** The body of a request, read whole. */
async function bodyOf({ body }: FastifyRequest): Promise<Buffer> {
  return body instanceof IncomingMessage ? wholeBody(body, MAX_BYTES) : Buffer.alloc(0);
}

/**
 * Lets the authorization server answer. Its addresses and cookies follow from the public address of the service, not from
 * what the headers of a request claim.
 */
async function forward(
  provider: Provider,
  request: FastifyRequest,
  reply: FastifyReply,
  { path, query, body }: ProviderRequest,
): Promise<void> {
  const { raw } = request;
  const message = new IncomingMessage(raw.socket);
  message.method = raw.method;
  message.url = query.size > 0 ? `${path}?${query}` : path;
  const { host, protocol } = new URL(provider.issuer);
  message.headers = {
    ...raw.headers,
    // A machine has several names for itself; any other name comes from the client.
    host: isLoopback(host) && isLoopback(raw.headers.host) ? raw.headers.host : host,
    'x-forwarded-proto': protocol.slice(0, -1),
  };
  delete message.headers['transfer-encoding'];
  delete message.headers['x-forwarded-host'];
  delete message.headers['content-length'];
  if (body.length > 0) {
    message.headers['content-length'] = String(body.length);
    message.push(body);
  }
  message.push(null);
  message.complete = true;
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value);
  void reply.hijack();
  await provider.callback()(message, reply.raw);
}

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
    await forward(await this.provider.current(), request, reply, { path, query, body });
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
      await this.quotas.spendOfAddress('oauth-register', request.ip, this.config.hourLimits.oauth_client);
  }
}

/** A code in the address is shown to be compared, not sent on by itself: the person did not type it (RFC 8628 section 5.4). */
function prefill(query: URLSearchParams): void {
  const code = query.get('user_code');
  query.delete('user_code');
  if (code) query.set('shown_code', code);
}

/** What a client has to know of our resources before it asks for a token (RFC 9728). */
@Public()
@ApiExcludeController()
@Controller()
export class WellKnownController {
  constructor(private readonly resources: OAuthResources) {}

  /** For clients that look at the origin: the MCP endpoint is what they are after. */
  @Header('access-control-allow-origin', '*')
  @Get(['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp'])
  mcp() {
    return this.describe(this.resources.mcp, 'Atelier (MCP)');
  }

  @Header('access-control-allow-origin', '*')
  @Get('/.well-known/oauth-protected-resource/api')
  api() {
    return this.describe(this.resources.api, 'Atelier API');
  }

  private describe(resource: string, resource_name: string) {
    return {
      resource,
      resource_name,
      authorization_servers: [this.resources.issuer],
      scopes_supported: ADVERTISED_SCOPES,
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: [SIGNING_ALGORITHM, 'Ed25519', 'EdDSA'],
      resource_documentation: `${this.resources.issuer}/docs`,
    };
  }
}
