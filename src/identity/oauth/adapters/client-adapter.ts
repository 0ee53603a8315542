import { type AdapterPayload, errors } from 'oidc-provider';
import { hashSecret } from '../../../platform/access/index.js';
import type { ClientsStore } from '../clients/clients.store.js';
import { isServiceAccountClient, type ServiceAccountClients } from '../clients/service-account-clients.js';
import { PartialAdapter } from './partial-adapter.js';

/** What PostgreSQL cannot hold: NUL, and halves of surrogate pairs, as JSON writes them. */
const UNSTORABLE = /\\u(0000|d[89a-f])/i;

/** Finds clients for oidc-provider: those that registered, and service accounts. Of a secret only a hash is kept. */
export class ClientAdapter extends PartialAdapter {
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
