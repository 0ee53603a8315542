import type { CryptoKey, JWK } from 'jose';

/** A new key is shown to the world for so long before it signs, so that every process and every verifier knows it. */
export const SETTLE_MS = 3_600_000;

export interface SigningKey {
  readonly id: string;
  /** With its private part. */
  readonly jwk: JWK;
  readonly verifier: CryptoKey | Uint8Array;
  readonly createdAt: Date;
}

/** The signing keys as they stand, newest first. */
export class KeyRing {
  constructor(readonly keys: readonly SigningKey[]) {}

  /** The newest that everyone knows by now; where none is that old, the oldest. */
  signing(now = Date.now()): SigningKey {
    const settled = this.keys.find(({ createdAt }) => createdAt.getTime() + SETTLE_MS <= now);
    const key = settled ?? this.keys.at(-1);
    if (!key) throw new Error('There is no signing key');
    return key;
  }

  find(id: string | undefined): SigningKey | undefined {
    return this.keys.find(key => key.id === id);
  }

  /** As oidc-provider takes them: the one that signs comes first. */
  privateJwks(): JWK[] {
    const first = this.signing();
    return [first, ...this.keys.filter(key => key !== first)].map(({ jwk }) => jwk);
  }
}
