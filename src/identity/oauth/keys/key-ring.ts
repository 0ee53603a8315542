import type { CryptoKey, JWK } from 'jose';
import { settled } from '../../../platform/vault/index.js';

export interface SigningKey {
  readonly id: string;
  /** Of its secret in the vault. */
  readonly secretId: string;
  /** With its private part. */
  readonly jwk: JWK;
  readonly verifier: CryptoKey | Uint8Array;
  readonly createdAt: Date;
}

/** The signing keys as they stand, newest first. */
export class KeyRing {
  constructor(readonly keys: readonly SigningKey[]) {}

  /** A new key is shown to the world for a while before it signs, so that every process and every verifier knows it. */
  signing(now = Date.now()): SigningKey {
    const key = settled(this.keys, now);
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
