import { applyDecorators, createParamDecorator, ExecutionContext, SetMetadata } from '@nestjs/common';
import { ApiExtension, ApiSecurity } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { Actor, Credential } from './actor.js';

export const PUBLIC = 'access:public';
export const EXEC_TOKEN_ONLY = 'access:exec-token-only';
/** Set on a route to the name of what it serves, where that exposes something: applications get 403. */
export const EXPOSES = 'access:exposes';

/** Set on a route by what it serves (`sessionOnly` of an action): keys and service accounts get 403. */
export const SESSION_ONLY = 'access:session-only';

/**
 * Opens a route to callers without a credential; every other route is closed. With `orSignedIn`, a credential that is sent
 * all the same is checked, and its owner is the caller.
 */
export const Public = ({ orSignedIn = false } = {}) =>
  applyDecorators(
    SetMetadata(PUBLIC, orSignedIn ? 'or-signed-in' : 'always'),
    ApiExtension('x-public', true),
  );

/** Takes an exec token, and no other credential. */
export const ExecTokenOnly = () =>
  applyDecorators(
    SetMetadata(EXEC_TOKEN_ONLY, true),
    ApiSecurity('exec_token'),
    ApiExtension('x-exec-token', true),
  );

/** Who makes the request. */
export const Caller = createParamDecorator((_: unknown, context: ExecutionContext): Actor => {
  const { user } = context.switchToHttp().getRequest<FastifyRequest & { user: Actor }>();
  return user;
});

/** Who makes the request to a public route; undefined for a caller without a credential. */
export const OptionalCaller = createParamDecorator(
  (_: unknown, context: ExecutionContext): Actor | undefined => {
    return context.switchToHttp().getRequest<FastifyRequest & { user?: Actor }>().user;
  },
);

/** Who stands behind a credential; identity provides it. Each answers undefined for a credential that is not valid. */
export abstract class Credentials {
  abstract ofApiKey(key: string): Promise<Actor | undefined>;
  abstract ofAccessToken(claims: AccessClaims): Promise<Actor | undefined>;
  /** Whether a credential, once checked, has not been revoked since, and has not run out where it is a key. */
  abstract stands(credential: Credential): Promise<boolean>;
}

/** What an access token says (RFC 7519): the user, and the session it belongs to. */
export interface AccessClaims {
  readonly sub: string;
  readonly sid: string;
  readonly exp: number;
}
