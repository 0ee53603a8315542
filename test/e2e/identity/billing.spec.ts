import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { v7 } from 'uuid';
import { RunQueue } from '../../../src/agents/runs/index.js';
import { BudgetReached, Budgets, enterModelCall } from '../../../src/identity/billing/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { Chores } from '../../../src/platform/jobs/index.js';
import { StorageMeter } from '../../../src/workspaces/changes/index.js';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import { FakeSmtpServer } from '../../fakes/smtp-server.js';
import { AgentClient } from '../../harness/agent.js';
import { itWithinOne } from '../../harness/calendar.js';
import type { Client, Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';
import { settled } from '../../harness/settled.js';

/** $100 a million output tokens and nothing for input: 5,000 tokens cost $0.50, and a call may cost $0.8192. */
const PAID = 'local/paid';
const UNPRICED = 'local/unpriced';
const DEMO = 'atelier/demo';
const answer = (tokens: number) => ({ text: 'Done.', usage: { input: 10, output: tokens } });
const write = (tokens: number) => ({
  tool: { name: 'list_files', input: {} },
  usage: { input: 10, output: tokens },
});

let folder: string;
let model: FakeOpenAi;
let smtp: FakeSmtpServer;
let service: TestService;
let stranger: Person;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'atelier-prices-'));
  const MODEL_PRICES = path.join(folder, 'prices.json');
  writeFileSync(MODEL_PRICES, JSON.stringify({ [PAID]: { price: { input: 0, output: 100 } } }));
  model = await FakeOpenAi.start();
  smtp = await FakeSmtpServer.start();
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'paid,unpriced',
    MODEL_PRICES,
    SMTP_URL: smtp.url,
  });
  // Storage is measured here only when a test says so.
  await service.app.get(Chores, { strict: false }).beforeApplicationShutdown();
  stranger = await service.person('Mallory');
});
afterAll(async () => {
  await service.stop();
  await model.stop();
  await smtp.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A person with an organization and a workspace of their own, so that tests do not share budgets. */
class Team {
  private constructor(
    readonly owner: Person,
    readonly workspace: string,
  ) {}

  static async make(): Promise<Team> {
    const owner = await service.person('Ada');
    await service.database.query('update "user" set email_verified_at = now() where id = $1', [owner.id]);
    return new Team(owner, await service.workspace(owner));
  }

  get client(): Client {
    return this.owner.client;
  }

  get agent(): AgentClient {
    return new AgentClient(this.client);
  }

  get place() {
    return { workspace_id: this.workspace, model: PAID };
  }

  get address(): string {
    return `/api/organizations/${this.owner.organizationId}/billing`;
  }

  async billing(): Promise<Json> {
    return (await this.client.get(this.address)).body;
  }

  async usage(query = ''): Promise<Json> {
    const { status, body } = await this.client.get(`${this.address}/usage${query}`);
    if (status !== 200) throw new Error(JSON.stringify(body));
    return body;
  }

  async budget(input: Json): Promise<Json> {
    const { status, body } = await this.client.put(`${this.address}/budget`, input);
    if (status !== 200) throw new Error(JSON.stringify(body));
    return body;
  }

  /** Spends half a dollar. */
  async spend(fields: Json = {}): Promise<Json> {
    model.reply(answer(5_000));
    return this.agent.run('Hello', { ...this.place, ...fields });
  }

  /** Runs of one model call each, none of which ends before all are accepted. */
  async spendAtOnce(count: number, tokens: number): Promise<Json[]> {
    const accepted = Promise.withResolvers<void>();
    model.otherwise({ ...answer(tokens), after: accepted.promise });
    const sent = await Promise.all(
      Array.from({ length: count }, () => this.agent.send('Hello', this.place)),
    ).finally(() => accepted.resolve());
    return Promise.all(sent.map(one => this.agent.ended(one)));
  }

  entries(kind: string): Promise<Json[]> {
    return service.database.query(
      'select * from usage_entry where organization_id = $1 and kind = $2 order by time, step',
      [this.owner.organizationId, kind],
    );
  }

  reservations(): Promise<Json[]> {
    return service.database.query('select * from budget_reservation where organization_id = $1', [
      this.owner.organizationId,
    ]);
  }
}

const inOneDay = itWithinOne('day', () => model.clear());
const inOneMonth = itWithinOne('month', () => model.clear());

describe('usage', () => {
  it('is entered once a model call and once a tool call, with what each used', async () => {
    const team = await Team.make();
    model.reply([write(1_000), answer(500)]);
    const run = await team.agent.run('List', team.place);
    expect(run).toMatchObject({ status: 'completed', cost_usd: expect.closeTo(0.15, 9) });
    const calls = await team.entries('model_call');
    expect(calls.map(({ step, output_tokens, cost_usd }) => [step, output_tokens, Number(cost_usd)])).toEqual(
      [
        [1, '1000', 0.1],
        [2, '500', 0.05],
      ],
    );
    expect(calls[0]).toMatchObject({
      workspace_id: team.workspace,
      chat_id: run.chat_id,
      run_id: run.call_id,
      actor_id: team.owner.id,
      model: PAID,
    });
    const [tool, ...others] = await team.entries('tool_seconds');
    expect(others).toEqual([]);
    expect(tool).toMatchObject({ run_id: run.call_id, step: 1, position: 0, cost_usd: null });
    expect(tool?.seconds).toBeGreaterThan(0);
  });

  it('of a model without a price has no cost, and is counted', async () => {
    const team = await Team.make();
    model.reply(answer(5_000));
    await team.agent.run('Hello', { ...team.place, model: UNPRICED });
    await team.spend();
    const [unpriced] = await team.entries('model_call');
    expect(unpriced?.cost_usd).toBeNull();
    expect(await team.billing()).toMatchObject({
      spend_usd: 0.5,
      unpriced_calls: 1,
      usage: { model_calls: 2 },
    });
  });

  it('outlives what it tells of, and cannot be changed', async () => {
    const team = await Team.make();
    const { chat_id } = await team.spend();
    await team.client.delete(`/api/chats/${chat_id}`);
    await team.client.delete(`/api/workspaces/${team.workspace}`);
    expect(await team.entries('model_call')).toHaveLength(1);
    for (const change of [
      'update usage_entry set cost_usd = 0',
      'delete from usage_entry',
      'truncate usage_entry',
    ])
      await expect(service.database.query(change)).rejects.toThrow('append-only');
  });

  it('is entered once for a step that a second worker repeats after the first was lost', async () => {
    const team = await Team.make();
    await team.budget({ monthly_usd: 5 });
    const arrived = model.received(model.requests.length + 1);
    model.reply([{ hang: true }, answer(5_000)]);
    const sent = await team.agent.send('Hello', team.place);
    await arrived;
    expect(await team.reservations()).toMatchObject([
      { run_id: sent.call_id, attempt: 1, amount_usd: '0.8192' },
    ]);
    await service.database.query('update run set holder = gen_random_uuid() where id = $1', [sent.call_id]);
    const queue = service.app.get(RunQueue, { strict: false });
    await queue.recover();
    queue.handOver(sent.call_id);
    expect(await team.agent.ended(sent)).toMatchObject({ status: 'completed', cost_usd: 0.5 });
    expect(await team.entries('model_call')).toHaveLength(1);
    expect(await team.reservations()).toEqual([]);
    expect((await team.billing()).budget).toMatchObject({ spent_usd: 0.5, held_usd: 0, remaining_usd: 4.5 });
  });

  it('of storage is entered once an hour, however many measure at once', async () => {
    const team = await Team.make();
    await team.client.put(`/api/workspaces/${team.workspace}/files/content`, {
      path: 'big.txt',
      content: 'x'.repeat(1_000_000),
    });
    const meter = service.app.get(StorageMeter, { strict: false });
    const at = (time: string) => meter.measureAll(new Date(time));
    await Promise.all([at('2031-05-01T10:00:01Z'), at('2031-05-01T10:20:00Z'), at('2031-05-01T10:59:59Z')]);
    await at('2031-05-01T11:00:00Z');
    const entries = await team.entries('storage_byte_hours');
    expect(entries.map(({ time }) => time.toISOString())).toEqual([
      '2031-05-01T10:00:00.000Z',
      '2031-05-01T11:00:00.000Z',
    ]);
    for (const { byte_hours } of entries) expect(byte_hours).toBeGreaterThanOrEqual(1_000_000);
    const scheduled = await service.database.query("select 1 from chore where name = 'measure_storage'");
    expect(scheduled).toHaveLength(1);
  });
});

describe('billing', () => {
  it('tells plan, limits, period, usage and budget', async () => {
    const team = await Team.make();
    const { period, ...rest } = await team.billing();
    expect(rest).toEqual({
      plan: 'self-hosted',
      limits: {
        file_bytes: 1_073_741_824,
        run_steps: 100,
        sandbox_seconds: 120,
        sandbox_memory_bytes: 1_073_741_824,
      },
      usage: expect.objectContaining({ model_calls: 0, spend_usd: 0 }),
      spend_usd: 0,
      unpriced_calls: 0,
      budget: {
        monthly_usd: null,
        hard_stop: true,
        alerts: [80, 90, 100],
        spent_usd: 0,
        held_usd: 0,
        remaining_usd: null,
        state: 'none',
        alerts_fired: [],
      },
    });
    expect(period.from).toMatch(/^\d{4}-\d\d-01T00:00:00.000Z$/);
    expect(Date.parse(period.to)).toBeGreaterThan(Date.now());
  });

  inOneDay('sums up by workspace, model, user and day, each adding up to the same total', async () => {
    const team = await Team.make();
    const member = await service.person('Grace');
    await service.join(member, { organization: team.owner.organizationId, role: 'member' });
    const second = await service.workspace(team.owner);
    model.reply([write(1_234), answer(777), answer(3), answer(10)]);
    await team.agent.run('List', team.place);
    await team.agent.run('Hello', { ...team.place, workspace_id: second });
    await new AgentClient(member.client).run('Hello', { ...team.place, model: UNPRICED });
    await team.agent.run('Hello', { model: DEMO, organization_id: team.owner.organizationId });
    const keys: Record<string, unknown[]> = {
      workspace: [team.workspace, second, null],
      model: [DEMO, PAID, UNPRICED, null],
      user: [team.owner.id, member.id],
      day: [new Date().toISOString().slice(0, 10)],
    };
    const { total } = await team.usage();
    expect(total).toMatchObject({ model_calls: 5, unpriced_calls: 1, spend_usd: 0.2014 });
    for (const [group_by, expected] of Object.entries(keys)) {
      const usage = await team.usage(`?group_by=${group_by}`);
      expect(usage.items.map(({ key }: Json) => key).sort()).toEqual([...expected].sort());
      expect(usage.total).toEqual(total);
      for (const [field, value] of Object.entries(total)) {
        const sum = usage.items.reduce((before: number, item: Json) => before + item[field], 0);
        expect([group_by, field, sum]).toEqual([group_by, field, expect.closeTo(value as number, 9)]);
      }
    }
    expect(await team.usage('?group_by=automation')).toMatchObject({ items: [], total: { model_calls: 0 } });
    expect((await team.billing()).spend_usd).toBe(total.spend_usd);
  });

  it('takes a period with its end left out, in UTC unless it says otherwise', async () => {
    const team = await Team.make();
    await team.spend();
    const [{ time }] = (await team.entries('model_call')) as [Json];
    const usage = (from: string, to: string) =>
      team.usage(`?from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`);
    const after = new Date(time.getTime() + 1);
    expect((await usage(time.toISOString(), after.toISOString())).total.model_calls).toBe(1);
    expect((await usage('2020-01-01', time.toISOString())).total.model_calls).toBe(0);
    expect(await usage('2026-01-01T00:00:00', '2026-01-02T02:00:00+02:00')).toMatchObject({
      from: '2026-01-01T00:00:00.000Z',
      to: '2026-01-02T00:00:00.000Z',
    });
    const wrong = await team.client.get(`${team.address}/usage?from=2026-02-01&to=2026-01-01`);
    expect([wrong.status, wrong.body.detail]).toEqual([422, 'from must not be later than to']);
  });

  it('is for admins; strangers see no organization', async () => {
    const team = await Team.make();
    const member = await service.person('Grace');
    await service.join(member, { organization: team.owner.organizationId, role: 'member' });
    for (const [who, status] of [
      [member, 403],
      [stranger, 404],
    ] as const) {
      expect((await who.client.get(team.address)).status).toBe(status);
      expect((await who.client.get(`${team.address}/usage`)).status).toBe(status);
      expect((await who.client.put(`${team.address}/budget`, { monthly_usd: 1 })).status).toBe(status);
    }
  });
});

describe('a budget', () => {
  it.each([
    [{ monthly_usd: -1 }, 'monthly_usd must be at least 0'],
    [{}, 'monthly_usd is required'],
    [{ monthly_usd: 1, alerts: [0] }, 'alerts must be at least 1'],
    [{ monthly_usd: 1, alerts: [101] }, 'alerts must be at most 100'],
    [{ monthly_usd: 1, hard_stop: 'yes' }, 'hard_stop must be true or false'],
  ])('is not %j', async (input, detail) => {
    const team = await Team.make();
    const { status, body } = await team.client.put(`${team.address}/budget`, input);
    expect([status, body.detail]).toEqual([422, expect.stringContaining(detail)]);
  });

  inOneMonth('refuses a run once it is reached (402), until it is raised or taken away', async () => {
    const team = await Team.make();
    await team.spend();
    expect(await team.budget({ monthly_usd: 0.5 })).toMatchObject({ state: 'reached', remaining_usd: 0 });
    const send = (name: string) =>
      team.client.post('/api/agent/message', { message: 'Hi', ...team.place, model: name });
    const refused = await send(PAID);
    expect(refused.status).toBe(402);
    expect(refused.body.detail).toBe(
      'The monthly budget of the organization, $0.50, is reached; an admin can raise it, and it starts anew with the next month (UTC)',
    );
    expect([(await send(UNPRICED)).status, (await send(DEMO)).status]).toEqual([402, 402]);
    await team.budget({ monthly_usd: 1 });
    const close = await send(PAID);
    expect([close.status, close.body.detail]).toEqual([
      402,
      expect.stringContaining('leaves $0.50, and the next model call may cost $0.82'),
    ]);
    await team.budget({ monthly_usd: null });
    expect((await team.spend()).status).toBe('completed');
  });

  inOneMonth('lets only models with a price run, for 0 is one', async () => {
    const team = await Team.make();
    const send = (name: string) =>
      team.client.post('/api/agent/message', { message: 'Hi', ...team.place, model: name });
    await team.budget({ monthly_usd: 100 });
    expect(await send(UNPRICED)).toMatchObject({
      status: 402,
      body: { detail: expect.stringContaining('The price of this model is not known') },
    });
    expect((await send(DEMO)).status).toBe(200);
    await team.budget({ monthly_usd: 100, hard_stop: false });
    model.reply(answer(1));
    expect((await team.agent.run('Hi', { ...team.place, model: UNPRICED })).status).toBe('completed');
  });

  inOneMonth('tells its owners once for each amount that is reached', async () => {
    const team = await Team.make();
    const stops = async () => {
      await settled(service, 'notifications');
      const { body } = await team.client.get('/api/notifications?category=budget');
      return body.items.filter(({ type }: Json) => type === 'budget.stopped').map(({ body }: Json) => body);
    };
    const refused = () => team.client.post('/api/agent/message', { message: 'Hello', ...team.place });
    await team.budget({ monthly_usd: 0.1 });
    expect([(await refused()).status, (await refused()).status]).toEqual([402, 402]);
    expect(await stops()).toEqual([expect.stringContaining('$0.10')]);
    await team.budget({ monthly_usd: 0.2 });
    expect((await refused()).status).toBe(402);
    expect(await stops()).toEqual([expect.stringContaining('$0.20'), expect.stringContaining('$0.10')]);
  });

  inOneMonth('without a hard stop lets everything through, and says that it is reached', async () => {
    const team = await Team.make();
    await team.budget({ monthly_usd: 0.4, hard_stop: false });
    expect((await team.spend()).status).toBe('completed');
    expect((await team.spend()).status).toBe('completed');
    expect((await team.billing()).budget).toMatchObject({ spent_usd: 1, state: 'reached', remaining_usd: 0 });
  });

  inOneMonth('ends a run in flight before the call that does not fit, with what it did kept', async () => {
    const team = await Team.make();
    await team.budget({ monthly_usd: 1 });
    model.reply([write(5_000)]);
    const run = await team.agent.run('List', team.place);
    expect(run).toMatchObject({
      status: 'error',
      error: { type: 'budget_reached', message: expect.stringContaining('leaves $0.50') },
      cost_usd: 0.5,
    });
    const { body } = await team.client.get(`/api/chats/${run.chat_id}/messages`);
    expect(body.items.at(-1).tool_calls).toMatchObject([{ tool: 'list_files', is_error: false }]);
    expect(await team.reservations()).toEqual([]);
  });

  inOneMonth(
    'holds 20 runs at once to what fits, and lets wait those that others only hold room from',
    async () => {
      const team = await Team.make();
      await team.budget({ monthly_usd: 5 });
      const runs = await team.spendAtOnce(20, 5_000);
      const statuses = runs.map(({ status, error }) => error?.type ?? status).sort();
      // A call may cost $0.8192: after nine of $0.50 there is no room for a tenth.
      expect(statuses).toEqual([...Array(11).fill('budget_reached'), ...Array(9).fill('completed')]);
      expect((await team.billing()).budget).toMatchObject({ spent_usd: 4.5, held_usd: 0 });
      expect(await team.reservations()).toEqual([]);
    },
  );

  inOneMonth('is passed by no more than what the calls in flight cost beyond their estimates', async () => {
    const team = await Team.make();
    await team.budget({ monthly_usd: 2 });
    await team.spendAtOnce(6, 20_000);
    // Two calls fit by their estimates ($0.8192); each then costs $2.
    const { spent_usd } = (await team.billing()).budget;
    expect(spent_usd).toBeGreaterThanOrEqual(2);
    expect(spent_usd).toBeLessThanOrEqual(2 + 2 * (2 - 0.8192));
  });

  inOneMonth('gets back what was held for a call that failed', async () => {
    const team = await Team.make();
    await team.budget({ monthly_usd: 1 });
    model.reply({ status: 400 });
    expect((await team.agent.run('Hello', team.place)).status).toBe('error');
    expect(await team.reservations()).toEqual([]);
    expect((await team.spend()).status).toBe('completed');
  });

  inOneMonth('of a workspace stands beside that of its organization', async () => {
    const team = await Team.make();
    const other = await service.workspace(team.owner);
    const address = `/api/workspaces/${team.workspace}/budget`;
    expect((await team.client.put(address, { monthly_usd: 0.9 })).body).toMatchObject({
      monthly_usd: 0.9,
      state: 'ok',
    });
    expect((await team.spend()).status).toBe('completed');
    const refused = await team.client.post('/api/agent/message', { message: 'Hi', ...team.place });
    expect([refused.status, refused.body.detail]).toEqual([
      402,
      expect.stringContaining('budget of the workspace'),
    ]);
    expect((await team.spend({ workspace_id: other })).status).toBe('completed');
    expect((await team.client.get(address)).body).toMatchObject({ spent_usd: 0.5 });
    expect((await team.client.get(`/api/workspaces/${other}/budget`)).body).toMatchObject({
      monthly_usd: null,
      spent_usd: 0.5,
      state: 'none',
    });
    expect((await team.billing()).budget).toMatchObject({ spent_usd: 1 });
    const editor = await service.person('Grace');
    await service.join(editor, { organization: team.owner.organizationId, role: 'member' });
    expect((await editor.client.get(address)).status).toBe(200);
    expect((await editor.client.put(address, { monthly_usd: 100 })).status).toBe(403);
    expect((await stranger.client.get(address)).status).toBe(404);
  });
});

describe('alerts', () => {
  inOneMonth('are mailed to the owners once a percentage and month, whoever passes it', async () => {
    const team = await Team.make();
    await team.budget({ monthly_usd: 10, alerts: [10, 20, 50] });
    await team.spendAtOnce(5, 5_000);
    expect((await team.billing()).budget).toMatchObject({
      state: 'alert',
      alerts_fired: [
        { percent: 10, at: expect.any(String) },
        { percent: 20, at: expect.any(String) },
      ],
    });
    expect(await team.budget({ monthly_usd: 5, alerts: [10, 20, 50] })).toMatchObject({
      alerts_fired: [{ percent: 10 }, { percent: 20 }, { percent: 50 }],
    });
    await team.spend();
    // The first mail is the one that every account gets.
    const mails = await smtp.mailsTo(team.owner.email, 4);
    const percents = mails.flatMap(
      ({ headers }) =>
        /has spent (\d+)% of its budget for \d{4}-\d\d$/.exec(headers.get('subject') ?? '')?.[1] ?? [],
    );
    expect(percents.sort()).toEqual(['10', '20', '50']);
    const rows = await service.database.query('select * from budget_alert where organization_id = $1', [
      team.owner.organizationId,
    ]);
    expect(rows).toHaveLength(3);
  });

  inOneMonth('are due again when the budget was raised above what is spent', async () => {
    const team = await Team.make();
    await team.budget({ monthly_usd: 1, alerts: [50, 100] });
    model.reply(answer(5_000));
    await team.agent.run('Hello', team.place);
    const fired = async () => (await team.billing()).budget.alerts_fired.map(({ percent }: Json) => percent);
    expect(await fired()).toEqual([50]);
    // One that is taken back before it is mailed is not mailed. The first mail is the one that every account gets.
    await smtp.mailsTo(team.owner.email, 2);
    await team.budget({ monthly_usd: 10, alerts: [50, 100] });
    expect(await fired()).toEqual([]);
    await team.budget({ monthly_usd: 0.5, alerts: [50, 100] });
    expect(await fired()).toEqual([50, 100]);
    const mails = await smtp.mailsTo(team.owner.email, 4);
    expect(mails.filter(({ headers }) => headers.get('subject')?.includes('has spent 50%'))).toHaveLength(2);
  });
});

describe("a run's own budget", () => {
  it('ends it after so many steps', async () => {
    const team = await Team.make();
    model.reply([write(1), write(1)]);
    const run = await team.agent.run('List', { ...team.place, budget: { max_steps: 2 } });
    expect(run).toMatchObject({
      status: 'completed',
      stop_reason: 'max_steps',
      result: { response: 'Stopped: the run has reached its limit of 2 steps.' },
    });
  });

  it('ends it before the call after its money is spent', async () => {
    const team = await Team.make();
    model.reply([write(2_000), write(2_000)]);
    const run = await team.agent.run('List', { ...team.place, budget: { cost_usd: 0.3 } });
    expect(run).toMatchObject({ status: 'completed', stop_reason: 'max_cost', cost_usd: 0.4 });
    expect(run.result.toolOutputs).toMatchObject([{ is_error: false }, { is_error: true }]);
  });

  it('cuts it off when its time is over', async () => {
    const team = await Team.make();
    model.reply([{ tool: { name: 'bash', input: { command: 'echo begun; sleep 600' } } }]);
    const run = await team.agent.run('Wait', { ...team.place, budget: { max_seconds: 1 } });
    expect(run).toMatchObject({
      status: 'completed',
      stop_reason: 'max_seconds',
      result: { response: 'Stopped: the run has reached its limit of 1 second.' },
    });
    // The command alone would have gone on until the limit of sandboxes, two minutes.
    expect(Date.parse(run.finished_at) - Date.parse(run.started_at)).toBeLessThan(100_000);
    model.clear();
    model.reply([answer(5)]);
    expect((await team.agent.run('Go on', { chat_id: run.chat_id, model: PAID })).status).toBe('completed');
  });

  it.each([
    [{ max_steps: 0 }, 'budget.max_steps must be at least 1'],
    [{ max_seconds: 0.5 }, 'budget.max_seconds must be'],
    [{ cost_usd: -1 }, 'budget.cost_usd must be at least 0'],
    [{ tokens: 1 }, 'budget.tokens is not a field'],
  ])('is not %j', async (budget, detail) => {
    const { status, body } = await stranger.client.post('/api/agent/message', { message: 'Hi', budget });
    expect([status, body.detail]).toEqual([422, expect.stringContaining(detail)]);
  });

  it('of money is refused for a model without a price', async () => {
    const input = { message: 'Hi', model: UNPRICED, budget: { cost_usd: 1 } };
    const { status, body } = await stranger.client.post('/api/agent/message', input);
    expect([status, body.detail]).toEqual([422, expect.stringContaining('budget.cost_usd cannot be kept')]);
  });
});

describe('reservations', () => {
  interface Call {
    estimate: number;
    actual: number;
    fails: boolean;
    inSecond: boolean;
  }
  const cents = fc.integer({ min: 1, max: 60 });
  const call: fc.Arbitrary<Call> = fc
    .record({
      estimate: cents,
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      fails: fc.boolean(),
      inSecond: fc.boolean(),
    })
    .map(({ share, ...rest }) => ({ ...rest, actual: Math.floor(rest.estimate * share) }));

  it('never let calls at the same time spend more than a budget, nor lose or keep any of it', async () => {
    const budgets = service.app.get(Budgets, { strict: false });
    const database = service.app.get(Database, { strict: false });
    const { signal } = new AbortController();
    const spendOf = (ids: string[]) =>
      service.database.query<{ scope_id: string; spent: number }>(
        'select scope_id, (spent_usd * 100)::float as spent from spend where scope_id = any($1)',
        [ids],
      );
    await fc.assert(
      fc.asyncProperty(
        fc.array(call, { minLength: 2, maxLength: 24 }),
        fc.integer({ min: 0, max: 300 }),
        fc.integer({ min: 0, max: 300 }),
        async (calls, limit, limitOfSecond) => {
          const organizationId = await madeOrganization();
          const second = await madeWorkspace(organizationId);
          await limitTo(organizationId, null, limit);
          await limitTo(organizationId, second, limitOfSecond);
          const paid = await Promise.all(
            calls.map(async ({ estimate, actual, fails, inSecond }) => {
              const runId = v7();
              const workspaceId = inSecond ? second : null;
              const planned = {
                runId,
                attempt: 1,
                step: 1,
                organizationId,
                workspaceId,
                estimateUsd: estimate / 100,
              };
              try {
                await budgets.admit(planned, signal);
              } catch (error) {
                expect(error).toBeInstanceOf(BudgetReached);
                return { cost: 0, inSecond, refused: estimate };
              }
              await expectWithin(organizationId, second);
              if (fails) await budgets.release(planned);
              else await settle(database, planned, actual / 100);
              return { cost: fails ? 0 : actual, inSecond, refused: undefined };
            }),
          );
          const sum = (only: (one: { inSecond: boolean }) => boolean) =>
            paid.filter(only).reduce((before, { cost }) => before + cost, 0);
          const [all, inSecond] = [sum(() => true), sum(one => one.inSecond)];
          expect(all).toBeLessThanOrEqual(limit);
          expect(inSecond).toBeLessThanOrEqual(limitOfSecond);
          const spends = await spendOf([organizationId, second]);
          expect(spends.find(({ scope_id }) => scope_id === organizationId)?.spent ?? 0).toBeCloseTo(all);
          expect(spends.find(({ scope_id }) => scope_id === second)?.spent ?? 0).toBeCloseTo(inSecond);
          // Nobody was turned away who would have fitted even at the end.
          for (const { refused, inSecond: isThere } of paid)
            if (refused !== undefined)
              expect(
                all + refused > limit ||
                  all >= limit ||
                  (isThere && (inSecond + refused > limitOfSecond || inSecond >= limitOfSecond)),
              ).toBe(true);
          const left = await service.database.query(
            'select 1 from budget_reservation where organization_id = $1',
            [organizationId],
          );
          expect(left).toEqual([]);
        },
      ),
      { seed: 1, numRuns: 25 },
    );
  });

  async function madeOrganization(): Promise<string> {
    const { body } = await stranger.client.post('/api/organizations', { name: 'Sums' });
    return body.id;
  }

  async function madeWorkspace(organization_id: string): Promise<string> {
    const { body } = await stranger.client.post('/api/workspaces', { name: 'Sums', organization_id });
    return body.id;
  }

  async function limitTo(organization: string, workspace: string | null, limit: number): Promise<void> {
    const address = workspace
      ? `/api/workspaces/${workspace}/budget`
      : `/api/organizations/${organization}/billing/budget`;
    const { status } = await stranger.client.put(address, { monthly_usd: limit / 100 });
    expect(status).toBe(200);
  }

  async function expectWithin(organization: string, workspace: string): Promise<void> {
    const over = await service.database.query(
      'select * from hard_stops($1, $2, null) where spent_usd + held_usd > monthly_usd',
      [organization, workspace],
    );
    expect(over).toEqual([]);
  }

  async function settle(database: Database, planned: Json, costUsd: number): Promise<void> {
    const { runId, organizationId, workspaceId } = planned;
    const usage = {
      input_tokens: 1,
      output_tokens: 1,
      cache_read_tokens: null,
      cache_write_tokens: null,
      reasoning_tokens: null,
    };
    const run = { id: runId, organization_id: organizationId, workspace_id: workspaceId, chat_id: runId };
    await database.transaction(unit =>
      enterModelCall(
        unit,
        { ...run, created_by: stranger.id, deployment_id: null },
        { step: 1, model: 'local/small', usage, costUsd },
      ),
    );
  }
});
