import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { calculateJwkThumbprint } from 'jose';
import { ArtifactsStore } from '../artifacts/artifacts.store.js';
import { ProvenRequest, verified, WINDOW_SECONDS } from './oauth-tokens.js';

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
