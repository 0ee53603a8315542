import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { ServiceProcess } from '../../faults/service-process.js';
import { Automations } from '../../harness/automations.js';
import type { Json } from '../../harness/client.js';
import { awayFromTheHour, Schedules } from '../../harness/schedules.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
let own: Automations;
let schedules: Schedules;
let workers: ServiceProcess[] = [];

/** This process serves HTTP alone: what fires schedules are processes of their own. */
beforeAll(async () => {
  service = await TestService.start({ ROLE: 'api' });
  ada = await service.person();
  own = new Automations(ada.client, await service.workspace(ada));
  schedules = new Schedules(service);
});
beforeEach(awayFromTheHour);
afterAll(async () => {
  await Promise.all(workers.map(worker => worker.stop()));
  await service.stop();
});

const scheduled = (name: string, rules: string, more = ''): Promise<string> =>
  own.script(name, 'true', `on:\n  - schedule: { timezone: UTC, ${rules} }\n${more}`);

it('shows when it fires next, in the zone of the file, and that no more when it is paused', async () => {
  const path = await own.script(
    'shown',
    'true',
    'on:\n  - schedule: { cron: "0 9 * * 1-5", timezone: Europe/Berlin }\n  - schedule: { at: "2099-01-01T00:00", timezone: Asia/Tokyo }',
  );
  const checked = await own.ask('validate', { file_path: path });
  expect(checked.body.next_fires).toHaveLength(5);
  const { id, triggers } = await own.deploy(path);
  expect(triggers[0].next_fires).toHaveLength(5);
  const config = { timezone: 'Europe/Berlin', catch_up_seconds: 86_400, jitter_seconds: 0 };
  expect(triggers[0].config).toMatchObject(config);
  expect(checked.body.automation).toMatchObject({ alert_after_seconds: null, triggers: [config, {}] });
  for (const time of triggers[0].next_fires)
    expect(
      new Intl.DateTimeFormat('en-GB', {
        timeZone: 'Europe/Berlin',
        hour: '2-digit',
        minute: '2-digit',
      }).format(new Date(time)),
    ).toBe('09:00');
  expect(triggers[1].next_fires).toEqual(['2098-12-31T15:00:00.000Z']);
  const paused = await ada.client.post(`/api/automation/deployments/${id}/pause`, { reason: 'Holidays' });
  expect(paused.body).toMatchObject({ state: 'paused', paused_reason: 'Holidays' });
  expect(paused.body.triggers[0].next_fires).toEqual([]);
});

it.each(['cron: "0 9 * * *"', 'at: "2099-01-01T00:00"'])(
  'refuses an abbreviation of a zone: %s',
  async rules => {
    const path = await own.script('abbreviated', 'true', `on:\n  - schedule: { ${rules}, timezone: PST }`);
    const { status, body } = await own.ask('deployments', { file_path: path });
    expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining('America/Los_Angeles')]);
  },
);

it('fires each slot once, with three processes of which one is killed', async () => {
  const ids: string[] = [];
  for (let n = 0; n < 20; n++)
    ids.push((await own.deploy(await scheduled(`many${n}`, 'cron: "0 * * * *", missed: all'))).id);
  await schedules.makeDue(ids, '5 hours');
  workers = await Promise.all([1, 2, 3].map(() => ServiceProcess.start(service, { ROLE: 'worker' })));
  const anyDone = async () =>
    (await service.database.query(`select 1 from automation_run where state = 'done' limit 1`)).length > 0;
  while (!(await anyDone())) await new Promise(resolve => setTimeout(resolve, 20));
  await workers.pop()?.kill();
  await schedules.settled(ids);
  const rows = await service.database.query<{ n: number; state: string; reason: string | null }>(
    `select count(*)::int as n, state, reason from automation_delivery where deployment_id = any($1::uuid[])
       group by state, reason order by state, reason`,
    [ids],
  );
  // With the default of schedules, a slot is skipped while the run of the one before has not ended.
  expect(rows.reduce((sum, { n }) => sum + n, 0)).toBe(20 * 6);
  for (const { state, reason } of rows)
    expect(`${state} ${reason}`).toMatch(/^(accepted null|skipped still_running)$/);
  const [twice] = await service.database.query<{ n: number }>(
    `select count(*)::int as n from (
         select 1 from automation_delivery where deployment_id = any($1::uuid[]) group by trigger_id, key having count(*) > 1) as d`,
    [ids],
  );
  expect(twice?.n).toBe(0);
  const runs = await service.database.query<{ stop_reason: string | null; status: string }>(
    `select distinct status, stop_reason from automation_run where deployment_id = any($1::uuid[])`,
    [ids],
  );
  for (const { status, stop_reason } of runs)
    expect(`${status} ${stop_reason}`).toMatch(/^(completed null|error worker_lost)$/);
});

it('tells of slots that were missed, and fires the newest one alone', async () => {
  const { id } = await own.deploy(await scheduled('missed', 'cron: "0 * * * *"'));
  await schedules.makeDue([id], '3 hours');
  await schedules.settled([id]);
  const deliveries = await own.deliveries(`&deployment_id=${id}`);
  const told = deliveries
    .toSorted((a, b) => a.scheduled_for.localeCompare(b.scheduled_for))
    .map(({ state, reason }: Json) => [state, reason]);
  expect(told).toEqual([
    ['skipped', 'missed'],
    ['skipped', 'missed'],
    ['skipped', 'missed'],
    ['accepted', null],
  ]);
  const [run] = await own.runs(`&deployment_id=${id}`);
  expect(run).toMatchObject({ trigger_kind: 'schedule', status: 'completed', kind: 'script' });
});

it('fires nothing twice when the clock went back', async () => {
  const { id } = await own.deploy(await scheduled('back', 'cron: "0 * * * *"'));
  for (const _ of [1, 2]) {
    await schedules.makeDue([id], '1 hour');
    await schedules.settled([id]);
  }
  expect(await own.runs(`&deployment_id=${id}`)).toHaveLength(1);
  expect(await own.deliveries(`&deployment_id=${id}`)).toHaveLength(2);
});

it('skips what is over the limit of a day', async () => {
  const path = await scheduled('limited', 'cron: "0 * * * *"', 'limits: { runs_per_day: 1 }');
  const { id } = await own.deploy(path);
  await own.run(path);
  await schedules.makeDue([id]);
  await schedules.settled([id]);
  const [delivery] = await own.deliveries(`&deployment_id=${id}&state=skipped`);
  expect(delivery).toMatchObject({ reason: 'runs_per_day', run_id: null });
});

it('fires nothing while it is paused, and does not make up for that', async () => {
  const { id } = await own.deploy(await scheduled('pausing', 'cron: "0 * * * *", missed: all'));
  await ada.client.post(`/api/automation/deployments/${id}/pause`, {});
  const resumed = await ada.client.post(`/api/automation/deployments/${id}/resume`, {});
  expect(Date.parse(resumed.body.triggers[0].next_fires[0])).toBeGreaterThan(Date.now());
  await schedules.settled([id]);
  expect(await own.deliveries(`&deployment_id=${id}`)).toEqual([]);
});

it('goes on where it was when it is deployed again', async () => {
  const path = await scheduled('again', 'cron: "0 * * * *", jitter: 10m');
  const first = await own.deploy(path);
  const second = await own.deploy(path);
  expect(second.triggers[0]).toMatchObject({
    id: first.triggers[0].id,
    next_fires: first.triggers[0].next_fires,
  });
  expect(first.triggers[0].next_fires[0]).not.toMatch(/:00:00\.000Z$/);
});
