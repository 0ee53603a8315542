import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { type EmbeddedPostgres, startPostgres } from '../../libs/embedded-postgres/index.js';
import { migrations } from '../../src/migrations.js';
import { migrate } from '../../src/platform/database/index.js';
import { FakeOpenAi } from '../fakes/openai-server.js';
import { AgentClient, messagesOf } from '../harness/agent.js';
import { Automations } from '../harness/automations.js';
import type { Json } from '../harness/client.js';
import { brokenInvariants } from '../harness/invariants.js';
import { awayFromTheHour, Schedules } from '../harness/schedules.js';
import { TestService } from '../harness/service.js';

const PATIENCE = 300_000;
const RUNS = 20;

/** Ids of the runs of which the service has logged that they could not be written down. */
const unwritten = new Set<string>();
let onUnwritten = () => {};
let folder: string;
let postgres: EmbeddedPostgres;
let model: FakeOpenAi;
let service: TestService;

/** A server of this test's own, since the others share one. */
const start = () =>
  startPostgres({
    dataDir: path.join(folder, 'postgres'),
    database: 'atelier_template',
    durable: false,
    settings: { max_connections: '100' },
  });

beforeAll(async () => {
  jest.spyOn(process.stdout, 'write').mockImplementation(chunk => {
    for (const line of String(chunk).split('\n')) if (line.startsWith('{')) hear(JSON.parse(line));
    return true;
  });
  folder = mkdtempSync(path.join(tmpdir(), 'atelier-restart-'));
  chmodSync(folder, 0o755);
  postgres = await start();
  await migrate(postgres.url, migrations);
  process.env.TEST_DATABASE_URL = postgres.url;
  model = await FakeOpenAi.start();
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'small',
    LOG_LEVEL: 'warn',
    LOG_FORMAT: 'json',
    RUN_CONCURRENCY: String(RUNS),
  });
}, PATIENCE);
beforeEach(awayFromTheHour);
afterAll(async () => {
  await service.stop();
  await model.stop();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
  jest.restoreAllMocks();
});

it(
  'runs that were in flight when the database server was restarted come to their end, each once',
  async () => {
    const ada = await service.person();
    const agent = new AgentClient(ada.client);
    const workspace_id = await service.workspace(ada);
    const { promise: answers, resolve: answer } = Promise.withResolvers<void>();
    model.otherwise(request => {
      if (messagesOf(request).length > 2) return { text: 'Done.' };
      return { tool: { name: 'list_files', input: {} }, after: answers };
    });
    const from = model.requests.length;
    const sent = await Promise.all(
      Array.from({ length: RUNS }, () => agent.send('go', { workspace_id, model: 'local/small' })),
    );
    await model.received(from + RUNS);
    await postgres.stop();
    // Their answers come while there is nowhere to write them down.
    answer();
    await new Promise<void>(resolve => {
      onUnwritten = () => unwritten.size === RUNS && resolve();
    });
    postgres = await start();
    const statuses: string[] = [];
    for (const one of sent) statuses.push((await endedAfter(ada.client.get, one)).status);
    expect(statuses).toEqual(Array(RUNS).fill('completed'));
    // Each was asked again for the step that was lost.
    expect(model.requests.length - from).toBeGreaterThanOrEqual(3 * RUNS);
    expect(await brokenInvariants(service.database)).toEqual({});
  },
  PATIENCE,
);

