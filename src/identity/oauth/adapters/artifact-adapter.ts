import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import type { ArtifactsStore, StoredArtifact } from '../artifacts/artifacts.store.js';
import type { GrantsStore } from '../grants/grants.store.js';

/** A refresh token that was traded already still works for so long: clients refresh in several places at once (OAuth 2.1 section 4.3.1). */
const GRACE_MS = 60_000;

const usedCode = () => new errors.InvalidGrant('the device code was used already');

/** Keeps the models of oidc-provider that come and go. */
export class ArtifactAdapter implements Adapter {
  constructor(
    private readonly model: string,
    private readonly artifacts: ArtifactsStore,
    private readonly grants: GrantsStore,
  ) {}

  async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
    if (this.model === 'ReplayDetection') return this.markOnce(id, expiresIn);
    if (!(await this.artifacts.put(this.model, id, payload, expiresIn)))
      throw new errors.InvalidGrant('the grant was revoked');
    if (this.model === 'RefreshToken' && payload.grantId)
      await this.grants.extend(payload.grantId, expiresIn);
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const stored = await this.artifacts.find(this.model, id);
    // Devices poll on when the answer to the last poll was lost: that ends nothing that was issued.
    if (this.model === 'DeviceCode' && stored?.consumedAt) throw usedCode();
    return this.payloadOf(stored);
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.payloadOf(await this.artifacts.findByLookup(this.model, uid));
  }

  async findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    return this.payloadOf(await this.artifacts.findByLookup(this.model, userCode));
  }

  /** Of several who use the same at once one gets through; all that may be repeated are refresh tokens, for a while. */
  async consume(id: string): Promise<void> {
    if (await this.artifacts.consume(this.model, id)) return;
    if (this.model === 'DeviceCode') throw usedCode();
    const stored = await this.artifacts.find(this.model, id);
    if (this.isWithinGrace(stored)) return;
    if (stored?.payload.grantId) await this.grants.delete(stored.payload.grantId);
    throw this.model === 'PushedAuthorizationRequest'
      ? new errors.InvalidRequestUri('request_uri was already used')
      : new errors.InvalidGrant('already used');
  }

  destroy(id: string): Promise<void> {
    return this.artifacts.delete(this.model, id);
  }

  revokeByGrantId(grantId: string): Promise<void> {
    return this.artifacts.deleteOfGrant(this.model, grantId);
  }

  private payloadOf(stored: StoredArtifact | undefined): AdapterPayload | undefined {
    if (!stored?.consumedAt || this.isWithinGrace(stored)) return stored?.payload;
    return { ...stored.payload, consumed: Math.floor(stored.consumedAt.getTime() / 1000) };
  }

  private isWithinGrace(stored: StoredArtifact | undefined): boolean {
    if (this.model !== 'RefreshToken' || !stored) return false;
    return !stored.consumedAt || Date.now() - stored.consumedAt.getTime() < GRACE_MS;
  }

  private async markOnce(id: string, seconds: number): Promise<void> {
    if (!(await this.artifacts.mark(this.model, id, seconds)))
      throw new errors.InvalidDpopProof('this proof was used before');
  }
}
