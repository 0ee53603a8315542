import { hash } from 'node:crypto';
import type { KeyRing } from '../keys/key-ring.js';
import type { AccessTokenClaims } from './access-token.js';

const MOST = 10_000;

/**
 * What access tokens say that were found to be signed by us, for an audience: a client sends the same one with every
 * request, and checking a signature costs as much as the rest of a short call. A change of the keys forgets all. Whether a
 * token has been revoked is another question, and asked each time.
 */
export class VerifiedTokens {
  private ring: KeyRing | undefined;
  private readonly claims = new Map<string, AccessTokenClaims>();

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
    if (this.claims.size >= MOST) this.claims.clear();
    this.claims.set(nameOf(token, audience), claims);
  }
}

/** The tokens themselves are nobody's to find in our memory. */
const nameOf = (token: string, audience = '') => `${audience} ${hash('sha256', token, 'base64')}`;
