import type { AdapterPayload } from 'oidc-provider';
import { validate as isUuid } from 'uuid';
import type { GrantsStore } from '../grants/grants.store.js';
import { PartialAdapter } from './partial-adapter.js';

/** Keeps the grants of oidc-provider where people can list and revoke them. */
export class GrantAdapter extends PartialAdapter {
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
