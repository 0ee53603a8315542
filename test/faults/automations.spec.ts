/** Automations, with processes that are killed at each step from what comes in to the end of its run. */
import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { FakeOpenAi } from '../fakes/openai-server.js';
import { type AgentGround, startAgents } from '../harness/agent.js';
import { Automations } from '../harness/automations.js';
import type { Json } from '../harness/client.js';
import { freePort } from '../harness/free-port.js';
import { awayFromTheHour, Schedules } from '../harness/schedules.js';
import { Standstill } from './standstill.js';
import { Workers } from './workers.js';

const PATIENCE = 300_000;

let ground: AgentGround;
let model: FakeOpenAi;
let own: Automations;
let schedules: Schedules;
let workers: Workers;
let made = 0;

/** This process serves HTTP alone: what fires and runs is a process of its own. */
beforeAll(async () => {
  ground = await startAgents({ ROLE: 'api', DEFAULT_MODEL: 'local/fake' });
  ({ model } = ground);
  model.otherwise({ text: 'Done.' });
  workers = new Workers(ground);
  own = new Automations(ground.ada.client, await ground.service.workspace(ground.ada));
  schedules = new Schedules(ground.service);
}, PATIENCE);
afterEach(() => workers.stop(), PATIENCE);
beforeEach(awayFromTheHour);
afterAll(() => ground.stop(), PATIENCE);

const rows = <T>(text: string, values: unknown[] = []) =>
  ground.service.database.query<T & Json>(text, values);

const HOURLY = 'on:\n  - schedule: { cron: "0 * * * *", timezone: UTC }';
/** A script that leaves a line for each time that it was begun. */
const script = (name: string, matter = HOURLY) => own.script(name, `echo once >> ${name}.txt`, matter);
const agent = (name: string) => own.file(name, HOURLY, 'Do it.');

/** What is written of a deployment: deliveries, runs, and how often each run was said to have ended. */
async function written(id: string): Promise<Json> {
  const [found] = await rows(
    `select
       (select jsonb_agg(jsonb_build_object('state', state, 'reason', reason) order by id) from automation_delivery where deployment_id = $1) as deliveries,
       (select jsonb_agg(jsonb_build_object('status', status, 'reason', stop_reason) order by id) from automation_run where deployment_id = $1) as runs,
       (select count(*)::int from automation_event where data ->> 'deployment_id' = $1::text
          and type in ('automation.run.completed', 'automation.run.failed')) as ends`,
    [id],
  );
  return found as Json;
}

/** Kills the workers while one of their statements stands still, then lets another one go on. */
async function killedAt(step: { table: string; event: string; when?: string }, id: string): Promise<void> {
  const still = await Standstill.begin(ground.service, step);
  try {
    await workers.start();
    await schedules.makeDue([id]);
    await still.reached();
    await workers.kill();
    await still.undo();
  } finally {
    await still.end();
  }
  await workers.start();
  await schedules.settled([id]);
}

const ACCEPTED = [{ state: 'accepted', reason: null }];
const COMPLETED = { deliveries: ACCEPTED, runs: [{ status: 'completed', reason: null }], ends: 1 };
const LOST = { ...COMPLETED, runs: [{ status: 'error', reason: 'worker_lost' }] };

