/** More harm, each done to an installation of its own. Each returns what is wrong after it: nothing, it is hoped. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startPostgres } from '../../../dist/libs/embedded-postgres/index.js';
import { folder, onEnd } from '../lib.mjs';
import { backup } from './backup.mjs';
import { Member } from './member.mjs';
import { register } from './register.mjs';

const KILLS = 8;
const READY_MS = 120_000;

export const FAULTS = { migration, disk, backup };

/** The first start is killed again and again on its way; what stands in the end is what one start makes. */
async function migration(say) {
  const postgres = await embedded(folder());
  const place = { DATA_DIR: folder(), DATABASE_URL: postgres.url };
  const started = performance.now();
  const whole = await Member.start('api', { ...place, ROLE: 'api' });
  const ms = performance.now() - started;
  await whole.stop();
  await onServer(postgres.url, client => client.query('create database harmed'));
  const url = new URL(postgres.url);
  url.pathname = '/harmed';
  const harmed = { DATA_DIR: folder(), DATABASE_URL: url.href, ROLE: 'api' };
  const seen = [];
  for (let kill = 1; kill <= KILLS; kill++) {
    await Member.killedAfter((ms * kill) / (KILLS + 1), 'api', harmed);
    seen.push((await shapeOf(url.href)).length);
  }
  const last = await Member.start('api', harmed);
  await last.stop();
  const [expected, found] = [await shapeOf(postgres.url), await shapeOf(url.href)];
  say(`migration: killed ${KILLS} times; the database had ${seen.join(', ')} and then ${found.length} parts`);
  const missing = expected.filter(part => !found.includes(part));
  const more = found.filter(part => !expected.includes(part));
  return [...missing.map(part => `missing: ${part}`), ...more.map(part => `too much: ${part}`)].slice(0, 5);
}

/** The disk of the database is full while people write, and has room again. */
async function disk(say) {
  const place = folder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=300m,mode=755', 'tmpfs', place], { stdio: 'ignore' });
  } catch {
    say('disk: not tried, as disks cannot be mounted here');
    return [];
  }
  onEnd(() => execFileSync('umount', ['-l', place]));
  const postgres = await embedded(place);
  const environment = {
    DATA_DIR: folder(),
    DATABASE_URL: postgres.url,
    RATE_LIMITS_PER_MINUTE: 'credential=0',
  };
  const member = await Member.start('api', { ...environment, ROLE: 'api' });
  onEnd(() => member.stop());
  const { workspace_id, headers } = await register(member);
  const statuses = new Map();
  const kept = [];
  const send = async text => {
    const body = JSON.stringify({ workspace_id, message: text });
    const answer = await fetch(`${member.url}/api/agent/message`, { method: 'POST', headers, body }).catch(
      () => undefined,
    );
    const status = answer?.status ?? 0;
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (answer?.ok) kept.push((await answer.json()).call_id);
    return status;
  };
  await send('before');
  const { bavail, bsize } = statfsSync(place);
  const ballast = path.join(place, 'ballast');
  writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - 2 * 1024 * 1024)));
  for (let n = 0; n < 150; n++) await send(`${n} ${incompressible(60_000)}`);
  const wrong = [...statuses.keys()]
    .filter(status => ![200, 503, 507].includes(status))
    .map(status => `answered ${status}`);
  if (!statuses.has(507)) wrong.push('nothing was answered 507');
  rmSync(ballast);
  const until = Date.now() + READY_MS;
  while ((await send('after')) !== 200)
    if (Date.now() > until) return [...wrong, 'it takes no messages although there is room again'];
    else await sleep(500);
  const rows = await onServer(postgres.url, client =>
    client.query('select id from run where id = any($1)', [kept]),
  );
  if (rows.rowCount !== kept.length) wrong.push(`${kept.length - rows.rowCount} messages are lost`);
  say(
    `disk: ${[...statuses].map(([status, n]) => `${n} × ${status}`).join(', ')}; ${kept.length} messages kept`,
  );
  return wrong;
}

async function embedded(place) {
  const dataDir = path.join(place, 'database', 'postgres');
  mkdirSync(path.dirname(dataDir), { recursive: true });
  const postgres = await startPostgres({ dataDir, database: 'atelier' });
  onEnd(() => postgres.stop());
  return postgres;
}

async function onServer(connectionString, work) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Columns, indexes, constraints, functions and applied migrations, as texts. */
async function shapeOf(url) {
  const { rows } = await onServer(url, client =>
    client.query(`
      select format('column %s.%s %s', table_name, column_name, data_type) as part from information_schema.columns
      where table_schema not in ('pg_catalog', 'information_schema')
      union all select 'index ' || indexdef from pg_indexes where schemaname not in ('pg_catalog', 'information_schema')
      union all select format('constraint %s %s', conname, pg_get_constraintdef(oid)) from pg_constraint where contypid = 0
      union all select 'function ' || proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace where nspname = 'public'`),
  );
  return rows.map(({ part }) => part).sort();
}

const incompressible = length => {
  let text = '';
  while (text.length < length) text += Math.random().toString(36).slice(2);
  return text;
};
