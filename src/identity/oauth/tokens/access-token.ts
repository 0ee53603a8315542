import type { JWTPayload } from 'jose';

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
