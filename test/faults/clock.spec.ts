import { createHmac, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Queues } from '../../src/platform/jobs/index.js';
import { FakeOpenAi } from '../fakes/openai-server.js';
import { AgentClient } from '../harness/agent.js';
import { Automations } from '../harness/automations.js';
import { Browser } from '../harness/browser.js';
import { Client, type Json } from '../harness/client.js';
import { type Person, TestService } from '../harness/service.js';

const RIGHT = Date;
const HOUR_MS = 3_600_000;
const PATIENCE_MS = 240_000;

let model: FakeOpenAi;
let service: TestService;

/** The clock of this process is ahead of the database's. */
function ahead(milliseconds: number): void {
  const now = Date.now.bind(Date);
  jest.spyOn(Date, 'now').mockImplementation(() => now() + milliseconds);
}

beforeAll(async () => {
  model = await FakeOpenAi.start();
  ahead(24 * 365 * HOUR_MS);
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'small',
  });
  jest.restoreAllMocks();
});
afterEach(() => {
  globalThis.Date = RIGHT;
  jest.restoreAllMocks();
});
afterAll(async () => {
  await service.stop();
  await model.stop();
});

it('chores that a process with a wrong clock made are due in their time', async () => {
  const rows = await service.database.query<{ name: string }>(
    "select name from chore where due_at > now() + interval '2 months'",
  );
  expect(rows).toEqual([]);
  expect(await service.database.query('select 1 from chore')).not.toEqual([]);
});

it('a chore that was put off while the clock of the database was wrong runs soon after it is right', async () => {
  const isParked = async () =>
    (await service.database.query("select 1 from chore where due_at > now() + interval '1 month'")).length >
    0;
  const parked = await service.database.query(
    "update chore set due_at = now() + interval '1 year' where name = 'idempotency' returning name",
  );
  expect(parked).toHaveLength(1);
  const end = performance.now() + PATIENCE_MS;
  while (await isParked()) {
    if (performance.now() > end) throw new Error('the chore stays parked');
    await sleep(200);
  }
});

it('a job that the queue holds until a time of a wrong clock is carried out', async () => {
  const id = randomUUID();
  const payload = { mail_id: randomUUID() };
  await service.database.query(
    `insert into accepted_job (id, queue, name, payload, look_at, created_at)
     values ($1, 'mail', 'deliver_mail', $2, now() + interval '1 hour', now())`,
    [id, JSON.stringify(payload)],
  );
  const queue = service.app.get(Queues, { strict: false }).queue('mail');
  await queue.add('deliver_mail', payload, { jobId: id, delay: 24 * 365 * HOUR_MS });
  await service.database.query('update accepted_job set look_at = now() where id = $1', [id]);
  const isThere = async () =>
    (await service.database.query('select 1 from accepted_job where id = $1', [id])).length > 0;
  for (const end = performance.now() + PATIENCE_MS; await isThere(); await sleep(200))
    if (performance.now() > end) throw new Error('the job stays parked');
});

it('a run has its time whatever the clock of its worker says', async () => {
  const ada = await service.person();
  const agent = new AgentClient(await service.key(ada));
  model.otherwise({ text: 'Done.' });
  ahead(HOUR_MS);
  const sent = await agent.send('go', { model: 'local/small', budget: { max_seconds: 600 } });
  const run = await agent.ended(sent);
  expect(run).toMatchObject({ status: 'completed', result: { response: 'Done.' } });
});

/** The whole clock of this process goes ahead, or behind where the number is negative. */
function off(milliseconds: number): void {
  class Wrong extends RIGHT {
    constructor(...given: unknown[]) {
      super(...((given.length === 0 ? [RIGHT.now() + milliseconds] : given) as [number]));
    }

    static override now(): number {
      return RIGHT.now() + milliseconds;
    }

    static override [Symbol.hasInstance](value: unknown): boolean {
      return value instanceof RIGHT;
    }
  }
  globalThis.Date = Wrong as DateConstructor;
}

