import { Injectable } from '@nestjs/common';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import { validate as isUuid } from 'uuid';
import { hashSecret } from '../../../platform/access/index.js';
import { GrantsStore } from '../grants/grants.store.js';
import { ArtifactsStore, type StoredArtifact } from '../storage/artifacts.store.js';
import { ClientsStore, isServiceAccountClient, ServiceAccountClients } from '../storage/clients.store.js';
import { TokenHandles } from '../tokens/token-handles.js';

/** A refresh token that was traded already still works for so long: clients refresh in several places at once (OAuth 2.1 section 4.3.1). */
const GRACE_MS = 60_000;

const usedCode = () => new errors.InvalidGrant('the device code was used already');

/** Keeps the models of oidc-provider that come and go. */
class ArtifactAdapter implements Adapter {
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

/** An adapter for models that have no second names and are not used up; the rest is for its subclass to say. */
abstract class PartialAdapter implements Adapter {
  abstract upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void>;
  abstract find(id: string): Promise<AdapterPayload | undefined>;
  abstract destroy(id: string): Promise<void>;

  async findByUid(): Promise<undefined> {
    return undefined;
  }

  async findByUserCode(): Promise<undefined> {
    return undefined;
  }

  async consume(): Promise<void> {
    throw new Error('This model is not consumed');
  }

  async revokeByGrantId(_grantId: string): Promise<void> {
    // Nothing of this model belongs to a grant.
  }
}

/** What PostgreSQL cannot hold: NUL, and halves of surrogate pairs, as JSON writes them. */
const UNSTORABLE = /\\u(0000|d[89a-f])/i;

/** Finds clients for oidc-provider: those that registered, and service accounts. Of a secret only a hash is kept. */
class ClientAdapter extends PartialAdapter {
  constructor(
    private readonly clients: ClientsStore,
    private readonly serviceAccounts: ServiceAccountClients,
  ) {
    super();
  }

  async upsert(id: string, { client_secret, ...metadata }: AdapterPayload): Promise<void> {
    if (UNSTORABLE.test(JSON.stringify(metadata)))
      throw new errors.InvalidClientMetadata('client metadata must be well-formed text');
    const hashed = typeof client_secret === 'string' ? { client_secret: hashSecret(client_secret) } : {};
    await this.clients.put(id, { ...metadata, ...hashed });
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    if (id.includes('\0')) return undefined;
    return isServiceAccountClient(id) ? this.serviceAccounts.find(id) : this.clients.find(id);
  }

  destroy(id: string): Promise<void> {
    return this.clients.delete(id);
  }
}

/** Keeps the grants of oidc-provider where people can list and revoke them. */
class GrantAdapter extends PartialAdapter {
  constructor(private readonly grants: GrantsStore) {
    super();
  }

  upsert(id: string, payload: AdapterPayload): Promise<void> {
    return this.grants.put(id, payload);
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return isUuid(id) ? this.grants.findTerms(id) : undefined;
  }

  destroy(id: string): Promise<void> {
    return this.grants.delete(id);
  }
}

/** Access tokens are JWTs and not stored; oidc-provider finds them by a handle. */
class StructuredTokenAdapter extends PartialAdapter {
  constructor(
    private readonly model: string,
    private readonly handles: TokenHandles,
  ) {
    super();
  }

  async upsert(): Promise<void> {
    throw new Error('Access tokens are JWTs; there is no opaque one to keep');
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const payload = await this.handles.open(id);
    return payload?.kind === this.model ? payload : undefined;
  }

  /** Ends it before its time; those of a grant end with the grant. */
  destroy(jti: string): Promise<void> {
    return this.handles.revoke(jti);
  }
}

/** Where oidc-provider keeps each of its models: all in the database, so that any process can go on with any of them. */
@Injectable()
export class OAuthAdapters {
  constructor(
    private readonly clients: ClientsStore,
    private readonly serviceAccounts: ServiceAccountClients,
    private readonly grants: GrantsStore,
    private readonly artifacts: ArtifactsStore,
    private readonly handles: TokenHandles,
  ) {}

  readonly of = (model: string): Adapter => {
    switch (model) {
      case 'Client':
        return new ClientAdapter(this.clients, this.serviceAccounts);
      case 'Grant':
        return new GrantAdapter(this.grants);
      case 'AccessToken':
      case 'ClientCredentials':
        return new StructuredTokenAdapter(model, this.handles);
      default:
        return new ArtifactAdapter(model, this.artifacts, this.grants);
    }
  };
}
