import { type CanActivate, ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type Actor,
  Credentials,
  EXEC_TOKEN_ONLY,
  EXPOSES,
  isApplication,
  PUBLIC,
  SESSION_ONLY,
  sentApiKey,
} from '../access/index.js';
import { EXEC_TOKEN_PREFIX, ExecTokenGuard, forApplications } from '../actions/index.js';
import { BadRequest, Forbidden, Unauthorized } from '../errors/index.js';
import { RateLimits } from '../limits/index.js';

/**
 * Whether an `Authorization` header holds an OAuth access token (RFC 9068: its type is `at+jwt`) rather than a session's.
 * This only decides who looks at it: each of the two verifies its own kind strictly, and takes no other.
 */
export function isOAuthToken(authorization: string): boolean {
  if (/^DPoP /i.test(authorization)) return true;
  const [, header] = /^Bearer +([\w-]+)\./i.exec(authorization) ?? [];
  return (
    header !== undefined &&
    /"typ"\s*:\s*"(application\/)?at\+jwt"/i.test(Buffer.from(header, 'base64url').toString())
  );
}

type ActorRequest = FastifyRequest & { user: Actor };

/** Lets in who holds an API key, see {@link sentApiKey}. */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(private readonly credentials: Credentials) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<ActorRequest>();
    const key = sentApiKey(request.headers);
    const actor = key && (await this.credentials.ofApiKey(key));
    if (!actor) throw new Unauthorized('This API key is not valid: unknown, revoked or expired');
    request.user = actor;
    return true;
  }
}

/** Hands a rejected credential over as our own problem, whatever passport made of it. */
function guardFor(strategy: string, refusal: string) {
  @Injectable()
  class StrategyGuard extends AuthGuard(strategy) {
    override handleRequest<TUser = Actor>(error: unknown, actor: TUser | false): TUser {
      if (error) throw error;
      if (!actor) throw new Unauthorized(refusal);
      return actor;
    }
  }
  return StrategyGuard;
}

@Injectable()
export class AccessTokenGuard extends guardFor('jwt', 'This access token is not valid or has expired') {}

@Injectable()
export class OAuthTokenGuard extends guardFor(
  'oauth',
  'This access token is not valid here: expired, revoked, or meant for another resource',
) {}

/** Who may call a route, as it is declared there. */
interface RouteAccess {
  readonly controller: object;
  readonly open: 'always' | 'or-signed-in' | undefined;
  readonly takesExecToken: boolean | undefined;
  readonly sessionOnly: boolean | undefined;
  /** The name of what it serves. */
  readonly exposes: string | undefined;
}

/** Lets in who proves who they are, by API key or access token; every route that is not `@Public()` passes here. */
@Injectable()
export class CredentialGuard implements CanActivate {
  private readonly routes = new WeakMap<object, RouteAccess>();

  constructor(
    private readonly reflector: Reflector,
    @Inject(ApiKeyGuard) private readonly apiKey: CanActivate,
    @Inject(AccessTokenGuard) private readonly accessToken: CanActivate,
    @Inject(OAuthTokenGuard) private readonly oauthToken: CanActivate,
    @Inject(ExecTokenGuard) private readonly execToken: CanActivate,
    private readonly limits: RateLimits,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { open, takesExecToken, sessionOnly, exposes } = this.accessTo(context);
    const request = context.switchToHttp().getRequest<ActorRequest>();
    if (open === 'always' || (open && !hasCredential(request))) return true;
    const guard = takesExecToken ? this.execToken : this.guardOf(request);
    const admitted = await guard.canActivate(context);
    await this.limits.recognise(request, context.switchToHttp().getResponse<FastifyReply>(), request.user);
    if (sessionOnly) requireSession(request.user);
    if (exposes && isApplication(request.user)) throw new Forbidden(forApplications(exposes));
    return admitted as boolean;
  }

  /** What is declared of a route stays the same: it is looked up once. */
  private accessTo(context: ExecutionContext): RouteAccess {
    const handler = context.getHandler();
    const controller = context.getClass();
    const known = this.routes.get(handler);
    if (known?.controller === controller) return known;
    const declared = <T>(key: string) =>
      this.reflector.getAllAndOverride<T | undefined>(key, [handler, controller]);
    const access: RouteAccess = {
      controller,
      open: declared(PUBLIC),
      takesExecToken: declared(EXEC_TOKEN_ONLY),
      sessionOnly: declared(SESSION_ONLY),
      exposes: declared(EXPOSES),
    };
    this.routes.set(handler, access);
    return access;
  }

  private guardOf({ headers }: FastifyRequest): CanActivate {
    const { authorization } = headers;
    if (headers['x-api-key'] !== undefined && authorization !== undefined)
      throw new BadRequest('Send X-API-Key or Authorization, not both');
    if (sentApiKey(headers) !== undefined) return this.apiKey;
    if (authorization === undefined) throw new Unauthorized('Sign in, or send an API key in X-API-Key');
    if (authorization.startsWith(`Bearer ${EXEC_TOKEN_PREFIX}`))
      throw new Unauthorized('An exec token is good for /api/actions-exec alone');
    return isOAuthToken(authorization) ? this.oauthToken : this.accessToken;
  }
}

function hasCredential({ headers }: FastifyRequest): boolean {
  return headers['x-api-key'] !== undefined || headers.authorization !== undefined;
}

function requireSession(actor: Actor): void {
  if (actor.credential.type !== 'session')
    throw new Forbidden('This takes your own sign-in; an API key or service account cannot do it');
}
