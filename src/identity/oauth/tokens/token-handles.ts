import { Injectable } from '@nestjs/common';
import type { AdapterPayload } from 'oidc-provider';
import { type Seal, Vault } from '../../../platform/vault/index.js';
import { ArtifactsStore } from '../artifacts/artifacts.store.js';
import { ACCESS_TOKEN_SECONDS, type AccessTokenClaims } from './access-token.js';

const PLACE = 'access token handle';
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
    return this.seal.close(JSON.stringify(payload), PLACE).toString('base64url');
  }

  async open(handle: string): Promise<AdapterPayload | undefined> {
    const opened = this.seal.open(Buffer.from(handle, 'base64url'), PLACE);
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
