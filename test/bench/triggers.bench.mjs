/**
 * File triggers: from a change to the run that it starts, over the time that the trigger waits for more; and a thousand triggers
 * with ten thousand changes, against matching and reading the same without a service.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { Glob } from '../../dist/libs/workspace-fs/index.js';
import { atelier, bench, database, median, onEnd, postJson, report } from './lib.mjs';

const AT_ONCE = 4;
const CHANGES = 25;
/** Of each workspace, changes before those that count: the first run starts its sandbox, which takes the processor for itself. */
const WARM_UP = 2;
const TRIGGERS = 1000;
const LOGGED = 10_000;
const SETTLE_MS = 1000;

const automation = glob => `---
run: bash
on:
  - file: { glob: "${glob}", settle: 1s, events: [created] }
concurrency: { policy: parallel, max: 20 }
---
true
`;

await bench(async () => {
  const { DATA_DIR, DATABASE_URL } = await database();
  const service = await atelier({ DATA_DIR, DATABASE_URL });
  const { api_key } = service.credentials;
  const headers = { 'x-api-key': api_key };
  const pool = new pg.Pool({ connectionString: DATABASE_URL });
  onEnd(() => pool.end());
  const rows = async (text, values) => (await pool.query(text, values)).rows;
  const { organizations } = await fetch(`${service.url}/api/organizations`, { headers })
    .then(answer => answer.json())
    .then(({ items }) => ({ organizations: items }));
  const workspace = name =>
    postJson(`${service.url}/api/workspaces`, headers, { name, organization_id: organizations[0].id });
  const write = async (workspace_id, path, content) => {
    const answer = await fetch(`${service.url}/api/workspaces/${workspace_id}/files/content`, {
      method: 'PUT',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ path, content }),
    });
    if (!answer.ok) throw new Error(await answer.text());
  };
  const deploy = async (workspace_id, name, glob) => {
    const file_path = `automations/${name}.md`;
    await write(workspace_id, file_path, automation(glob));
    return postJson(`${service.url}/api/automation/deployments`, headers, { workspace_id, file_path });
  };

  /** Milliseconds from each change, one after the other, to the run that it starts, without the time that its trigger waits. */
  const waitsIn = async name => {
    const quick = (await workspace(name)).id;
    const { id } = await deploy(quick, 'quick', 'in/**');
    for (let n = 0; n < WARM_UP + CHANGES; n++) {
      await write(quick, `in/${n}.txt`, 'x');
      for (;;) {
        const [{ count }] = await rows(
          'select count(*)::int as count from automation_delivery where deployment_id = $1',
          [id],
        );
        if (count > n) break;
        await new Promise(resolve => setTimeout(resolve, 20));
      }
    }
    const found = await rows(
      `select extract(epoch from r.queued_at - c.changed_at)::float8 * 1000 as ms
       from automation_run r join automation_delivery d on d.id = r.delivery_id
         join workspace_change c on c.workspace_id = r.workspace_id and c.id = d.key::bigint
       where r.deployment_id = $1 order by r.id`,
      [id],
    );
    return found.slice(WARM_UP).map(({ ms }) => ms - SETTLE_MS);
  };
  const waits = (await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => waitsIn(`Quick ${n}`)))).flat();
  const worst = waits.toSorted((a, b) => a - b)[Math.ceil(waits.length * 0.99) - 1];
  report(
    'change to run, ms over settle',
    worst,
    'goal <= 100',
    `p99 of ${waits.length} changes, ${AT_ONCE} at once; median ${median(waits).toFixed(0)} ms; the floor is 0`,
  );

  const many = (await workspace('Many')).id;
  const { id: deployment } = await deploy(many, 'many', 'none/*');
  await rows(
    `with copies as (
       insert into automation_deployment (id, organization_id, workspace_id, file_path, state, version, last_version, actor, created_by,
         created_at, updated_at)
       select gen_random_uuid(), organization_id, workspace_id, 'automations/m' || n || '.md', 'live', 1, 1, actor, created_by, now(), now()
       from automation_deployment, generate_series(1, $2) n where id = $1 returning id, file_path
     ), versions as (
       insert into automation_version (deployment_id, number, digest, files, definition, deployed_by, created_at)
       select c.id, 1, v.digest, v.files, v.definition, v.deployed_by, now() from copies c, automation_version v where v.deployment_id = $1
     )
     insert into automation_trigger (id, deployment_id, position, kind, config, cursor, since, created_at)
     select gen_random_uuid(), id, 0, 'file', jsonb_build_object('kind', 'file', 'settleSeconds', 600, 'events', '["created"]'::jsonb,
       'glob', 'd' || (substring(file_path from '\\d+')::int % 100) || '/**/*.' || (substring(file_path from '\\d+')::int / 100) || '.txt'),
       0, now(), now() from copies`,
    [deployment, TRIGGERS],
  );
  await rows(
    `insert into workspace_change (workspace_id, path, kind, size, etag, writer_type, writer_id, created_at, changed_at)
     select $1, 'd' || (n % 100) || '/a/b/' || n || '.' || (n / 100 % 10) || '.txt', 'created', 1, 'e', 'user', $2,
       now() - interval '2 seconds', now() from generate_series(1, $3) n`,
    [many, randomUUID(), LOGGED],
  );
  const started = performance.now();
  await rows(`select notify_topic('changes:' || $1)`, [many]);
  for (;;) {
    const [{ left }] = await rows(
      `select (select count(*) from workspace_change where workspace_id = $1 and id is null)::int
         + (select greatest(0, l.last_change - c.cursor)::int from workspace_log l join automation_change_cursor c using (workspace_id)
            where workspace_id = $1) as left`,
      [many],
    );
    if (left === 0) break;
    await new Promise(resolve => setTimeout(resolve, 10));
  }
  const seconds = (performance.now() - started) / 1000;
  const [{ open, total }] = await rows(
    `select count(*)::int as open, sum((gathered -> 'changes' ->> 'total')::int)::int as total from automation_trigger t
     join automation_deployment d on d.id = t.deployment_id where d.workspace_id = $1 and gathered is not null`,
    [many],
  );

  // The floor: the same comparisons one by one, and the same rows read.
  const floorFrom = performance.now();
  const changes = await rows('select * from workspace_change where workspace_id = $1 order by id', [many]);
  const globs = Array.from(
    { length: TRIGGERS },
    (_, n) => new Glob(`d${(n + 1) % 100}/**/*.${Math.floor((n + 1) / 100)}.txt`),
  );
  let matched = 0;
  for (const { path } of changes) for (const glob of globs) if (glob.matches(path)) matched++;
  const floor = (performance.now() - floorFrom) / 1000;
  report(
    `${TRIGGERS} triggers, ${LOGGED} changes, s`,
    seconds,
    'goal <= 2',
    `${open} windows with ${total} changes; compared one by one, without a service: ${floor.toFixed(2)} s (${matched})`,
  );
});
