import { Injectable } from '@nestjs/common';
import { type JWTPayload } from 'jose';
import { type AdapterPayload } from 'oidc-provider';
import { type Seal, Vault } from '../../../platform/vault/index.js';
import { ArtifactsStore } from '../storage/artifacts.store.js';

/** How long an access token lives. What it may do is looked up at every use, so a revoked one ends at once. */
export const ACCESS_TOKEN_SECONDS = 3600;

/** What our access tokens say (RFC 9068), with two claims of our own: exactly one of them is there. */
export interface AccessTokenClaims extends JWTPayload {
  readonly sub: string;
  readonly client_id: string;
  readonly jti: string;
  readonly iat: number;
  readonly exp: number;
  readonly aud: string;
  readonly scope?: string;
  /** The key it is bound to (RFC 9449). */
  readonly cnf?: { readonly jkt?: string };
  /** The grant it came of. */
  readonly grant_id?: string;
  /** The API key that a service account got it with. */
  readonly key_id?: string;
}

const SEALED_FOR = 'access token handle';
/** Marks of access tokens that were revoked before their time. */
export const REVOKED = 'RevokedToken';

/**
 * A handle stands for one of our access tokens where oidc-provider takes opaque tokens only: at the endpoints for
 * introspection and revocation. It is the token's content, sealed, so only we can make one.
 */
@Injectable()
export class TokenHandles {
  private readonly seal: Seal;

  constructor(
    private readonly artifacts: ArtifactsStore,
    vault: Vault,
  ) {
    this.seal = vault.seal('oauth seal');
  }

  wrap(claims: AccessTokenClaims): string {
    const { jti, iat, exp, aud, scope, cnf, client_id: clientId, grant_id: grantId } = claims;
    const common = { jti, iat, exp, aud, scope, clientId, jkt: cnf?.jkt };
    const payload = grantId
      ? { ...common, kind: 'AccessToken', accountId: claims.sub, grantId }
      : { ...common, kind: 'ClientCredentials' };
    return this.seal.close(JSON.stringify(payload), SEALED_FOR).toString('base64url');
  }

  async open(handle: string): Promise<AdapterPayload | undefined> {
    const opened = this.seal.open(Buffer.from(handle, 'base64url'), SEALED_FOR);
    const payload = opened && (JSON.parse(opened.toString()) as AdapterPayload);
    return payload?.jti && !(await this.isRevoked(payload.jti)) ? payload : undefined;
  }

  async revoke(jti: string): Promise<void> {
    await this.artifacts.mark(REVOKED, jti, 2 * ACCESS_TOKEN_SECONDS);
  }

  async isRevoked(jti: string): Promise<boolean> {
    return (await this.artifacts.find(REVOKED, jti)) !== undefined;
  }
}
