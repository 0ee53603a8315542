/** As many schedules and webhooks as an installation may see in a bad minute. */
import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Automations } from '../harness/automations.js';
import type { Json } from '../harness/client.js';
import { awayFromTheHour, Schedules } from '../harness/schedules.js';
import { type Person, TestService } from '../harness/service.js';
import { Workers } from './workers.js';

const PATIENCE = 400_000;
const SCHEDULES = 10_000;
const WEBHOOKS_A_SECOND = 200;
const SECONDS = 20;
const SENDERS = 64;
/** A deployment lets a hundred runs wait, and what comes then is skipped. */
const HOOKS = (WEBHOOKS_A_SECOND * SECONDS) / 100;

let service: TestService;
let ada: Person;
let own: Automations;
let workers: Workers;

/** This process serves HTTP alone; what fires is a process of its own. */
beforeAll(async () => {
  service = await TestService.start({ ROLE: 'api' });
  ada = await service.person();
  workers = new Workers({ service, environment: {} });
});
/** What waits to run is not run: it is not what is looked at here. */
afterEach(() => workers.kill(), PATIENCE);
beforeEach(awayFromTheHour);
afterAll(() => service.stop());

/** So many deployments like this one, with a schedule each. */
const copied = (id: string, count: number) =>
  service.database.query(
    `with copies as (
       insert into automation_deployment (id, organization_id, workspace_id, file_path, state, version, last_version, actor, created_by,
         created_at, updated_at)
       select gen_random_uuid(), organization_id, workspace_id, 'automations/copy' || n || '.md', 'live', 1, 1, actor, created_by, now(), now()
       from automation_deployment, generate_series(1, $2::int) n where id = $1 returning id
     ), versions as (
       insert into automation_version (deployment_id, number, digest, files, definition, deployed_by, created_at)
       select c.id, 1, v.digest, v.files, v.definition, v.deployed_by, now() from copies c, automation_version v where v.deployment_id = $1
     )
     insert into automation_trigger (id, deployment_id, position, kind, config, created_at)
     select gen_random_uuid(), c.id, 0, 'schedule', t.config, now() from copies c, automation_trigger t where t.deployment_id = $1`,
    [id, count],
  );

const count = async (what: string): Promise<number> =>
  (await service.database.query<{ n: number }>(`select (${what})::int as n`))[0]?.n ?? Number.NaN;

it(
  'ten thousand schedules of one minute fire once each',
  async () => {
    own = new Automations(ada.client, await service.workspace(ada));
    const path = await own.script('many', 'true', 'on:\n  - schedule: { cron: "0 * * * *", timezone: UTC }');
    const { id } = await own.deploy(path);
    await copied(id, SCHEDULES - 1);
    await workers.start();
    const ids = await service.database.query<{ id: string }>('select id from automation_deployment');
    await new Schedules(service).makeDue(ids.map(row => row.id));
    while ((await count('select count(*) from automation_trigger where next_at <= now()')) > 0)
      await sleep(100);
    expect(
      await service.database.query(
        `select count(*)::int as n, count(distinct trigger_id)::int as triggers, count(distinct run_id)::int as runs
         from automation_delivery where state = 'accepted'`,
      ),
    ).toEqual([{ n: SCHEDULES, triggers: SCHEDULES, runs: SCHEDULES }]);
    expect(await count('select count(*) from automation_delivery')).toBe(SCHEDULES);
    expect(await count('select count(*) from automation_run')).toBe(SCHEDULES);
  },
  PATIENCE,
);

it(
  'two hundred webhooks a second are answered once each, and none is lost',
  async () => {
    own = new Automations(ada.client, await service.workspace(ada));
    const hooks: { path: string; secret: string }[] = [];
    for (let n = 0; n < HOOKS; n++) {
      const path = await own.script(`hook${n}`, 'true', 'on:\n  - webhook: { verify: github }');
      const [{ url, secret }] = (await own.deploy(path)).secrets;
      hooks.push({ path: new URL(url).pathname, secret });
    }
    const send = async (n: number) => {
      const { path, secret } = hooks[n % HOOKS] as { path: string; secret: string };
      const body = `{"n":${n}}`;
      const response = await fetch(service.url + path, {
        method: 'POST',
        body,
        headers: {
          'content-type': 'application/json',
          'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
          'x-github-delivery': `delivery ${n}`,
        },
      });
      return { status: response.status, body: (await response.json()) as Json };
    };
    const expected = WEBHOOKS_A_SECOND * SECONDS;
    const answers: Awaited<ReturnType<typeof send>>[] = [];
    const begun = performance.now();
    let next = 0;
    // Each sender waits for its answer: a machine that is slower than that gets them later, and not all at once.
    const sender = async () => {
      for (let n = next++; n < expected; n = next++) {
        await sleep(Math.max(0, (n * 1000) / WEBHOOKS_A_SECOND - (performance.now() - begun)));
        answers.push(await send(n));
      }
    };
    await Promise.all(Array.from({ length: SENDERS }, sender));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.delivery_id)).size).toBe(expected);
    expect(new Set(answers.map(({ body }) => body.run_id)).size).toBe(expected);
    expect(answers.filter(({ body }) => body.duplicate || body.status !== 'pending')).toEqual([]);
    const [found] = await service.database.query<{ n: number; keys: number }>(
      `select count(*)::int as n, count(distinct key)::int as keys from automation_delivery
       where workspace_id = $1 and state = 'accepted'`,
      [own.workspaceId],
    );
    expect(found).toEqual({ n: expected, keys: expected });
  },
  PATIENCE,
);
