import type { Adapter, AdapterPayload } from 'oidc-provider';

/** An adapter for models that have no second names and are not used up; the rest is for its subclass to say. */
export abstract class PartialAdapter implements Adapter {
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
