/** A backup that is taken under load with the commands of docs/operations.md, restored beside it, and compared. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { brokenInvariants } from '../../harness/invariants.ts';
import { folder, freePort, onEnd } from '../lib.mjs';
import { fakeModel } from './fake-model.mjs';
import { Load } from './load.mjs';
import { Member } from './member.mjs';
import { register } from './register.mjs';

const SERVERS = '/usr/lib/postgresql';
const LOAD_MS = 20_000;
const SETTLE_MS = 120_000;

export async function backup(say) {
  const server = await debianPostgres();
  if (!server) {
    say('backup: not tried, as it takes a PostgreSQL with its programs (Debian: apt-get install postgresql)');
    return [];
  }
  const model = { OPENAI_COMPATIBLE_BASE_URL: await fakeModel(), OPENAI_COMPATIBLE_MODELS: 'fake' };
  const common = {
    ...model,
    RATE_LIMITS_PER_MINUTE: 'credential=0,shared=0',
    JWT_SECRET: 'x'.repeat(40),
  };
  const [from, to] = [folder(), folder()];
  const before = await startBoth({ ...common, DATA_DIR: from, DATABASE_URL: server.urlOf('atelier') });
  const stop = both => Promise.all([both.api.stop(), both.worker.stop()]);
  onEnd(() => stop(before));
  const credentials = await register(before.api);
  const load = new Load([before.api], credentials);
  await load.begin();
  await sleep(LOAD_MS);
  const answered = await idsOf(server.urlOf('atelier'), "select id from run where status <> 'pending'");
  const kept = folder();
  documented('Back up', {
    ...server.environment,
    DATABASE_URL: server.urlOf('atelier'),
    DATA_DIR: from,
    BACKUP: kept,
  });
  await sleep(LOAD_MS / 4);
  await load.end();
  await stop(before);

  server.create('restored');
  documented('Restore', {
    ...server.environment,
    DATABASE_URL: server.urlOf('restored'),
    DATA_DIR: to,
    BACKUP: kept,
  });
  const after = await startBoth({ ...common, DATA_DIR: to, DATABASE_URL: server.urlOf('restored') });
  onEnd(() => stop(after));
  const wrong = await compare(after.api, server.urlOf('restored'), {
    answered,
    credentials,
    load,
    dataDir: to,
  });
  say(
    `backup: ${load.texts.length} messages under way; ${answered.length} runs had ended before it, all of them looked for`,
  );
  return wrong;
}

async function compare(api, url, { answered, credentials, load, dataDir }) {
  const { headers } = credentials;
  const files = `${api.url}/api/workspaces/${credentials.workspace_id}/files`;
  const wrong = [];
  const until = Date.now() + SETTLE_MS;
  // What was in flight goes on where the backup has it.
  while ((await idsOf(url, "select id from run where status = 'pending'")).length > 0)
    if (Date.now() > until) return ['runs that were in flight did not come to their end'];
    else await sleep(500);
  const ended = new Set(await idsOf(url, "select id from run where status = 'completed'"));
  const lost = answered.filter(id => !ended.has(id));
  if (lost.length > 0) wrong.push(`${lost.length} runs are lost`);
  const broken = await withClient(url, client =>
    brokenInvariants({ query: async (sql, values) => (await client.query(sql, values)).rows }),
  );
  wrong.push(...Object.keys(broken));
  const shared = await fetch(`${files}/content?path=shared/page.txt`, { headers });
  if (!(await shared.text()).includes(load.shared)) wrong.push(`the shared file answers ${shared.status}`);
  // Contents that the database says are kept can be read.
  const versions = await idsOf(
    url,
    "select id from file_version where blob is not null and kind <> 'deleted' order by id desc limit 40",
  );
  for (const id of versions) {
    const answer = await fetch(`${files}/history/${id}/download`, { headers });
    await answer.arrayBuffer();
    if (!answer.ok) wrong.push(`version ${id} answers ${answer.status}`);
  }
  if (versions.length === 0) wrong.push('there are no versions to compare');
  // It is written to and versioned as before.
  const written = await fetch(`${files}/content`, {
    method: 'PUT',
    headers,
    body: JSON.stringify({ path: 'shared/page.txt', content: 'after the restore' }),
  });
  const history = await (await fetch(`${files}/history?path=shared/page.txt`, { headers })).json();
  if (!written.ok || history.items?.[0]?.kind !== 'modified' || history.items[0].kept !== true)
    wrong.push(`a write after the restore: ${written.status} ${JSON.stringify(history).slice(0, 300)}`);
  for (const id of readdirSync(path.join(dataDir, 'history'))) {
    const git = path.join(dataDir, 'history', id, 'git');
    if (!existsSync(git)) continue;
    try {
      execFileSync('git', ['-c', 'safe.directory=*', '--git-dir', git, 'fsck', '--connectivity-only'], {
        stdio: 'pipe',
      });
    } catch (error) {
      wrong.push(`git fsck: ${String(error.stderr).slice(0, 300)}`);
    }
  }
  return wrong;
}

/** Runs the commands that stand in the documentation, after the words given. */
function documented(what, env) {
  const text = readFileSync('docs/operations.md', 'utf8');
  const script = new RegExp(`<!-- ${what} -->\\s+\`\`\`sh\\n(.*?)\`\`\``, 's').exec(text)?.[1];
  if (!script) throw new Error(`docs/operations.md has no commands after <!-- ${what} -->`);
  execFileSync('bash', ['-euxc', script], {
    env: { HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}

async function startBoth(environment) {
  const api = await Member.start('api', { ...environment, ROLE: 'api' });
  const worker = await Member.start('worker', { ...environment, ROLE: 'worker' });
  return { api, worker };
}

/** A PostgreSQL of the system, whose `pg_dump` is of its version. */
async function debianPostgres() {
  const version = existsSync(SERVERS)
    ? readdirSync(SERVERS).sort((a, b) => Number(b) - Number(a))[0]
    : undefined;
  if (!version) return undefined;
  const bin = path.join(SERVERS, version, 'bin');
  const place = folder();
  const isRoot = process.getuid() === 0;
  const id = flag => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  const account = isRoot ? { uid: id('-u'), gid: id('-g') } : {};
  const dataDir = path.join(place, 'data');
  if (isRoot) chmodSync(place, 0o777);
  const port = await freePort();
  const run = (program, ...parameters) =>
    execFileSync(path.join(bin, program), parameters, { ...account, cwd: '/', stdio: 'ignore' });
  run('initdb', '-D', dataDir, '-U', 'atelier', '--auth=trust', '-E', 'UTF8', '--locale=C.UTF-8');
  const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${place} -c max_connections=100`;
  run('pg_ctl', '-D', dataDir, '-w', '-l', path.join(place, 'log'), '-o', options, 'start');
  onEnd(() => run('pg_ctl', '-D', dataDir, '-w', '-m', 'fast', 'stop'));
  const create = name => run('createdb', '-h', '127.0.0.1', '-p', `${port}`, '-U', 'atelier', name);
  create('atelier');
  return {
    create,
    environment: { PATH: `${bin}:${process.env.PATH}` },
    urlOf: name => `postgresql://atelier@127.0.0.1:${port}/${name}`,
  };
}

const idsOf = (url, sql) =>
  withClient(url, async client => (await client.query(sql)).rows.map(({ id }) => id));

async function withClient(connectionString, work) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
