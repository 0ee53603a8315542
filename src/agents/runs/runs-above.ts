import { sql } from 'kysely';
import type { UnitOfWork } from '../../platform/database/index.js';

/**
 * Holds the runs above one until the transaction ends, the uppermost first: before it is ended or let go on from outside, and
 * before what it asks is decided. Whoever ends a run holds it before its tasks.
 */
export async function holdRunsAbove(unit: UnitOfWork, runId: string): Promise<void> {
  await sql`
    with recursive above as (
      select parent_id as id from run where id = ${runId} and parent_id is not null
      union all
      select r.parent_id from run r join above a on r.id = a.id where r.parent_id is not null
    )
    select from run where id in (select id from above) order by depth for update`.execute(unit.tables());
}
