/**
 * Held load on several processes, one of which is ended every few minutes, an api and a worker in turn, by SIGKILL and by SIGTERM:
 * `npm run bench -- soak [minutes] [--faults[=backup,migration,disk]]`, 20 minutes unless told. Two api and two worker
 * processes on a PostgreSQL and a Redis of their own; a fake model over HTTP; 100 runs a minute; uploads of 50 MB, some cut
 * off; files that are searched for; visits to a share link; webhooks that start a script each. Prints what was lost, doubled, wrong or has gaps, all of which
 * must be 0, and what the processes use once they are warm, at the end of the load and after a rest. `--faults` does more
 * harm: see `soak/faults.mjs`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { brokenInvariants } from '../harness/invariants.ts';
import { bench, database, folder, freePort, memoryMb, onEnd } from './lib.mjs';
import { fakeModel } from './soak/fake-model.mjs';
import { FAULTS } from './soak/faults.mjs';
import { Load } from './soak/load.mjs';
import { Member } from './soak/member.mjs';

const options = process.argv.slice(2);
const minutes = Number(options.find(option => !option.startsWith('-')) ?? 20);
const asked = options.find(option => option.startsWith('--faults'));
const faults = asked ? (asked.split('=')[1]?.split(',') ?? Object.keys(FAULTS)) : [];
const unknown = faults.find(name => !FAULTS[name]);
if (unknown) throw new Error(`There is no fault ${unknown}; there are ${Object.keys(FAULTS).join(', ')}`);
const KILL_EVERY_MS = Math.min(3, minutes / 4) * 60_000;
const WARM_UP_MS = Math.min(60_000, minutes * 15_000);
const REST_MS = Math.min(60_000, minutes * 10_000);

const say = line => process.stdout.write(`  ${line}\n`);

async function redis() {
  const port = `${await freePort()}`;
  const settings = { port, bind: '127.0.0.1', dir: folder(), save: '', appendonly: 'no' };
  const parameters = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn('redis-server', parameters, { stdio: 'ignore' });
  onEnd(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  });
  return `redis://127.0.0.1:${port}`;
}

/** Under load, one process after the other is ended, two by SIGKILL and two by SIGTERM. */
async function soak() {
  const { DATA_DIR, DATABASE_URL } = await database();
  const credentials = JSON.parse(readFileSync(path.join(DATA_DIR, 'credentials.json'), 'utf8'));
  const environment = {
    DATA_DIR,
    DATABASE_URL,
    REDIS_URL: await redis(),
    OPENAI_COMPATIBLE_BASE_URL: await fakeModel(),
    OPENAI_COMPATIBLE_MODELS: 'fake',
    RATE_LIMITS_PER_MINUTE: 'credential=0,shared=0,webhook=0',
  };
  const members = [];
  for (const role of ['api', 'worker', 'api', 'worker'])
    members.push(await Member.start(role, { ...environment, ROLE: role }));
  onEnd(() => Promise.all(members.map(member => member.stop())));
  const apis = members.filter(({ role }) => role === 'api');

  const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 1 });
  pool.on('error', () => undefined);
  onEnd(() => pool.end());
  const query = async (sql, values) => (await pool.query(sql, values)).rows;
  const used = async () => {
    const [{ count }] = await query(
      'select count(*)::int as count from pg_stat_activity where datname = current_database()',
    );
    const of = ({ role, pid }) =>
      `${role} ${memoryMb(pid).toFixed(0)} MB ${readdirSync(`/proc/${pid}/fd`).length} fds`;
    return `${members.map(of).join(', ')}; ${count} connections`;
  };

  const load = new Load(apis, credentials);
  await load.begin();
  const end = Date.now() + minutes * 60_000;
  await sleep(WARM_UP_MS);
  say(`warm:  ${await used()}`);
  for (let kills = 0; ; kills++) {
    await sleep(Math.min(KILL_EVERY_MS, Math.max(0, end - Date.now())));
    if (Date.now() >= end) break;
    const victim = members[kills % members.length];
    const signal = kills % 4 < 2 ? 'SIGKILL' : 'SIGTERM';
    say(`${signal} to ${victim.role}, after ${load.texts.length} messages and ${load.hooks.length} webhooks`);
    if (signal === 'SIGKILL' && victim.role === 'worker') load.killedAt.push(Date.now());
    await victim.endAndRestart(signal);
  }
  say(`load:  ${await used()}`);
  await load.end();
  await sleep(REST_MS);
  say(`rest:  ${await used()}`);
  const { lines, wrong } = await load.judge(query, brokenInvariants);
  for (const line of lines) say(line);
  if (wrong > 0) process.exitCode = 1;
}

if (minutes > 0) await bench(soak);
for (const name of faults)
  await bench(async () => {
    const wrong = await FAULTS[name](say);
    for (const line of wrong) say(`WRONG: ${line}`);
    if (wrong.length > 0) process.exitCode = 1;
  });
