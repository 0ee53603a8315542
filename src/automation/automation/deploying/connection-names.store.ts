import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '../../../platform/database/index.js';

/** By what automations name connections. */
@Injectable()
export class ConnectionNamesStore {
  constructor(private readonly database: Database) {}

  /** Providers and names of the connections that a workspace may use. */
  async of(workspaceId: string): Promise<string[]> {
    const { rows } = await sql<{ name: string }>`
      select distinct unnest(array[c.provider, c.name]) as name
      from connection_grant g join integration_connection c on c.id = g.connection_id
      where g.workspace_id = ${workspaceId} order by name`.execute(this.database.tables());
    return rows.map(({ name }) => name);
  }
}