it(
  'schedules that were firing when the database server was restarted fire once, and a script that ended meanwhile has its end',
  async () => {
    const ada = await service.person();
    const own = new Automations(ada.client, await service.workspace(ada));
    const schedules = new Schedules(service);
    const rules = 'on:\n  - schedule: { cron: "0 * * * *", timezone: UTC }';
    const ids: string[] = [];
    for (let n = 0; n < 20; n++) ids.push((await own.deploy(await own.script(`tick${n}`, 'true', rules))).id);
    const ending = await own.deploy(await own.script('ending', 'touch begun; sleep 3; echo done', rules));
    await schedules.makeDue([ending.id]);
    while ((await own.fileText('begun')) !== '') await sleep(50);
    // Each delivery takes its time, so that the server stops in the middle of the transaction.
    await service.database.query(`
      create function take_time() returns trigger language plpgsql as $$ begin perform pg_sleep(1); return new; end $$;
      create trigger take_time before insert on automation_delivery for each row execute function take_time()`);
    await schedules.makeDue(ids);
    const firing = "select 1 from pg_stat_activity where wait_event = 'PgSleep'";
    while ((await service.database.query(firing)).length === 0) await sleep(20);
    await postgres.stop();
    await sleep(5_000);
    postgres = await start();
    await eventually(() => service.database.query('drop trigger take_time on automation_delivery'));
    await schedules.settled([...ids, ending.id]);
    const rows = await service.database.query<{ n: number; runs: number; ends: number }>(
      `select count(*)::int as n, count(distinct deployment_id)::int as deployments, count(distinct run_id)::int as runs,
         (select count(*)::int from automation_event where type in ('automation.run.completed', 'automation.run.failed')
           and data ->> 'deployment_id' = any($1::text[])) as ends
       from automation_delivery where deployment_id = any($1::uuid[])`,
      [[...ids, ending.id]],
    );
    expect(rows).toEqual([{ n: 21, deployments: 21, runs: 21, ends: 21 }]);
    const [run] = await own.runs(`&deployment_id=${ending.id}`);
    expect(run).toMatchObject({ state: 'done' });
  },
  PATIENCE,
);

it(
  'an automation whose run was claimed when the connection broke, so that nobody knew of it, comes to its end',
  async () => {
    const ada = await service.person();
    const own = new Automations(ada.client, await service.workspace(ada));
    const path = await own.script('claimed', 'true');
    await own.deploy(path);
    // It waits as one that is to be taken, and is then one that was.
    await service.database.query(`
      create function claim() returns trigger language plpgsql as $$ begin
        new.state := 'starting'; new.holder := (select id from process limit 1); return new; end $$;
      create trigger claim before insert on automation_run for each row execute function claim()`);
    const started = await own.start(path);
    await service.database.query('drop trigger claim on automation_run');
    expect(await own.ended(started)).toMatchObject({ status: 'completed', stop_reason: null });
  },
  PATIENCE,
);

it(
  'a run that was claimed when the connection broke, so that nobody knew of it, comes to its end',
  async () => {
    const ada = await service.person();
    const agent = new AgentClient(ada.client);
    const { promise: answers, resolve: answer } = Promise.withResolvers<void>();
    model.otherwise({ text: 'Done.', after: answers });
    const from = model.requests.length;
    const send = () => agent.send('go', { model: 'local/small' });
    const first = await Promise.all(Array.from({ length: RUNS }, send));
    await model.received(from + RUNS);
    // There is no room for this one; so it is the database alone that says who has it.
    const late = await send();
    await service.database.query(
      `update run set state = 'running', attempt = 1, due = false, holder = (select id from process) where id = $1`,
      [late.call_id],
    );
    answer();
    for (const run of [...first, late]) expect((await agent.ended(run)).status).toBe('completed');
    expect(await brokenInvariants(service.database)).toEqual({});
  },
  PATIENCE,
);

/** What waits for the database server to take connections again. */
async function eventually<T>(work: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await work();
    } catch (error) {
      if (!/connect|terminat|starting up|shutting down/i.test(String(error))) throw error;
      await sleep(200);
    }
}

/** How the run stands when it has ended; a request that meets the restart is made again, as a client would. */
async function endedAfter(get: (path: string) => Promise<Json>, { call_id }: Json): Promise<Json> {
  for (;;) {
    const { status, body } = await get(`/api/agent/status/${call_id}?wait=20`);
    if (status < 500 && body.status !== 'pending') return body;
  }
}

function hear({ msg, run_id }: Json): void {
  if (!String(msg).startsWith('run: cannot be written down')) return;
  unwritten.add(run_id);
  onUnwritten();
}
