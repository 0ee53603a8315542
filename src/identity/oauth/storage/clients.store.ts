import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type AdapterPayload } from 'oidc-provider';
import { validate as isUuid } from 'uuid';
import { Credentials, randomSecret } from '../../../platform/access/index.js';
import { Database } from '../../../platform/database/index.js';
import { Chore } from '../../../platform/jobs/index.js';

const DAY_MS = 86_400_000;

declare global {
  interface ColumnTypes {
    'oauth_client.metadata': AdapterPayload;
  }
}

/** Clients that registered themselves. */
@Injectable()
export class ClientsStore {
  constructor(private readonly database: Database) {}

  async put(id: string, metadata: AdapterPayload): Promise<void> {
    await this.tables
      .insertInto('oauth_client')
      .values({ id, metadata, created_at: sql<string>`now()`, last_used_at: null })
      .onConflict(conflict => conflict.column('id').doUpdateSet({ metadata }))
      .execute();
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const query = this.tables.selectFrom('oauth_client').select('metadata').where('id', '=', id);
    return (await query.executeTakeFirst())?.metadata;
  }

  async recordUse(id: string): Promise<void> {
    const last_used_at = sql<string>`now()`;
    await this.tables.updateTable('oauth_client').set({ last_used_at }).where('id', '=', id).execute();
  }

  async delete(id: string): Promise<void> {
    await this.tables.deleteFrom('oauth_client').where('id', '=', id).execute();
  }

  /** Deletes clients that got no grant within a day, and those without one that were last used 90 days ago. */
  @Chore('oauth-unused-clients', { everyMs: DAY_MS / 24 })
  async deleteUnused(): Promise<void> {
    await sql`
      delete from oauth_client c
      where (c.last_used_at is null and c.created_at < now() - interval '1 day')
        or (c.last_used_at < now() - interval '90 days'
          and not exists (select from oauth_grant g where g.client_id = c.id))`.execute(this.tables);
  }

  private get tables() {
    return this.database.tables();
  }
}

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
