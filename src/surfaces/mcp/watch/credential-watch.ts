import { Injectable } from '@nestjs/common';
import { type Actor, Credentials, credentialTopic } from '../../../platform/access/index.js';
import { atExpiry } from '../../../platform/streams/index.js';
import { Topics } from '../../../platform/topics/index.js';

/** Tells when a credential is no good any more, since a stream outlives the request that opened it. */
@Injectable()
export class CredentialWatch {
  constructor(
    private readonly credentials: Credentials,
    private readonly topics: Topics,
  ) {}

  /** Calls `lost` once the credential is revoked or has run out, at once where it is already; returns what ends that. */
  begin(actor: Actor, lost: () => void): () => void {
    const ask = async () => {
      // If the lookup fails the stream ends too: its client comes back and is authenticated again.
      if (!(await this.credentials.stands(actor.credential).catch(() => false))) lost();
    };
    const unsubscribe = this.topics.subscribe(credentialTopic(actor.credential.id), () => void ask());
    const expiry = atExpiry(actor, () => void ask());
    void ask();
    return () => {
      clearTimeout(expiry);
      unsubscribe();
    };
  }
}
