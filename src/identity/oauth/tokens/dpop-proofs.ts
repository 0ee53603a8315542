import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { calculateJwkThumbprint, EmbeddedJWK, errors, type JWTVerifyResult, jwtVerify } from 'jose';
import { ArtifactsStore } from '../storage/artifacts.store.js';

const DPOP_ALGORITHMS = ['ES256', 'Ed25519', 'EdDSA'];
/** How far the clock of a client may be off, and how long a proof is remembered. */
const WINDOW_SECONDS = 300;

/** A request that comes with a proof of possession (RFC 9449). */
export interface ProvenRequest {
  readonly proof: string;
  readonly method: string;
  /** Without query and fragment. */
  readonly url: string;
}

async function verified(proof: string): Promise<JWTVerifyResult | undefined> {
  try {
    return await jwtVerify(proof, EmbeddedJWK, { algorithms: DPOP_ALGORITHMS, typ: 'dpop+jwt' });
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Checks that the sender of a token has the key that it is bound to (RFC 9449 section 4.3). */
@Injectable()
export class DpopProofs {
  constructor(private readonly artifacts: ArtifactsStore) {}

  /** Each proof counts once, in whatever process. */
  async verify(token: string, thumbprint: string, request: ProvenRequest): Promise<boolean> {
    const proof = await verified(request.proof);
    if (!proof?.protectedHeader.jwk) return false;
    const { htm, htu, ath, iat, jti } = proof.payload;
    const fits =
      htm === request.method &&
      typeof htu === 'string' &&
      URL.parse(htu.replace(/[?#].*$/s, ''))?.href === URL.parse(request.url)?.href &&
      ath === createHash('sha256').update(token).digest('base64url') &&
      Math.abs(Date.now() / 1000 - (iat ?? 0)) <= WINDOW_SECONDS &&
      typeof jti === 'string' &&
      (await calculateJwkThumbprint(proof.protectedHeader.jwk)) === thumbprint;
    return fits && this.artifacts.mark('DpopProof', `${thumbprint} ${jti}`, 2 * WINDOW_SECONDS);
  }
}
