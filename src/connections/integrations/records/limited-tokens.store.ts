import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';

type Queries = Pick<Database, 'tables'>;

@Injectable()
export class LimitedTokensStore {
  constructor(private readonly database: Database) {}

  async find(
    connectionId: string,
    limits: string,
    within: Queries = this.database,
  ): Promise<string | undefined> {
    const query = within.tables().selectFrom('limited_token').select('token_set_id');
    const row = await query
      .where('connection_id', '=', connectionId)
      .where('limits', '=', limits)
      .executeTakeFirst();
    return row?.token_set_id;
  }

  byTokenSet(id: string): Promise<{ connection_id: string; limits: string } | undefined> {
    const query = this.database.tables().selectFrom('limited_token').select(['connection_id', 'limits']);
    return query.where('token_set_id', '=', id).executeTakeFirst();
  }

  async insert(
    unit: UnitOfWork,
    row: { token_set_id: string; connection_id: string; limits: string },
  ): Promise<void> {
    await unit.tables().insertInto('limited_token').values(row).execute();
  }

  /** Deletes the rows of a connection, with `idleDays` only the idle ones; returns their token sets. */
  async take(unit: UnitOfWork, connectionId: string, idleDays = 0): Promise<string[]> {
    const { rows } = await sql<{ token_set_id: string }>`
      delete from limited_token l using token_set t
      where l.connection_id = ${connectionId} and t.id = l.token_set_id
        and (${idleDays} = 0 or coalesce(t.last_used_at, t.created_at) < now() - make_interval(days => ${idleDays}))
      returning l.token_set_id`.execute(unit.tables());
    return rows.map(({ token_set_id }) => token_set_id);
  }
}
