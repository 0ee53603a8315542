import { Injectable } from '@nestjs/common';
import type { AdapterPayload } from 'oidc-provider';
import { validate as isUuid } from 'uuid';
import { Credentials, randomSecret } from '../../../platform/access/index.js';
import { Database } from '../../../platform/database/index.js';

/** Clients that register get ids of another form, and documents are addresses: only a service account's id is a UUID. */
export const isServiceAccountClient = (clientId: string): boolean => isUuid(clientId);

/** Service accounts as clients: their id, and any of their API keys as the secret (RFC 6749 section 4.4). */
@Injectable()
export class ServiceAccountClients {
  /** Stands where oidc-provider wants a secret; never compared, as {@link authenticate} is asked instead. */
  private readonly placeholder = randomSecret();
  /** The API key that a request authenticated with. */
  private readonly keys = new WeakMap<object, string>();

  constructor(
    private readonly database: Database,
    private readonly credentials: Credentials,
  ) {}

  async find(id: string): Promise<AdapterPayload | undefined> {
    const account = await this.database
      .tables()
      .selectFrom('service_account')
      .select('name')
      .where('id', '=', id)
      .executeTakeFirst();
    return (
      account && {
        client_id: id,
        client_secret: this.placeholder,
        client_name: account.name,
        grant_types: ['client_credentials'],
        response_types: [],
        redirect_uris: [],
        token_endpoint_auth_method: 'client_secret_basic',
      }
    );
  }

  async authenticate(request: object, clientId: string, secret: string): Promise<boolean> {
    const actor = await this.credentials.ofApiKey(secret);
    if (actor?.type !== 'service_account' || actor.id !== clientId) return false;
    this.keys.set(request, actor.credential.id);
    return true;
  }

  keyOf(request: object): string | undefined {
    return this.keys.get(request);
  }
}
