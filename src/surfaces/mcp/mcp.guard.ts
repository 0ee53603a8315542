import { isIP } from 'node:net';
import { type CanActivate, ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { DEFAULT_SCOPES, OAuthResources, OAuthTokens, readOnly } from '../../identity/oauth/index.js';
import { type Actor, Credentials, sentApiKey } from '../../platform/access/index.js';
import { Config } from '../../platform/config/index.js';
import { AccessTokenGuard, isOAuthToken } from '../../platform/credentials/index.js';
import { BadRequest, Forbidden, Problem, problemOf, Unauthorized } from '../../platform/errors/index.js';
import { RateLimits } from '../../platform/limits/index.js';

/** What a request says of where it comes from and where it believes to go. */
interface Headers {
  readonly host?: string;
  readonly origin?: string;
}

/**
 * Keeps web pages of others out (DNS rebinding): a name that is not ours in `Host`, or an `Origin` that is neither ours
 * nor allowed by MCP_ALLOWED_ORIGINS. Programs that are no browsers send no `Origin`.
 */
@Injectable()
export class McpOrigins {
  private readonly own: URL;
  /** The last host that was ours: nearly always the next one, too. */
  private known: string | undefined;

  constructor(private readonly config: Config) {
    this.own = new URL(config.baseUrl);
  }

  /** Throws Forbidden for a request that a page of another origin may have made. */
  requireOurs({ host, origin }: Headers): void {
    if (!this.isOurHost(host))
      throw new Forbidden(
        `Host names ${shown(host)}, which is not this service: use ${this.own.host}, set PUBLIC_URL, or let the proxy pass Host on`,
      );
    if (origin !== undefined && !this.isOurOrigin(origin, host) && !this.isAllowed(origin))
      throw new Forbidden(
        `Pages of ${shown(origin)} may not call this; MCP_ALLOWED_ORIGINS lists those that may`,
      );
  }

  /** Whether the origin is one of others that the operator allowed. */
  isAllowed(origin: string | undefined): origin is string {
    return origin !== undefined && this.config.mcpAllowedOrigins.includes(origin.toLowerCase());
  }

  /** An address cannot be rebound as a name can, so any is fine. */
  private isOurHost(host: string | undefined): boolean {
    if (host !== undefined && host === this.known) return true;
    const name = host && URL.parse(`http://${host}`)?.hostname;
    if (!name) return false;
    const isAddress = isIP(name) !== 0 || isIP(name.slice(1, -1)) === 6;
    const isOurs = isAddress || name === 'localhost' || name === this.own.hostname;
    if (isOurs) this.known = host;
    return isOurs;
  }

  private isOurOrigin(origin: string, host: string | undefined): boolean {
    const parsed = URL.parse(origin);
    if (!parsed || parsed.origin === 'null') return false;
    if (parsed.origin === this.own.origin) return true;
    return this.config.publicUrl === undefined && parsed.host === host;
  }
}

const shown = (text: string | undefined) => JSON.stringify((text ?? '').slice(0, 200));

type McpRequest = FastifyRequest & { user: Actor };

/** Whether a browser asks for a page, not a client for the protocol. */
export const wantsPage = ({ method, headers }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') && (headers.accept ?? '').includes('text/html');

/**
 * Lets in who proves who they are: by an access token that is for `/mcp`, an API key or a session. The answer to others says
 * where to get a token, and with which scopes (RFC 9728 section 5.1; 2025-11-25, authorization, scope selection).
 */
@Injectable()
export class McpGuard implements CanActivate {
  constructor(
    private readonly origins: McpOrigins,
    private readonly tokens: OAuthTokens,
    private readonly resources: OAuthResources,
    private readonly limits: RateLimits,
    private readonly credentials: Credentials,
    @Inject(AccessTokenGuard) private readonly session: CanActivate,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<McpRequest>();
    this.origins.requireOurs(request.headers);
    if (wantsPage(request) || request.method === 'OPTIONS') return true;
    try {
      await this.authenticate(context, request);
      request.user = { ...request.user, surface: 'mcp' };
    } catch (error) {
      throw this.challenged(error, request);
    }
    await this.limits.recognise(request, context.switchToHttp().getResponse<FastifyReply>(), request.user);
    return true;
  }

  private async authenticate(context: ExecutionContext, request: McpRequest): Promise<void> {
    const { authorization } = request.headers;
    if (request.headers['x-api-key'] !== undefined && authorization !== undefined)
      throw new BadRequest('Send X-API-Key or Authorization, not both');
    const key = sentApiKey(request.headers);
    if (key !== undefined) request.user = await this.ownerOf(key);
    else if (authorization === undefined)
      throw new Unauthorized('Sign in with OAuth, or send an API key in X-API-Key');
    else if (isOAuthToken(authorization)) request.user = await this.bearerOf(request);
    else await this.session.canActivate(context);
  }

  /** A key is looked up without passport, which would cost most of what the rest of a short call does. */
  private async ownerOf(key: string): Promise<Actor> {
    const actor = await this.credentials.ofApiKey(key);
    if (!actor) throw new Unauthorized('This API key is not valid: unknown, revoked or expired');
    return actor;
  }

  private async bearerOf(request: McpRequest): Promise<Actor> {
    const actor = await this.tokens.ofRequest(request, this.resources.mcp);
    if (!actor)
      throw new Unauthorized(
        'This access token is not valid here: expired, revoked, or meant for another resource',
      );
    return actor;
  }

  private challenged(error: unknown, { headers, query }: McpRequest): unknown {
    const problem = problemOf(error);
    if (problem?.status !== 401) return error;
    const reason = headers.authorization === undefined ? '' : 'error="invalid_token", ';
    const scopes = wantsOnlyToRead(query) ? readOnly(DEFAULT_SCOPES) : DEFAULT_SCOPES;
    const challenge = `Bearer ${reason}scope="${scopes.join(' ')}", resource_metadata="${this.resources.mcpMetadata}"`;
    return new Problem(401, problem.detail, { 'www-authenticate': challenge });
  }
}

/** An address for tools that change nothing asks for no more than they take. */
const wantsOnlyToRead = (query: unknown): boolean =>
  ['1', 'true'].includes(String((query as { readonly?: unknown }).readonly));
