import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { AdapterPayload } from 'oidc-provider';
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

  async noteUse(id: string): Promise<void> {
    const last_used_at = sql<string>`now()`;
    await this.tables.updateTable('oauth_client').set({ last_used_at }).where('id', '=', id).execute();
  }

  async delete(id: string): Promise<void> {
    await this.tables.deleteFrom('oauth_client').where('id', '=', id).execute();
  }

  /** Forgets those that nobody let in within a day, and those that nobody lets in any more for a quarter of a year. */
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
