/**
 * One event that a thousand people are notified of: from its transaction, which enqueues a job, to the last inbox, against one
 * `insert … select` of as many rows.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { atelier, bench, database, median, onEnd, report } from './lib.mjs';

const PEOPLE = 1_000;
const ROUNDS = 5;

await bench(async () => {
  const { DATA_DIR, DATABASE_URL } = await database();
  const service = await atelier({ DATA_DIR, DATABASE_URL });
  const { organization_id } = service.credentials;
  const pool = new pg.Pool({ connectionString: DATABASE_URL });
  onEnd(() => pool.end());
  const rows = async (text, values) => (await pool.query(text, values)).rows;
  await rows(
    `with people as (
       insert into "user" (id, email, name, password_hash, installation_owner, created_at, updated_at)
       select gen_random_uuid(), 'many' || n || '@example.com', 'Many', '', false, now(), now()
       from generate_series(2, $2::int) n returning id
     )
     insert into organization_member (organization_id, user_id, role, created_at)
     select $1, id, 'owner', now() from people`,
    [organization_id, PEOPLE],
  );
  // What is looked at are inboxes: no one wants letters.
  await rows(
    `insert into notification_preference (user_id, organization_id, type_or_category, channel, mode)
     select user_id, null, 'budget', 'mail', 'off' from organization_member where organization_id = $1`,
    [organization_id],
  );
  await rows(
    'create table floor_notification (id uuid primary key, user_id uuid, title text, body text, at timestamptz)',
  );
  await rows('analyze');

  /** As a transaction of the service enqueues the job. */
  const enqueued = async payload => {
    const id = randomUUID();
    const client = await pool.connect();
    await client.query('begin');
    await client.query(
      `insert into accepted_job (id, queue, name, payload, look_at, created_at)
       values ($1, 'notifications', 'notify', $2::jsonb, now(), now())`,
      [id, JSON.stringify(payload)],
    );
    await client.query("select notify_topic('outbox')");
    await client.query('commit');
    client.release();
  };
  const told = async period => {
    const facts = { organization_id, workspace_id: null, period, monthly_usd: '5' };
    const key = `budget.stopped:${organization_id}:${period}:5`;
    const from = performance.now();
    await enqueued({ type: 'budget.stopped', facts: JSON.stringify(facts) });
    for (;;) {
      const [{ n }] = await rows('select count(*)::int as n from notification where dedupe_key = $1', [key]);
      if (n === PEOPLE) return performance.now() - from;
      // One that looks all the time would take the processor from those that it waits for.
      await new Promise(resolve => setTimeout(resolve, 2));
    }
  };
  const written = async () => {
    const from = performance.now();
    await rows(
      `insert into floor_notification select gen_random_uuid(), user_id, 'A budget is reached', 'Requests are refused', now()
       from organization_member where organization_id = $1`,
      [organization_id],
    );
    return performance.now() - from;
  };
  const times = { ours: [], floor: [] };
  for (let round = 0; round <= ROUNDS; round++) {
    const [floor, ours] = [await written(), await told(`2026-0${round + 1}`)];
    // The first is for warmth.
    if (round === 0) continue;
    times.floor.push(floor);
    times.ours.push(ours);
  }
  const [ours, floor] = [median(times.ours), median(times.floor)];
  report(
    `${PEOPLE} inboxes`,
    floor / ours,
    'goal >= 0.3',
    `${ours.toFixed(0)} ms; one insert ${floor.toFixed(0)} ms`,
  );
});
