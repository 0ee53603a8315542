import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type Row, type UnitOfWork } from '../../../platform/database/index.js';

/** The lock under which signing keys are made, and the table that held them before the vault did. */
@Injectable()
export class SigningKeysStore {
  constructor(private readonly database: Database) {}

  async lock(unit: UnitOfWork): Promise<void> {
    await sql`select pg_advisory_xact_lock(hashtext('oauth-signing-keys'))`.execute(unit.tables());
  }

  async hasOldKeys(): Promise<boolean> {
    const query = this.database.tables().selectFrom('oauth_signing_key').select('id');
    return (await query.executeTakeFirst()) !== undefined;
  }

  takeOldKeys(unit: UnitOfWork): Promise<Row<'oauth_signing_key'>[]> {
    return unit.tables().deleteFrom('oauth_signing_key').returningAll().execute();
  }
}