describe('a schedule whose worker is killed', () => {
  it.each([
    ['as it writes its key', 'automation_seen', 'before insert', 'true', COMPLETED, 1],
    ['as it writes its delivery', 'automation_delivery', 'before insert', 'true', COMPLETED, 1],
    ['as it adds its run', 'automation_run', 'before insert', 'true', COMPLETED, 1],
    ['as it sets the next slot', 'automation_trigger', 'before update', 'new.next_at > now()', COMPLETED, 1],
    ['as it takes the run', 'automation_run', 'before update', `new.state = 'starting'`, COMPLETED, 1],
    ['as it gets the sandbox ready', 'workspace_scan', 'before insert', 'true', COMPLETED, 1],
    [
      'as it begins the script',
      'automation_run',
      'before update',
      `new.state = 'running' and old.state = 'starting'`,
      COMPLETED,
      1,
    ],
    [
      'as it ends the run',
      'automation_run',
      'before update',
      `new.state = 'done' and new.stop_reason is null`,
      LOST,
      1,
    ],
    [
      'as it counts the success',
      'automation_deployment',
      'before update',
      'new.last_success_at is distinct from old.last_success_at',
      LOST,
      1,
    ],
  ] as const)(
    '%s has one delivery of the slot and one end, and begins its script once',
    async (_, table, event, when, expected, times) => {
      const name = `script${++made}`;
      const { id } = await own.deploy(await script(name));
      await killedAt({ table, event, when }, id);
      expect(await written(id)).toEqual(expected);
      expect(await own.fileText(`${name}.txt`)).toBe('once\n'.repeat(times));
    },
    PATIENCE,
  );

  it.each([
    ['as its agent is written down', 'run', 'before insert', 'true'],
    ['as its agent begins', 'run', 'before update', `new.state = 'running' and old.state <> 'running'`],
    ['as its agent ends', 'run', 'before update', `new.status <> 'pending' and old.status = 'pending'`],
    ['as the end of its agent is noticed', 'automation_run', 'before update', `new.state = 'done'`],
  ] as const)(
    '%s has one delivery of the slot, one agent and one end',
    async (_, table, event, when) => {
      const { id } = await own.deploy(await agent(`agent${++made}`));
      await killedAt({ table, event, when }, id);
      expect(await written(id)).toEqual(COMPLETED);
      const [{ agents }] = (await rows(
        `select count(*)::int as agents from run r join automation_run a on a.id = r.automation_run_id
         where a.deployment_id = $1`,
        [id],
      )) as [Json];
      expect(agents).toBe(1);
    },
    PATIENCE,
  );

  it(
    'while its script runs is not run again, and the next slot is',
    async () => {
      const all = HOURLY.replace(' }', ', missed: all }');
      const code = 'echo once >> sleeping.txt; [ -e go ] || sleep 600';
      const { id } = await own.deploy(await own.script('sleeping', code, all));
      await workers.start();
      await schedules.makeDue([id]);
      while ((await own.fileText('sleeping.txt')) !== 'once\n') await sleep(100);
      await workers.kill();
      await own.write('go', '');
      await workers.start();
      await schedules.settled([id]);
      expect(await written(id)).toEqual(LOST);
      await schedules.makeDue([id], '1 hour');
      await schedules.settled([id]);
      expect(await written(id)).toMatchObject({ runs: [...LOST.runs, ...COMPLETED.runs], ends: 2 });
      expect(await own.fileText('sleeping.txt')).toBe('once\nonce\n');
    },
    PATIENCE,
  );
});

describe('a script that is tried again', () => {
  /** `first` is what its first try does. */
  const once = (name: string, first: string) =>
    own.script(
      name,
      `echo once >> ${name}.txt; [ "$ATELIER_ATTEMPT" = 2 ] || ${first}`,
      `${HOURLY}\n${RETRIES}`,
    );
  const RETRIES = 'retries: { max: 1, backoff: 1h }';
  const triesOf = (id: string) =>
    rows(
      "select attempt, state, tries -> 0 ->> 'stop_reason' as first from automation_run where deployment_id = $1",
      [id],
    );
  const waiting = (reason: string) => [{ attempt: 2, state: 'queued', first: reason }];

  async function nextTry(id: string): Promise<void> {
    await rows(
      `with due as (update automation_run set not_before = now() where deployment_id = $1 returning id)
       select notify_topic('automation-queued') from due`,
      [id],
    );
    await schedules.settled([id]);
    expect(await written(id)).toEqual(COMPLETED);
    expect(await triesOf(id)).toMatchObject([{ attempt: 2, state: 'done' }]);
  }

  it(
    'after its worker was killed begins once more',
    async () => {
      const { id } = await own.deploy(await once('lost', 'sleep 600'));
      await workers.start();
      await schedules.makeDue([id]);
      while ((await own.fileText('lost.txt')) !== 'once\n') await sleep(100);
      await workers.kill();
      await workers.start();
      while ((await triesOf(id))[0]?.state !== 'queued') await sleep(50);
      expect(await triesOf(id)).toEqual(waiting('worker_lost'));
      await nextTry(id);
      expect(await own.fileText('lost.txt')).toBe('once\nonce\n');
    },
    PATIENCE,
  );

  it(
    'is so also by another worker than the one that failed with it, and which was killed meanwhile',
    async () => {
      const { id } = await own.deploy(await once('failed', 'exit 1'));
      await workers.start();
      await schedules.makeDue([id]);
      while ((await triesOf(id))[0]?.attempt !== 2) await sleep(50);
      await workers.kill();
      expect(await triesOf(id)).toEqual(waiting('script_failed'));
      await workers.start();
      await nextTry(id);
      expect(await own.fileText('failed.txt')).toBe('once\nonce\n');
    },
    PATIENCE,
  );

  it(
    'waits for its next try where its worker was killed as it wrote down the first one',
    async () => {
      const { id } = await own.deploy(await once('broken', 'exit 1'));
      const still = await Standstill.begin(ground.service, {
        table: 'automation_run',
        event: 'before update',
        when: 'new.attempt = 2 and old.attempt = 1',
      });
      try {
        await workers.start();
        await schedules.makeDue([id]);
        await still.reached();
        await workers.kill();
        await still.undo();
      } finally {
        await still.end();
      }
      await workers.start();
      while ((await triesOf(id))[0]?.attempt !== 2) await sleep(50);
      expect(await triesOf(id)).toEqual(waiting('worker_lost'));
      await nextTry(id);
      expect(await own.fileText('broken.txt')).toBe('once\nonce\n');
    },
    PATIENCE,
  );
});

