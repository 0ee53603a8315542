import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { errors, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { Strategy } from 'passport';
import { validate as isUuid } from 'uuid';
import { targetOf } from '#libs/fastify-hardening/index.js';
import type { Actor } from '../../../platform/access/index.js';
import { type KeyRing, SIGNING_ALGORITHM, SigningKeys } from '../keys/signing-keys.js';
import { OAuthResources } from '../scopes/oauth-resources.js';
import { DpopProofs, ProvenRequest } from './dpop-proofs.js';
import type { AccessTokenClaims } from './token-handles.js';
import { TokenOwnersStore } from './token-owners.store.js';

const MOST = 10_000;

/**
 * What access tokens say that were found to be signed by us, for an audience: a client sends the same one with every
 * request, and checking a signature costs as much as the rest of a short call. A change of the keys forgets all. Whether a
 * token has been revoked is another question, and asked each time.
 */
export class VerifiedTokens {
  private ring: KeyRing | undefined;
  private readonly claims = new LRUCache<string, AccessTokenClaims>({ max: MOST });

  /** Undefined for a token that was not found right before, or is over. */
  find(ring: KeyRing, token: string, audience: string | undefined): AccessTokenClaims | undefined {
    if (ring !== this.ring) {
      this.ring = ring;
      this.claims.clear();
    }
    const claims = this.claims.get(nameOf(token, audience));
    return claims && claims.exp * 1000 > Date.now() ? claims : undefined;
  }

  keep(ring: KeyRing, token: string, audience: string | undefined, claims: AccessTokenClaims): void {
    if (ring !== this.ring) return;
    this.claims.set(nameOf(token, audience), claims);
  }
}

/** Hashed, so that memory holds no tokens. */
const nameOf = (token: string, audience = '') => `${audience} ${hash('sha256', token, 'base64')}`;

const AUTHORIZATION = /^(Bearer|DPoP) +([\w.~+/-]+=*)$/i;

/** Verifies the access tokens that the authorization server gave out (RFC 9068). */
@Injectable()
export class OAuthTokens {
  private readonly verified = new VerifiedTokens();

  constructor(
    private readonly resources: OAuthResources,
    private readonly keys: SigningKeys,
    private readonly proofs: DpopProofs,
    private readonly owners: TokenOwnersStore,
  ) {}

  /**
   * Who acts by this token at `resource` (one of {@link OAuthResources}); undefined unless it is signed by us, for this
   * resource, unexpired, its grant not revoked. A token that is bound to a key takes the proof with it.
   */
  async verify(token: string, resource: string, request?: ProvenRequest): Promise<Actor | undefined> {
    const claims = await this.read(token, resource);
    if (!claims) return undefined;
    const thumbprint = claims.cnf?.jkt;
    if ((thumbprint === undefined) !== (request === undefined)) return undefined;
    if (thumbprint && request && !(await this.proofs.verify(token, thumbprint, request))) return undefined;
    return this.owners.find(claims);
  }

  /** Who makes a request with `Authorization: Bearer` or `DPoP`; undefined for no such token, or one that is not good here. */
  async ofRequest(request: FastifyRequest, resource: string): Promise<Actor | undefined> {
    const [, scheme = '', token] = AUTHORIZATION.exec(request.headers.authorization ?? '') ?? [];
    if (!token) return undefined;
    if (scheme.toLowerCase() === 'bearer') return this.verify(token, resource);
    const proof = request.headers.dpop;
    if (typeof proof !== 'string') return undefined;
    const url = this.resources.issuer + targetOf(request.originalUrl).rawPath;
    return this.verify(token, resource, { proof, method: request.method, url });
  }

  /** What one of our tokens says, if it is one and unexpired; whether it is still good for anything is not asked. */
  async read(token: string, audience?: string): Promise<AccessTokenClaims | undefined> {
    const ring = await this.keys.current();
    const known = this.verified.find(ring, token, audience);
    if (known) return known;
    const claims = await this.check(token, audience);
    if (claims) this.verified.keep(ring, token, audience, claims);
    return claims;
  }

  private async check(token: string, audience: string | undefined): Promise<AccessTokenClaims | undefined> {
    try {
      const { payload } = await jwtVerify<AccessTokenClaims>(token, header => this.keyFor(header.kid), {
        algorithms: [SIGNING_ALGORITHM],
        typ: 'at+jwt',
        issuer: this.resources.issuer,
        requiredClaims: ['sub', 'client_id', 'jti', 'iat', 'exp', 'aud'],
        audience,
      });
      const { sub, grant_id, key_id } = payload;
      return [sub, grant_id, key_id].every(id => id === undefined || isUuid(id)) ? payload : undefined;
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  }

  private async keyFor(id: string | undefined) {
    const key = await this.keys.find(id);
    if (!key) throw new errors.JWKSNoMatchingKey();
    return key.verifier;
  }
}

/** A passport strategy that looks at the whole request, as a proof of possession covers it. */
class RequestStrategy extends Strategy {
  override readonly name = 'oauth';

  constructor(
    private readonly verify: (request: FastifyRequest, done: (error: unknown, actor?: Actor) => void) => void,
  ) {
    super();
  }

  override authenticate(request: unknown): void {
    this.verify(request as FastifyRequest, (error, actor) => {
      if (error) this.error(error);
      else if (actor) this.success(actor);
      else this.fail(401);
    });
  }
}

/** Access tokens of the authorization server at `/api`: only those that are for it. */
@Injectable()
export class OAuthStrategy extends PassportStrategy(RequestStrategy, 'oauth') {
  constructor(
    private readonly tokens: OAuthTokens,
    private readonly resources: OAuthResources,
  ) {
    super();
  }

  async validate(request: FastifyRequest): Promise<Actor | false> {
    return (await this.tokens.ofRequest(request, this.resources.api)) ?? false;
  }
}
