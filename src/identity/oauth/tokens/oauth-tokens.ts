import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { errors, jwtVerify } from 'jose';
import { validate as isUuid } from 'uuid';
import type { Actor } from '../../../platform/access/index.js';
import { targetOf } from '../../../platform/http/index.js';
import { SIGNING_ALGORITHM, SigningKeys } from '../keys/signing-keys.js';
import { OAuthResources } from '../scopes/resources.js';
import type { AccessTokenClaims } from './access-token.js';
import { DpopProofs, type ProvenRequest } from './dpop.js';
import { TokenOwners } from './token-owners.js';
import { VerifiedTokens } from './verified-tokens.js';

const AUTHORIZATION = /^(Bearer|DPoP) +([\w.~+/-]+=*)$/i;

/** Verifies the access tokens that the authorization server gave out (RFC 9068). */
@Injectable()
export class OAuthTokens {
  private readonly verified = new VerifiedTokens();

  constructor(
    private readonly resources: OAuthResources,
    private readonly keys: SigningKeys,
    private readonly proofs: DpopProofs,
    private readonly owners: TokenOwners,
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
    if (thumbprint && request && !(await this.proofs.holds(token, thumbprint, request))) return undefined;
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
