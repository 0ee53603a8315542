import type { TestDatabase } from './database.js';

/** Each event by itself. */
const EVENTS = `(
  select row.run_id, e.* from run_event row cross join lateral events_of_row(row.id, row.events) e)`;

/** What must hold of runs at any time, each as a query for the runs of which it does not. */
const BROKEN: Record<string, string> = {
  'events are numbered from 1 without a gap, as the run counts them': `
    select r.id from run r left join (
      select run_id, count(*) as n, count(distinct id) as different, max(id) as last from ${EVENTS} e group by 1) e on e.run_id = r.id
    where (coalesce(e.n, 0), coalesce(e.different, 0), coalesce(e.last, 0)) <> (r.last_event, r.last_event, r.last_event)`,
  'a run that has ended tells so once, as the last thing; one in flight does not': `
    select r.id from run r left join ${EVENTS} e on e.run_id = r.id and e.type in ('run.completed', 'run.failed')
    group by r.id having count(e.id) <> (r.status <> 'pending')::int
      or (r.status <> 'pending' and max(e.id) <> r.last_event)
      or (r.status = 'completed' and max(e.type) <> 'run.completed')
      or (r.status = 'error' and max(e.type) <> 'run.failed')`,
  'each message that was sent is there once, in its run or in the one that took it in': `
    select r.id from run r
    where (select count(*) from message m where m.run_id = r.id and m.role = 'user')
      <> case when r.merged_into is null then 1 else 0 end + (select count(*) from run s where s.merged_into = r.id)`,
  'each step that was finished is kept once, with its answer': `
    select r.id from run r
    where (select count(*) from run_step s where s.run_id = r.id) <> r.step_count
      or (select count(*) from message m where m.run_id = r.id and m.step is not null) <> r.step_count
      or (select count(distinct m.step) from message m where m.run_id = r.id and m.step is not null) <> r.step_count
      or (select count(*) from ${EVENTS} e where e.run_id = r.id and e.type = 'step.finished') <> r.step_count`,
  'no call of a tool is without a result when its run has ended': `
    select r.id from run r join tool_call c on c.run_id = r.id where r.status <> 'pending' and c.state <> 'finished'`,
  'no call of a tool is told twice': `
    select run_id as id from ${EVENTS} e where type in ('tool.started', 'tool.finished')
    group by run_id, type, data ->> 'id', data ->> 'step' having count(*) > 1`,
  'each model call that counts is in the ledger once': `
    select r.id from run r
    where (select count(*) from usage_entry u where u.run_id = r.id and u.kind = 'model_call' and u.step is not null) <> r.step_count`,
  'nothing is held, due or reserved for a run that has ended': `
    select r.id from run r left join budget_reservation b on b.run_id = r.id
    where r.status <> 'pending' and (r.due or r.holder is not null or b.run_id is not null)`,
  'a run is pending until it is done, has the values that runs have, and no depth without a run above it': `
    select id from run where (status = 'pending') = (state = 'done') or (parent_id is null) <> (depth = 0)
      or state not in ('queued', 'running', 'waiting', 'stopping', 'done') or status not in ('pending', 'completed', 'error')
      or delivery not in ('queue', 'reject', 'steer', 'interrupt') or on_approval not in ('wait', 'fail', 'refuse')`,
  'no task outlives the run above it': `
    select t.id from run t join run r on r.id = t.parent_id where r.status <> 'pending' and t.status = 'pending'`,
  'one run of a chat at most is due or carried': `
    select chat_id as id from run where status = 'pending' and (due or holder is not null) and merged_into is null
    group by chat_id having count(*) > 1`,
};

/** What does not hold of the runs in the database, with the runs (or chats) of which it does not. */
export async function brokenInvariants(database: TestDatabase): Promise<Record<string, string[]>> {
  const broken: Record<string, string[]> = {};
  for (const [rule, query] of Object.entries(BROKEN)) {
    const rows = await database.query<{ id: string }>(query);
    if (rows.length > 0) broken[rule] = rows.map(({ id }) => id);
  }
  return broken;
}
