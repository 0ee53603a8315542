import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { ExecTokens } from '../../platform/actions/index.js';
import { UnitOfWork } from '../../platform/database/index.js';

/** What a person gave out that goes on without their password: API keys, and applications that they let in. */
@Injectable()
export class IssuedCredentialsStore {
  constructor(private readonly execTokens: ExecTokens) {}

  /** Ends all of them; tells how many. */
  async endAll(unit: UnitOfWork, userId: string): Promise<{ ended_keys: number; ended_grants: number }> {
    const keys = await sql<{ id: string }>`
      update api_key set revoked_at = now() where user_id = ${userId} and revoked_at is null
      returning id`.execute(unit.tables());
    const grants = await sql<{ id: string }>`
      delete from oauth_grant where user_id = ${userId} returning id`.execute(unit.tables());
    for (const { id } of [...keys.rows, ...grants.rows]) await this.execTokens.revokeFrom(unit, id);
    return { ended_keys: keys.rows.length, ended_grants: grants.rows.length };
  }
}
