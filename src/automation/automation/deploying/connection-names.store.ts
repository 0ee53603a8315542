import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '../../../platform/database/index.js';

/** By what automations name connections. */
@Injectable()
export class ConnectionNamesStore {
  constructor(private readonly database: Database) {}

  /** Providers and names of the connections that one who acts in a workspace may use there. */
  async of(workspaceId: string, actingId: string): Promise<string[]> {
    const { rows } = await sql<{ name: string }>`
      select distinct unnest(array[c.provider, c.name]) as name
      from connection_grant g join integration_connection c on c.id = g.connection_id
      where g.workspace_id = ${workspaceId} and (c.user_id is null or c.user_id = ${actingId}) order by name`.execute(
      this.database.tables(),
    );
    return rows.map(({ name }) => name);
  }
}
