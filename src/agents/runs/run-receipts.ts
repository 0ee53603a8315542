import { sql } from 'kysely';
import { storable } from '../../platform/database/index.js';
import { notifyTopic } from '../../platform/topics/index.js';
import type { NewEvent, Queryable } from './run-journal.js';
import { holdTopic, runTopic } from './run-state.js';

/**
 * Tells those who watch a run of something that was not done by whoever carries it: a message that waits behind it, a
 * decision about one of its calls. One that has ended hears nothing more. `wakeHolder`: whoever carries it looks up too.
 */
export async function tellRun(
  on: Queryable,
  runId: string,
  events: readonly NewEvent[],
  { wakeHolder = false } = {},
): Promise<void> {
  const topics = wakeHolder ? [runTopic(runId), holdTopic(runId)] : [runTopic(runId)];
  await sql`
    with told as (
      update run set last_event = last_event + ${events.length} where id = ${runId} and status = 'pending' returning id, last_event
    ), written as (
      insert into run_event (run_id, id, type, data, created_at)
      select told.id, told.last_event - ${events.length} + e.ordinality, e.value ->> 'type', e.value -> 'data', now()
      from told, jsonb_array_elements(${storable(events)}::jsonb) with ordinality as e
    )
    select ${notifyTopic(sql`topic`)} from told, unnest(${topics}::text[]) topic`.execute(on);
}
