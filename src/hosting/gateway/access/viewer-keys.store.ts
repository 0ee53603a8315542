import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { UnitOfWork } from '../../../platform/database/index.js';

@Injectable()
export class ViewerKeysStore {
  /** Serializes processes that would both create the first key. */
  async lock(unit: UnitOfWork): Promise<void> {
    await sql`select pg_advisory_xact_lock(hashtext('hosted-viewer-keys'))`.execute(unit.tables());
  }
}
