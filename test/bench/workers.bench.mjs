/**
 * Agent runs of two model calls and one tool where one process does all, and where an `api` accepts what two `worker`s execute:
 * statements that a run costs the database, and runs a second. A statement is what a client sends, as pg_stat_statements counts it.
 * With `-- workers list` it prints the statements that differ.
 */
import path from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../dist/libs/embedded-postgres/index.js';
import { atelier, bench, folder, onEnd, postJson, report, serve, stopped } from './lib.mjs';
import { Member } from './soak/member.mjs';

const RUNS = 160;
const IN_FLIGHT = 8;
const shows = process.argv.includes('list');

/** A database that counts its statements. */
async function countingDatabase(DATA_DIR) {
  const postgres = await startPostgres({
    dataDir: path.join(DATA_DIR, 'postgres'),
    database: 'atelier',
    settings: { shared_preload_libraries: 'pg_stat_statements' },
  });
  onEnd(() => postgres.stop());
  const client = new pg.Client({ ...postgres.connection, user: 'postgres' });
  await client.connect();
  onEnd(() => client.end());
  await client.query('create extension pg_stat_statements');
  const rows = async sql => (await client.query(sql)).rows;
  return { url: postgres.url, rows };
}

/** How often each statement was sent while `work` was done, but for the checks of foreign keys, which PostgreSQL makes itself. */
async function statementsOf({ rows }, work) {
  await rows('select pg_stat_statements_reset()');
  await work();
  const counted = await rows(`
    select query, sum(calls)::int as calls from pg_stat_statements
    where toplevel and query not like '%pg_stat_statements%' and query not like '%FOR KEY SHARE OF x' group by query`);
  return new Map(counted.map(({ query, calls }) => [query, calls]));
}

const sum = statements => [...statements.values()].reduce((total, calls) => total + calls, 0);

/** What idle processes send, too, in a run's share of the time. */
async function measure(database, one) {
  const begun = performance.now();
  const busy = await statementsOf(database, async () => {
    let left = RUNS;
    await Promise.all(
      Array.from({ length: IN_FLIGHT }, async () => {
        while (left-- > 0) await one();
      }),
    );
  });
  const seconds = (performance.now() - begun) / 1000;
  return { statements: sum(busy) / RUNS, perSecond: RUNS / seconds, busy };
}

function list({ busy: alone }, { busy: apart }) {
  const all = new Set([...alone.keys(), ...apart.keys()]);
  const rows = [...all].map(query => ({
    query,
    a: (alone.get(query) ?? 0) / RUNS,
    b: (apart.get(query) ?? 0) / RUNS,
  }));
  for (const { query, a, b } of rows.sort((x, y) => y.b - y.a - (x.b - x.a)))
    if (Math.max(a, b) >= 0.05)
      process.stdout.write(
        `  ${a.toFixed(2)} ${b.toFixed(2)}  ${query.replace(/\s+/g, ' ').slice(0, 150)}\n`,
      );
}

await bench(async () => {
  const DATA_DIR = folder();
  const { credentials, child } = await atelier({ DATA_DIR });
  await stopped(child);
  const database = await countingDatabase(DATA_DIR);
  const model = await serve(['test/bench/floors/writing-model.mjs']);
  const environment = {
    DATA_DIR,
    DATABASE_URL: database.url,
    DEFAULT_MODEL: 'local/bench',
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'bench',
    RATE_LIMITS_PER_MINUTE: 'credential=0',
    LOG_LEVEL: 'info',
  };
  const { api_key, workspace_id } = credentials;
  const headers = { 'x-api-key': api_key };
  let serial = 0;
  const measured = async roles => {
    const members = [];
    for (const ROLE of roles) members.push(await Member.start(ROLE, { ...environment, ROLE }));
    const [{ url }] = members;
    const one = async () => {
      const message = `write bench/${serial++}.txt: Hello`;
      const { call_id } = await postJson(`${url}/api/agent/message`, headers, { workspace_id, message });
      const answer = await fetch(`${url}/api/agent/status/${call_id}?wait=60`, { headers });
      const status = await answer.json();
      if (status.status !== 'completed') throw new Error(JSON.stringify(status));
    };
    await measure(database, one);
    const result = await measure(database, one);
    await Promise.all(members.map(member => member.stop()));
    return result;
  };
  const alone = await measured(['all']);
  const apart = await measured(['api', 'worker', 'worker']);
  report(
    'two workers, statements of a run',
    apart.statements / alone.statements,
    'goal <= 1.3',
    `of all in one: ${apart.statements.toFixed(1)} of ${alone.statements.toFixed(1)}`,
  );
  report(
    '  runs a second',
    apart.perSecond / alone.perSecond,
    '',
    `${apart.perSecond | 0} of ${alone.perSecond | 0}`,
  );
  if (shows) list(alone, apart);
});
