import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '../../../platform/database/index.js';
import type { AutomationRunRow } from '../records/index.js';

const MAX_PATHS = 10_000;

/** The files that the agent of a run wrote, by the log of changes. */
@Injectable()
export class WrittenFiles {
  constructor(private readonly database: Database) {}

  async of({ call_id }: Pick<AutomationRunRow, 'call_id'>): Promise<string[]> {
    const { rows } = await sql<{ path: string }>`
      select distinct path from workspace_change
      where run_id = ${call_id} and kind <> 'deleted'
      limit ${MAX_PATHS}`.execute(this.database.tables());
    return rows.map(({ path }) => path);
  }
}
