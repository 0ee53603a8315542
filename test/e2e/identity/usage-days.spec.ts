import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { UsageStore } from '../../../src/identity/billing/usage.store.js';
import type { Json } from '../../harness/client.js';
import { explained, watchStatements } from '../../harness/explained.js';
import { type Person, TestService } from '../../harness/service.js';

const CALLS = 200_000;
const DAYS = 100;
const DAY_MS = 86_400_000;

let service: TestService;
let ada: Person;
let other: Person;

const today = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS);
const daysAgo = (days: number, hours = 0) =>
  new Date(today.getTime() - days * DAY_MS + hours * 3_600_000).toISOString();

beforeAll(async () => {
  watchStatements();
  service = await TestService.start({ ROLE: 'api' });
  ada = await service.person();
  other = await service.person();
  const workspaces = [await service.workspace(ada), await service.workspace(ada)];
  // The years that the service was there before it summed days.
  await service.database.query("update usage_summed set until = (now() at time zone 'utc')::date - 150");
  await service.database.query(
    `insert into usage_entry (time, organization_id, workspace_id, actor_id, kind, model, input_tokens, output_tokens, cost_usd,
       deployment_id)
     select now() - n * interval '${DAYS} days' / ${CALLS}, case when n % 10 = 0 then $2::uuid else $1::uuid end,
       ($3::uuid[])[1 + n % 2], $4, 'model_call', 'test/' || n % 5, 100 + n % 7, 10,
       case when n % 11 = 0 then null else 0.25 end, case when n % 100 = 3 then $1::uuid end
     from generate_series(1, ${CALLS}) n`,
    [ada.organizationId, other.organizationId, workspaces, ada.id],
  );
  await service.database.query(
    `insert into usage_entry (time, organization_id, workspace_id, actor_id, kind, seconds)
     select now() - n * interval '1 hour', $1, $2, $3, (array['tool_seconds', 'build_seconds', 'server_seconds'])[1 + n % 3], 0.5
     from generate_series(1, 500) n`,
    [ada.organizationId, workspaces[0], ada.id],
  );
  await service.database.query(
    `insert into usage_entry (time, organization_id, workspace_id, kind, byte_hours)
     select date_trunc('hour', now()) - n * interval '1 hour', $1, $2, 'storage_byte_hours', 1024 from generate_series(0, 500) n`,
    [ada.organizationId, workspaces[1]],
  );
  await service.database.query('analyze usage_entry');
});
afterAll(async () => {
  await service.stop();
  jest.restoreAllMocks();
});

const RANGES = [
  [daysAgo(120), daysAgo(-1)],
  [daysAgo(60), daysAgo(30)],
  [daysAgo(60, 5), daysAgo(30, 17)],
  [daysAgo(1), daysAgo(-1)],
  [daysAgo(9, 3), daysAgo(9, 4)],
  [daysAgo(9, 22), daysAgo(8, 2)],
  [daysAgo(500), daysAgo(400)],
] as const;

async function usage(from: string, to: string, grouping = 'day'): Promise<Json> {
  const { status, body } = await ada.client.get(
    `/api/organizations/${ada.organizationId}/billing/usage?from=${from}&to=${to}&group_by=${grouping}`,
  );
  expect([status, body.detail]).toEqual([200, undefined]);
  return { items: body.items, total: body.total };
}

const reports = async (): Promise<Json[]> => {
  const all = [];
  for (const [from, to] of RANGES)
    for (const grouping of ['day', 'model', 'workspace', 'user', 'automation'])
      all.push({ from, to, grouping, ...(await usage(from, to, grouping)) });
  return all;
};

it('months of calls are read as days, and say the same', async () => {
  const before = await reports();
  expect(before[0]).toMatchObject({ total: { model_calls: (CALLS * 9) / 10 } });
  const store = service.app.get(UsageStore, { strict: false });
  await Promise.all([store.sumDays(), store.sumDays()]);
  expect(await reports()).toEqual(before);
  const [plan] = await explained(/from usage_day/, () => usage(daysAgo(90), daysAgo(-1)));
  // A day and what is left of the last one, of two thousand calls a day.
  expect(plan?.rowsOf('usage_entry')).toBeLessThan(8_000);
  expect(plan?.rowsOf('usage_day')).toBeGreaterThan(0);
});

it('what comes after the sums counts, and days are summed once', async () => {
  const store = service.app.get(UsageStore, { strict: false });
  const report = () => usage(daysAgo(90), daysAgo(-1), 'model');
  const before = await report();
  await service.database.query(
    `insert into usage_entry (time, organization_id, kind, model, input_tokens, output_tokens, cost_usd)
     values (now(), $1, 'model_call', 'test/new', 1, 1, 1)`,
    [ada.organizationId],
  );
  await store.sumDays();
  const after = await report();
  expect(after.total.model_calls).toBe(before.total.model_calls + 1);
  expect(after.items.find(({ key }: Json) => key === 'test/new')).toMatchObject({ spend_usd: 1 });
  const [{ until } = {}] = await service.database.query('select until::text from usage_summed');
  expect([daysAgo(0), daysAgo(1)].map(time => time.slice(0, 10))).toContain(until);
});
