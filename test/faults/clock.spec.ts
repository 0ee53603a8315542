import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { Queues } from '../../src/platform/jobs/index.js';
import { FakeOpenAi } from '../fakes/openai-server.js';
import { AgentClient } from '../harness/agent.js';
import { TestService } from '../harness/service.js';

const HOUR_MS = 3_600_000;
const PATIENCE_MS = 120_000;

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
afterEach(() => void jest.restoreAllMocks());
afterAll(async () => {
  await service.stop();
  await model.stop();
});

it('chores that a process with a wrong clock made are due in their time', async () => {
  const rows = await service.database.query<{ name: string }>(
    "select name from chore where due_at > now() + interval '2 minutes'",
  );
  expect(rows).toEqual([]);
  expect(await service.database.query('select 1 from chore')).not.toEqual([]);
});

it('a chore that was put off while the clock of the database was wrong runs soon after it is right', async () => {
  const isParked = async () =>
    (await service.database.query("select 1 from chore where due_at > now() + interval '1 month'")).length >
    0;
  await service.database.query(
    "update chore set due_at = now() + interval '1 year' where name = 'idempotency'",
  );
  expect(await isParked()).toBe(true);
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
  await queue.add('deliver_mail', payload, { jobId: `job-${id}`, delay: 24 * 365 * HOUR_MS });
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