describe('a worker that is told to end', () => {
  it(
    'waits for the script that runs',
    async () => {
      const { id } = await own.deploy(
        await own.script(
          'drained',
          'touch begun; until [ -e finish ]; do sleep 0.1; done; echo once >> drained.txt',
          HOURLY,
        ),
      );
      const worker = await workers.start({ DRAIN_SECONDS: '3600' });
      await schedules.makeDue([id]);
      while ((await own.fileText('begun')) !== '') await sleep(100);
      const stopped = worker.stop();
      while (!worker.lines.some(({ msg }) => msg === 'waiting for automation runs')) await sleep(20);
      await own.write('finish', '');
      expect(await stopped).toBe(0);
      expect(await written(id)).toEqual(COMPLETED);
      expect(await own.fileText('drained.txt')).toBe('once\n');
    },
    PATIENCE,
  );

  it(
    'puts back what has not begun, which another one runs once',
    async () => {
      const name = `script${++made}`;
      const { id } = await own.deploy(await script(name));
      const still = await Standstill.begin(ground.service, {
        table: 'workspace_scan',
        event: 'before insert',
      });
      try {
        const worker = await workers.start({ DRAIN_SECONDS: '3600' });
        await schedules.makeDue([id]);
        await still.reached();
        const stopped = worker.stop();
        while (!worker.lines.some(({ msg }) => msg === 'waiting for automation runs')) await sleep(20);
        await still.letGo();
        expect(await stopped).toBe(0);
        expect(worker.errors).toEqual([]);
      } finally {
        await still.end();
      }
      expect(
        await rows('select state, started_at from automation_run where deployment_id = $1', [id]),
      ).toEqual([{ state: 'queued', started_at: null }]);
      await workers.start();
      await schedules.settled([id]);
      expect(await written(id)).toEqual(COMPLETED);
      expect(await own.fileText(`${name}.txt`)).toBe('once\n');
    },
    PATIENCE,
  );
});

it(
  'a schedule that fires while it is deployed again neither fails nor makes that fail',
  async () => {
    const path = await script('again');
    const { id } = await own.deploy(path);
    const still = await Standstill.begin(ground.service, {
      table: 'automation_delivery',
      event: 'before insert',
    });
    let deploying: Promise<Json>;
    try {
      const worker = await workers.start();
      await schedules.makeDue([id]);
      await still.reached();
      deploying = own.deploy(path);
      const waiting = `select distinct l.pid from pg_locks l join pg_stat_activity a on a.pid = l.pid
        where not l.granted and a.datname = current_database()`;
      while ((await rows(waiting)).length < 2) await sleep(20);
      await still.letGo();
      expect(await deploying).toMatchObject({ version: 2, state: 'live' });
      await schedules.settled([id]);
      expect(worker.errors).toEqual([]);
    } finally {
      await still.end();
    }
    expect(await written(id)).toEqual(COMPLETED);
  },
  PATIENCE,
);

describe('a webhook whose process is killed', () => {
  const BODY = '{"action":"opened"}';

  it.each([
    ['as it writes the key', 'automation_seen'],
    ['as it writes the delivery', 'automation_delivery'],
    ['as it adds the run', 'automation_run'],
  ])(
    '%s has been answered nothing, and is taken once when it is sent again',
    async (_, table) => {
      const name = `hook${++made}`;
      const { id, secrets } = await own.deploy(await script(name, 'on:\n  - webhook: { verify: github }'));
      const [{ url, secret }] = secrets;
      const { pathname } = new URL(url);
      const headers = {
        'content-type': 'application/json',
        'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(BODY).digest('hex')}`,
        'x-github-delivery': name,
      };
      const send = (base: string) => fetch(base + pathname, { method: 'POST', body: BODY, headers });
      const port = String(await freePort());
      const receiver = await workers.start({ ROLE: 'api', PORT: port });
      const still = await Standstill.begin(ground.service, { table, event: 'before insert' });
      try {
        const lost = send(`http://127.0.0.1:${port}`).catch(() => 'lost');
        await still.reached();
        await receiver.kill();
        await still.undo();
        expect(await lost).toBe('lost');
      } finally {
        await still.end();
      }
      const answers = await Promise.all([1, 2, 3].map(() => send(ground.service.url)));
      const bodies = (await Promise.all(answers.map(answer => answer.json()))) as Json[];
      expect(new Set(bodies.map(({ run_id }) => run_id)).size).toBe(1);
      expect(bodies.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
      await workers.start();
      await schedules.settled([id]);
      expect((await written(id)).runs).toEqual(COMPLETED.runs);
      expect(await own.fileText(`${name}.txt`)).toBe('once\n');
    },
    PATIENCE,
  );
});