describe.each([
  ['ahead', 365 * 24 * HOUR_MS],
  ['behind', -365 * 24 * HOUR_MS],
])('where the clock of a process is a year %s', (_, milliseconds) => {
  let ada: Person;
  let workspace_id: string;

  beforeEach(async () => {
    off(milliseconds);
    ada = await service.person();
    workspace_id = await service.workspace(ada);
  });

  /** Hours until a time in a table, by the clock of the database, each once. */
  async function hoursLeft(what: string, from: string, values: unknown[]): Promise<number[]> {
    const rows = await service.database.query<{ hours: number }>(
      `select distinct round(extract(epoch from ${what} - now()) / 3600)::int as hours from ${from}`,
      values,
    );
    return rows.map(({ hours }) => hours);
  }

  it('approvals and questions of runs are open as long as they should be', async () => {
    await ada.client.patch(`/api/workspaces/${workspace_id}/approval-policy`, { write: 'ask' });
    const write = { name: 'write_file', input: { path: 'a.txt', content: 'x' } };
    const ask = { name: 'ask', input: { question: 'Which?', choices: [{ label: 'A' }, { label: 'B' }] } };
    model.reply({ tools: [write, ask] });
    const agent = new AgentClient(ada.client);
    const asked = { workspace_id, model: 'local/small', on_approval: 'wait' };
    const run = await agent.send('go', asked);
    await agent.eventsUntil(run, 'question.asked', 1);
    const ofRun = [run.call_id];
    const [hours] = await hoursLeft('expires_at', 'approval where run_id = $1', ofRun);
    expect(await hoursLeft('expires_at', 'question where run_id = $1', ofRun)).toEqual([hours]);
    expect(hours).toBeGreaterThan(0);
    expect(hours).toBeLessThan(24 * 32);
    const { waiting_for } = await agent.status(run);
    const { pathname } = new URL(waiting_for[0].link, service.url);
    const page = await new Browser(service.url).openAs(pathname, ada);
    expect(page.html).toMatch(/The question is open for \d+ more (day|hour|minute)/);
    await service.database.query('update approval set expires_at = now() where run_id = $1', ofRun);
    const late = await new Browser(service.url).openAs(pathname, ada);
    expect(late.html).toContain('This is no longer open');
    await agent.stop(run);
  });

  it('invitations are open for their days, and not longer', async () => {
    const to = (n: number) => ({ email: `invited${n}-${randomUUID()}@example.com` });
    const invite = async (n: number): Promise<Json> =>
      (await ada.client.post(`/api/organizations/${ada.organizationId}/invitations`, to(n))).body;
    const [open, over] = [await invite(1), await invite(2)];
    const ofOrganization = [ada.organizationId];
    expect(await hoursLeft('expires_at', 'invitation where organization_id = $1', ofOrganization)).toEqual([
      7 * 24,
    ]);
    await service.database.query('update invitation set expires_at = now() where id = $1', [over.id]);
    const newcomer = { name: 'New', password: 'correct horse battery staple' };
    const path = ({ link }: Json) => `/api${new URL(link).pathname}`;
    expect((await service.stranger.get(path(open))).body.status).toBe('pending');
    expect((await service.stranger.get(path(over))).body.status).toBe('expired');
    expect((await service.stranger.post(`${path(open)}/accept`, newcomer)).status).toBe(200);
    expect((await service.stranger.post(`${path(over)}/accept`, newcomer)).status).toBe(410);
  });

  it('invitations to files are open for their days, and not longer', async () => {
    await ada.client.put(`/api/workspaces/${workspace_id}/files/content`, { path: 'a.txt', content: 'x' });
    const invite = async (): Promise<Json> =>
      (
        await ada.client.post('/api/file-invitations', {
          workspace_id,
          path: 'a.txt',
          email: `invited-${randomUUID()}@example.com`,
        })
      ).body;
    const [open, over] = [await invite(), await invite()];
    expect(await hoursLeft('expires_at', 'file_invitation where workspace_id = $1', [workspace_id])).toEqual([
      14 * 24,
    ]);
    await service.database.query('update file_invitation set expires_at = now() where id = $1', [over.id]);
    const { body } = await ada.client.get(`/api/file-invitations?workspace_id=${workspace_id}`);
    const stateOf = ({ id }: Json) => body.items.find((item: Json) => item.id === id).status;
    expect([stateOf(open), stateOf(over)]).toEqual(['pending', 'expired']);
    const decline = ({ token }: Json) => service.stranger.post(`/api/file-invitations/${token}/decline`, {});
    expect([(await decline(open)).status, (await decline(over)).status]).toEqual([200, 410]);
  });

  it('a key that is rotated works on for the time of the overlap, and not longer', async () => {
    const [{ soon } = { soon: '' }] = await service.database.query<{ soon: string }>(
      "select now() + interval '2 days' as soon",
    );
    const expires_at = new Date(soon).toISOString();
    const { body: key } = await ada.client.post('/api/keys', { name: 'rotated', expires_at });
    const rotated = await ada.client.post(`/api/keys/${key.id}/rotate`, { overlap_seconds: 24 * 3600 });
    expect(rotated.status).toBe(200);
    expect(await hoursLeft('expires_at', 'api_key where id = $1', [key.id])).toEqual([24]);
    const statusOf = async (secret: string) =>
      (await new Client(service.url, { 'x-api-key': secret }).get('/api/organizations')).status;
    expect([await statusOf(key.api_key), await statusOf(rotated.body.api_key)]).toEqual([200, 200]);
    await service.database.query('update api_key set expires_at = now() where id = $1', [key.id]);
    expect([await statusOf(key.api_key), await statusOf(rotated.body.api_key)]).toEqual([401, 200]);
  });

  it('the address of a webhook that is replaced is good for a day more', async () => {
    const own = new Automations(ada.client, workspace_id);
    const { id, secrets } = await own.deploy(await own.script('hooked', 'true', 'on:\n  - webhook: {}\n'));
    const [{ trigger_id }] = secrets;
    const rotated = await ada.client.post(`/api/automation/deployments/${id}/rotate-secret`, { trigger_id });
    expect(rotated.status).toBe(200);
    expect(await hoursLeft('old_token_until', 'automation_trigger where id = $1', [trigger_id])).toEqual([
      24,
    ]);
  });

  it('the secret of a webhook that is replaced is good for a day more', async () => {
    const own = new Automations(ada.client, workspace_id);
    const path = await own.script('signed', 'true', 'on:\n  - webhook: { verify: github }\n');
    const { id, secrets } = await own.deploy(path);
    const [{ trigger_id, url, secret: before }] = secrets;
    const { body } = await ada.client.post(`/api/automation/deployments/${id}/rotate-secret`, { trigger_id });
    const until = "(secrets -> 1 ->> 'until')::timestamptz";
    expect(await hoursLeft(until, 'automation_trigger where id = $1', [trigger_id])).toEqual([24]);
    const send = async (secret: string) => {
      const signature = `sha256=${createHmac('sha256', secret).update('{}').digest('hex')}`;
      const headers = { 'content-type': 'application/json', 'x-hub-signature-256': signature };
      return (await fetch(service.url + new URL(url).pathname, { method: 'POST', body: '{}', headers }))
        .status;
    };
    expect([await send(before), await send(body.secret), await send('another')]).toEqual([200, 200, 401]);
  });
});
