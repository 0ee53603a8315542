/**
 * Automations against the least that they can cost: webhooks against a server of node:http that checks the signature and writes
 * three rows in one transaction, ten thousand schedules that are due at once against one `insert … select` of as many deliveries,
 * and the next slot against the cron expression alone. (File changes: triggers.bench.mjs.)
 */
import { spawn } from 'node:child_process';
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { Cron } from 'croner';
import pg from 'pg';
import { CronSchedule } from '../../dist/src/platform/schedule/index.js';
import {
  atelier,
  bench,
  compare,
  database,
  median,
  onEnd,
  postJson,
  report,
  requestsPerSecond,
} from './lib.mjs';

const ROUNDS = 3;
const WEBHOOKS = 2_000;
const A_SECOND = 200;
const HOOKS = 40;
const SCHEDULES = 10_000;
const A_MINUTE = 100;
const BODY = JSON.stringify({ action: 'opened', issue: { title: 'It crashes', body: 'x'.repeat(500) } });

const percentile = (values, part) =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * part) - 1)];
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));
const signed = (secret, body) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

await bench(async () => {
  const { DATA_DIR, DATABASE_URL } = await database();
  const settings = { DATA_DIR, DATABASE_URL, RATE_LIMITS_PER_MINUTE: 'credential=0,webhook=0' };
  const service = await atelier({ ...settings, ROLE: 'api' });
  const headers = { 'x-api-key': service.credentials.api_key };
  const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 16 });
  onEnd(() => pool.end());
  const rows = async (text, values) => (await pool.query(text, values)).rows;
  const { items } = await fetch(`${service.url}/api/organizations`, { headers }).then(answer =>
    answer.json(),
  );
  const organization_id = items[0].id;
  const { id: workspace_id } = await postJson(`${service.url}/api/workspaces`, headers, {
    name: 'Bench',
    organization_id,
  });
  const deploy = async (name, trigger) => {
    const file_path = `automations/${name}.md`;
    const content = `---\nrun: bash\non:\n  - ${trigger}\nconcurrency: { policy: parallel, max: 20 }\n---\ntrue\n`;
    const answer = await fetch(`${service.url}/api/workspaces/${workspace_id}/files/content`, {
      method: 'PUT',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ path: file_path, content }),
    });
    if (!answer.ok) throw new Error(await answer.text());
    return postJson(`${service.url}/api/automation/deployments`, headers, { workspace_id, file_path });
  };

  await slots();
  await webhooks();
  await schedules();

  async function slots() {
    const TIMES = 500;
    const each = work => {
      const started = performance.now();
      for (let n = 0; n < TIMES; n++) work();
      return (performance.now() - started) / TIMES;
    };
    const zones = ['Europe/Berlin', 'America/Santiago', 'Australia/Lord_Howe', 'UTC'];
    for (const zone of zones) new CronSchedule('0 9 * * 1-5', zone).next(new Date());
    const first = zones.map(zone => each(() => new CronSchedule('0 9 * * 1-5', zone).next(new Date())));
    const next = zones.map(zone => {
      const schedule = new CronSchedule('30 2 * * *', zone);
      let at = new Date();
      return each(() => {
        at = schedule.next(at);
      });
    });
    const cron = new Cron('30 2 * * *', { utcOffset: 0, mode: '5-part', paused: true });
    let at = new Date();
    const floor = each(() => {
      at = cron.nextRun(at);
    });
    report('first slot, ms', Math.max(...first), 'goal <= 1', `the slowest of ${zones.length} zones`);
    report(
      'next slot, ms',
      Math.max(...next),
      'goal <= 0.3',
      `the cron expression alone: ${floor.toFixed(3)} ms`,
    );
  }

  async function webhooks() {
    const hooks = [];
    for (let n = 0; n < HOOKS; n++) {
      const { secrets } = await deploy(`hook${n}`, 'webhook: { verify: github }');
      hooks.push({ url: service.url + new URL(secrets[0].url).pathname, secret: secrets[0].secret });
    }
    // Nothing runs, and a hundred runs of a lane may wait: so that each webhook leads to one, they are taken away all the time.
    const empty = () => rows(`delete from automation_run where state = 'queued'`);
    let isOver = false;
    const emptying = (async () => {
      while (!isOver) {
        await empty();
        await sleep(25);
      }
    })();
    const floorUrl = await floorServer();
    const rate = async (url, secret) => {
      await empty();
      return requestsPerSecond(url, {
        headers: { 'content-type': 'application/json', 'x-hub-signature-256': signed(secret, BODY) },
        body: BODY,
        connections: 8,
        ms: 2_000,
      });
    };
    let used = 0;
    const { ours, floor } = await compare(
      ROUNDS,
      () => {
        const { url, secret } = hooks[used++ % HOOKS];
        return rate(url, secret);
      },
      () => rate(floorUrl, 'secret'),
    );
    report(
      'webhooks of one trigger',
      ours / floor,
      'goal >= 0.5',
      `${ours.toFixed(0)}/s of ${floor.toFixed(0)}/s, 8 connections`,
    );
    await empty();
    const waits = [];
    const sent = [];
    const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
    const started = performance.now();
    for (let n = 0; n < WEBHOOKS; n++) {
      const late = started + (n * 1000) / A_SECOND - performance.now();
      if (late > 1) await sleep(late);
      sent.push(timed(hooks[n % HOOKS], agent, waits));
    }
    await Promise.all(sent);
    agent.destroy();
    report(
      `webhooks at ${A_SECOND}/s, p99 ms`,
      percentile(waits, 0.99),
      'goal <= 50',
      `${WEBHOOKS} for ${HOOKS} triggers; median ${median(waits).toFixed(1)} ms`,
    );
    isOver = true;
    await emptying;
    const { skipped } = (
      await rows(`select count(*)::int as skipped from automation_delivery where state = 'skipped'`)
    )[0];
    if (skipped > 0) throw new Error(`${skipped} webhooks led to no run`);
  }

  function timed({ url, secret }, agent, waits) {
    const from = performance.now();
    return new Promise((resolve, reject) => {
      const request = http.request(
        url,
        {
          agent,
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'x-github-delivery': randomUUID(),
            'x-hub-signature-256': signed(secret, BODY),
          },
        },
        response => {
          if (response.statusCode !== 200) reject(new Error(`a webhook answered ${response.statusCode}`));
          response.resume();
          response.once('end', () => {
            waits.push(performance.now() - from);
            resolve();
          });
        },
      );
      request.once('error', reject);
      request.end(BODY);
    });
  }

  /** Checks the signature, and writes a key, a delivery and a run. */
  async function floorServer() {
    await rows(`
      create table if not exists floor_seen (key text primary key);
      create table if not exists floor_delivery (id uuid primary key, payload jsonb, received_at timestamptz);
      create table if not exists floor_run (id uuid primary key, delivery_id uuid, state text, queued_at timestamptz)`);
    const server = http.createServer(async (request, response) => {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const body = Buffer.concat(chunks);
      const [given, right] = [request.headers['x-hub-signature-256'], signed('secret', body)];
      if (!timingSafeEqual(Buffer.from(given), Buffer.from(right))) return response.writeHead(401).end();
      const [delivery, run] = [randomUUID(), randomUUID()];
      const client = await pool.connect();
      await client.query('begin');
      await client.query('insert into floor_seen values ($1)', [delivery]);
      await client.query('insert into floor_delivery values ($1, $2, now())', [delivery, body.toString()]);
      await client.query(`insert into floor_run values ($1, $2, 'queued', now())`, [run, delivery]);
      await client.query('commit');
      client.release();
      response.end(JSON.stringify({ delivery_id: delivery, run_id: run }));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onEnd(() => server.close());
    return `http://127.0.0.1:${server.address().port}/`;
  }

  async function schedules() {
    // Each has one slot, which is due now and has come on time; the next one is an hour away.
    const slot = new Date(Math.floor(Date.now() / 60_000) * 60_000);
    const { id } = await deploy(
      'many',
      `schedule: { cron: "${slot.getUTCMinutes()} * * * *", timezone: UTC }`,
    );
    await rows(
      `with copies as (
         insert into automation_deployment (id, organization_id, workspace_id, file_path, state, version, last_version, actor, created_by,
           created_at, updated_at, drift_at)
         select gen_random_uuid(), organization_id, workspace_id, 'automations/m' || n || '.md', 'live', 1, 1, actor, created_by, now(), now(),
           'infinity'
         from automation_deployment, generate_series(2, $2::int) n where id = $1 returning id
       ), versions as (
         insert into automation_version (deployment_id, number, digest, files, definition, deployed_by, created_at)
         select c.id, 1, v.digest, v.files, v.definition, v.deployed_by, now() from copies c, automation_version v where v.deployment_id = $1
       )
       insert into automation_trigger (id, deployment_id, position, kind, config, created_at)
       select gen_random_uuid(), c.id, 0, 'schedule', t.config, now() from copies c, automation_trigger t where t.deployment_id = $1`,
      [id, SCHEDULES],
    );
    // Each waits behind a run that has begun: what is measured is firing.
    await rows(
      `insert into automation_run (id, organization_id, workspace_id, deployment_id, version, file_path, delivery_id, trigger_kind, kind, state,
         status, lane, lane_max, actor, queued_at)
       select gen_random_uuid(), organization_id, workspace_id, id, 1, file_path, gen_random_uuid(), 'schedule', 'script', 'running',
         'pending', id::text, 1, actor, now() from automation_deployment d
       where exists (select from automation_trigger t where t.deployment_id = d.id and t.kind = 'schedule')`,
    );
    await rows(
      `update automation_version set definition = jsonb_set(definition, '{concurrency}', '{"policy": "queue", "max": 1, "group": null}')`,
    );
    await rows(
      'create table floor_fired (id uuid, deployment_id uuid, state text, payload jsonb, received_at timestamptz)',
    );
    const worker = spawn(process.execPath, ['dist/bundle/main.js'], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...service.env, ROLE: 'worker' },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    onEnd(async () => {
      worker.kill('SIGTERM');
      if (worker.exitCode === null) await once(worker, 'exit');
    });
    while ((await rows('select 1 from process')).length < 2) await sleep(100);
    const times = { ours: [], floor: [] };
    for (let round = 0; round < ROUNDS; round++) {
      await rows('delete from automation_seen s using automation_trigger t where s.trigger_id = t.id');
      const floorFrom = performance.now();
      await rows(
        `insert into floor_fired select gen_random_uuid(), deployment_id, 'accepted', config, now() from automation_trigger where kind = 'schedule'`,
      );
      times.floor.push(performance.now() - floorFrom);
      const from = performance.now();
      await rows(`update automation_trigger set next_slot = $1, next_at = now() where kind = 'schedule'`, [
        slot,
      ]);
      await rows(`select notify_topic('automation-triggers')`);
      for (;;) {
        const [{ left }] = await rows(
          `select count(*)::int as left from automation_trigger where next_at <= now()`,
        );
        if (left === 0) break;
        await sleep(20);
      }
      times.ours.push(performance.now() - from);
    }
    const [{ fired }] = await rows(
      `select count(*)::int as fired from automation_delivery where kind = 'schedule' and state = 'accepted'`,
    );
    if (fired !== ROUNDS * SCHEDULES) throw new Error(`${fired} schedules fired, not ${ROUNDS * SCHEDULES}`);
    const [ours, floor] = [median(times.ours), median(times.floor)];
    report(
      `${SCHEDULES} schedules due at once`,
      floor / ours,
      'goal >= 0.2',
      `${(ours / 1000).toFixed(1)} s; one insert ${(floor / 1000).toFixed(2)} s`,
    );
    // As many as come in a minute, spread over some seconds.
    await rows(`delete from automation_delivery where kind = 'schedule'`);
    await rows('delete from automation_seen s using automation_trigger t where s.trigger_id = t.id');
    const chosen = await rows(
      `update automation_trigger t set next_slot = $2, next_at = now() + (c.n * interval '1 second' * 10 / $1::int) + interval '1 second'
       from (select id, row_number() over () as n from automation_trigger where kind = 'schedule' limit $1::int) c where c.id = t.id returning t.id, t.next_at`,
      [A_MINUTE, slot],
    );
    await rows(`select notify_topic('automation-triggers')`);
    const waits = [];
    while (waits.length < A_MINUTE) {
      await sleep(200);
      const fired = await rows(
        `select trigger_id, received_at from automation_delivery where kind = 'schedule' and trigger_id = any($1::uuid[])`,
        [chosen.map(row => row.id)],
      );
      waits.length = 0;
      for (const { trigger_id, received_at } of fired)
        waits.push(received_at - chosen.find(row => row.id === trigger_id).next_at);
    }
    report(
      `${A_MINUTE} schedules, lateness p99 ms`,
      percentile(waits, 0.99),
      'goal <= 1000',
      `in 10 s; median ${median(waits).toFixed(0)} ms`,
    );
  }
});
