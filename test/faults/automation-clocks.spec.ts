/** Automations of processes whose clocks are wrong, or are set while they run. */
import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Automations } from '../harness/automations.js';
import type { Json } from '../harness/client.js';
import { freePort } from '../harness/free-port.js';
import { awayFromTheHour, Schedules } from '../harness/schedules.js';
import { TestService } from '../harness/service.js';
import type { ServiceProcess } from './service-process.js';
import { Workers } from './workers.js';

const PATIENCE = 300_000;
const DAY_MS = 86_400_000;
const HALF_MINUTE_MS = 30_000;

let service: TestService;
let own: Automations;
let schedules: Schedules;
let workers: Workers;

beforeAll(async () => {
  service = await TestService.start({ ROLE: 'api' });
  const ada = await service.person();
  own = new Automations(ada.client, await service.workspace(ada));
  schedules = new Schedules(service);
  workers = new Workers({ service, environment: {} });
});
afterEach(() => workers.stop(), PATIENCE);
beforeEach(awayFromTheHour);
afterAll(() => service.stop());

/** The clock of the process is ahead by so much, and by so much more with each SIGUSR2. */
const clock = (ahead: number, more: readonly number[] = []) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`
    const now = Date.now;
    const more = ${JSON.stringify(more)};
    let ahead = ${ahead};
    process.on('SIGUSR2', () => { ahead += more.shift() ?? 0; });
    const RealDate = Date;
    globalThis.Date = class Date extends RealDate {
      constructor(...given) { if (given.length === 0) super(now() + ahead); else super(...given); }
      static now() { return now() + ahead; }
    };`)}`,
});

const setClock = ({ pid }: ServiceProcess) => process.kill(pid, 'SIGUSR2');

const hourly = (name: string, code = 'true') =>
  own.script(name, code, 'on:\n  - schedule: { cron: "0 * * * *", timezone: UTC, missed: all }');

const deliveries = (ids: readonly string[]) =>
  service.database.query<{ n: number; keys: number; early: number }>(
    `select count(*)::int as n, count(distinct (trigger_id, key))::int as keys,
       count(*) filter (where received_at < scheduled_for)::int as early
     from automation_delivery where deployment_id = any($1::uuid[])`,
    [ids],
  );

it(
  'schedules fire once and not before their time, by two processes whose clocks differ by half a minute',
  async () => {
    const ids: string[] = [];
    for (let n = 0; n < 20; n++) {
      const path = await own.script(
        `minute${n}`,
        'true',
        'on:\n  - schedule: { cron: "* * * * *", timezone: UTC }',
      );
      ids.push((await own.deploy(path)).id);
    }
    await Promise.all([workers.start(clock(HALF_MINUTE_MS)), workers.start()]);
    const [next] = await service.database.query<{ at: string }>(
      'select max(next_at) as at from automation_trigger where deployment_id = any($1::uuid[])',
      [ids],
    );
    for (;;) {
      const [left] = await service.database.query<{ n: number }>(
        'select count(*)::int as n from automation_trigger where deployment_id = any($1::uuid[]) and next_at <= $2',
        [ids, next?.at],
      );
      if (left?.n === 0) break;
      await sleep(200);
    }
    // What is queued when it is paused would wait until it is resumed.
    await schedules.settled(ids);
    for (const id of ids) await own.client.post(`/api/automation/deployments/${id}/pause`, {});
    const [found] = await deliveries(ids);
    expect(found?.early).toBe(0);
    expect(found?.n).toBeGreaterThanOrEqual(ids.length);
    expect(found?.keys).toBe(found?.n);
  },
  PATIENCE,
);

it(
  'a webhook that is sent to both starts one run',
  async () => {
    const { id, secrets } = await own.deploy(
      await own.script('signed', 'true', 'on:\n  - webhook: { verify: standard }'),
    );
    const [{ url, secret }] = secrets;
    const ports = [await freePort(), await freePort()];
    await Promise.all(
      ports.map((port, n) =>
        workers.start({ ...clock(n === 0 ? HALF_MINUTE_MS : 0), ROLE: 'all', PORT: String(port) }),
      ),
    );
    const body = '{"a":1}';
    const seconds = Math.floor(Date.now() / 1000);
    const signature = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
      .update(`msg_1.${seconds}.${body}`)
      .digest('base64');
    const answers = await Promise.all(
      [...ports, ...ports].map(async port => {
        const response = await fetch(`http://127.0.0.1:${port}${new URL(url).pathname}`, {
          method: 'POST',
          body,
          headers: {
            'content-type': 'application/json',
            'webhook-id': 'msg_1',
            'webhook-timestamp': String(seconds),
            'webhook-signature': `v1,${signature}`,
          },
        });
        return { status: response.status, body: (await response.json()) as Json };
      }),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(new Set(answers.map(answer => answer.body.run_id)).size).toBe(1);
    await schedules.settled([id]);
    expect(await own.runs(`&deployment_id=${id}`)).toHaveLength(1);
  },
  PATIENCE,
);

it(
  'a clock that is set forward by a day and back by two fires nothing twice and nothing early, and ends no script',
  async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push((await own.deploy(await hourly(`jump${n}`))).id);
    const long = (
      await own.deploy(await hourly('long', 'touch begun; while [ ! -e go ]; do sleep 0.1; done'))
    ).id;
    const worker = await workers.start(clock(0, [DAY_MS, -2 * DAY_MS]));
    await schedules.makeDue([...ids, long]);
    while ((await own.fileText('begun')) !== '') await sleep(100);
    setClock(worker);
    await schedules.makeDue(ids, '1 hour');
    await schedules.settled(ids);
    setClock(worker);
    await schedules.makeDue(ids, '2 hours');
    await schedules.settled(ids);
    await own.write('go', '');
    await schedules.settled([long]);
    const [found] = await deliveries(ids);
    expect(found).toEqual({ n: 5 * 3, keys: 5 * 3, early: 0 });
    const [run] = await own.runs(`&deployment_id=${long}`);
    expect(run).toMatchObject({ status: 'completed', stop_reason: null });
    const times = await service.database.query<{ n: number }>(
      `select count(*)::int as n from automation_run where deployment_id = any($1::uuid[])
       and (started_at < queued_at or finished_at < started_at or finished_at > now())`,
      [[...ids, long]],
    );
    expect(times).toEqual([{ n: 0 }]);
  },
  PATIENCE,
);
