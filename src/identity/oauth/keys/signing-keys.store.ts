import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { UnitOfWork } from '../../../platform/database/index.js';

/** The lock under which signing keys are made. */
@Injectable()
export class SigningKeysStore {
  async lock(unit: UnitOfWork): Promise<void> {
    await sql`select pg_advisory_xact_lock(hashtext('oauth-signing-keys'))`.execute(unit.tables());
  }
}
