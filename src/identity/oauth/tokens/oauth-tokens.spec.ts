import { describe, expect, it } from '@jest/globals';
import { KeyRing } from '../keys/signing-keys.js';
import { VerifiedTokens } from './oauth-tokens.js';
import type { AccessTokenClaims } from './token-handles.js';

const claims = (exp = Date.now() / 1000 + 60) => ({ sub: 'somebody', exp }) as AccessTokenClaims;

describe('a token that was found right', () => {
  const ring = new KeyRing([]);
  const knowing = (kept: AccessTokenClaims) => {
    const verified = new VerifiedTokens();
    verified.find(ring, 'token', 'here');
    verified.keep(ring, 'token', 'here', kept);
    return verified;
  };

  it('is known for the audience that it was checked for, and no other', () => {
    const kept = claims();
    const verified = knowing(kept);
    expect(verified.find(ring, 'token', 'here')).toBe(kept);
    expect(verified.find(ring, 'token', 'elsewhere')).toBeUndefined();
    expect(verified.find(ring, 'token', undefined)).toBeUndefined();
    expect(verified.find(ring, 'tokem', 'here')).toBeUndefined();
  });

  it('is no more once it has ended', () => {
    expect(knowing(claims(Date.now() / 1000 - 1)).find(ring, 'token', 'here')).toBeUndefined();
  });

  it('is checked anew when the keys have changed, also meanwhile', () => {
    const verified = knowing(claims());
    const next = new KeyRing([]);
    expect(verified.find(next, 'token', 'here')).toBeUndefined();
    verified.keep(ring, 'token', 'here', claims());
    expect(verified.find(next, 'token', 'here')).toBeUndefined();
  });
});
