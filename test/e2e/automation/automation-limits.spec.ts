import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type AgentGround, startAgents } from '../../harness/agent.js';
import { Automations } from '../../harness/automations.js';
import { itWithinOne } from '../../harness/calendar.js';
import type { Json } from '../../harness/client.js';

const WEBHOOK = 'on:\n  - webhook: {}\n';
/** Of a million tokens of output: a thousand are 0.1. */
const PRICE = { price: { input: 0, output: 100 } };

let folder: string;
let ground: AgentGround;
let own: Automations;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'atelier-prices-'));
  const MODEL_PRICES = path.join(folder, 'prices.json');
  writeFileSync(MODEL_PRICES, JSON.stringify({ 'local/fake': PRICE }));
  ground = await startAgents({ DEFAULT_MODEL: 'local/fake', MODEL_PRICES });
  own = new Automations(ground.ada.client, await ground.service.workspace(ground.ada));
});
afterEach(() => ground.model.clear());
afterAll(async () => {
  await ground.stop();
  rmSync(folder, { recursive: true, force: true });
});

const costly = (tokens: number) => ({ text: 'Done.', usage: { input: 1, output: tokens } });

const inOneDay = itWithinOne('day', () => ground.model.clear());
/** Automations whose tests may be run again. */
let made = 0;

interface Hooked {
  readonly id: string;
  readonly address: string;
  readonly send: (body?: Json) => Promise<Json>;
}

async function hooked(file: string): Promise<Hooked> {
  const { id, secrets } = await own.deploy(file);
  const address = ground.service.url + new URL(secrets[0].url).pathname;
  const send = async (body: Json = {}) => {
    const response = await fetch(address, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    return (await response.json()) as Json;
  };
  return { id, address, send };
}

describe('what it may spend', () => {
  inOneDay('in a day holds what comes from outside till the next, and keeps no person from it', async () => {
    const file = await own.file(`daily-${++made}`, `${WEBHOOK}limits: { daily_usd: 0.15 }`, 'Go.\n');
    const { id, send } = await hooked(file);
    ground.model.otherwise(costly(1000));
    for (let n = 0; n < 2; n++) {
      const { run_id } = await send();
      expect(await own.ended({ run_id })).toMatchObject({ status: 'completed', cost_usd: 0.1 });
    }
    expect(await send()).toMatchObject({ status: 'held', reason: 'daily_usd', run_id: null });
    expect(await own.run(file)).toMatchObject({ status: 'completed', trigger_kind: 'manual' });
    const [held] = await own.deliveries(`&deployment_id=${id}&state=held`);
    expect(held).toMatchObject({ reason: 'daily_usd', run_id: null });
    expect(await own.deployment(id)).toMatchObject({ state: 'live', failures_in_row: 0 });
  });

  inOneDay('in a day holds the next try of what failed, too', async () => {
    const matter = `${WEBHOOK}limits: { daily_usd: 0.05 }\nretries: { max: 3, backoff: 1s }\nexpect: { files: ["none"] }\n`;
    const { send } = await hooked(await own.file(`tried-${++made}`, matter, 'Go.\n'));
    ground.model.otherwise(costly(1000));
    const { run_id } = await send();
    let run: Json;
    do run = (await own.client.get(`/api/automation/runs/${run_id}`)).body;
    while (run.tries.length === 0);
    expect(run).toMatchObject({ status: 'pending', state: 'queued', attempt: 2, cost_usd: 0.1 });
    const [minute, day] = [60_000, 86_400_000];
    expect((Date.parse(run.next_try_at) + minute) % day).toBeLessThan(2 * minute);
    expect((await own.client.post(`/api/automation/runs/${run_id}/cancel`)).status).toBe(200);
  });

  it('in one run ends that, as an error', async () => {
    const file = await own.file('single', 'limits: { cost_usd: 0.05 }\ntools: [read_file]', 'Go.\n');
    await own.deploy(file);
    const looks = { tool: { name: 'read_file', input: { path: file } }, usage: { input: 1, output: 1000 } };
    ground.model.otherwise(looks);
    expect(await own.run(file)).toMatchObject({ status: 'error', stop_reason: 'max_cost', cost_usd: 0.1 });
  });
});

describe('how many run at once', () => {
  it('is counted for all of a group, of whichever automation they are', async () => {
    const group = 'concurrency: { policy: queue, group: shared }\n';
    const first = await own.script('first', 'sleep 600', group);
    const second = await own.script('second', 'true', `${WEBHOOK}${group}`);
    await own.deploy(first);
    const { send } = await hooked(second);
    const sleeping = await own.start(first);
    const waiting = await Promise.all([send({ n: 1 }), send({ n: 2 })]);
    expect(waiting.map(({ status }) => status)).toEqual(['pending', 'pending']);
    const stateOf = async ({ run_id }: Json) =>
      (await own.client.get(`/api/automation/runs/${run_id}`)).body.state;
    while ((await stateOf(sleeping)) !== 'running');
    for (const one of waiting) expect(await stateOf(one)).toBe('queued');
    await own.client.post(`/api/automation/runs/${sleeping.run_id}/cancel`);
    const ends = await Promise.all(waiting.map(one => own.ended(one as { run_id: string })));
    expect(ends.map(({ status }) => status)).toEqual(['completed', 'completed']);
    const [a, b] = ends.sort((one, other) => one.started_at.localeCompare(other.started_at));
    expect(Date.parse(b?.started_at)).toBeGreaterThanOrEqual(Date.parse(a?.finished_at));
  });

  it('lets a hundred wait, and refuses what comes then, which counts when it is sent again', async () => {
    const file = await own.script('full', 'sleep 600', WEBHOOK);
    const { id, send, address } = await hooked(file);
    const { run_id } = await send();
    while ((await own.client.get(`/api/automation/runs/${run_id}`)).body.state !== 'running');
    const answers = await Promise.all(Array.from({ length: 105 }, (_, n) => send({ n })));
    const refused = answers.filter(({ status }) => status !== 'pending');
    expect(refused).toEqual(
      Array.from({ length: 5 }, () => ({
        detail: expect.stringMatching(/^A hundred runs .* send it again/),
      })),
    );
    expect((await own.ask('trigger', { file_path: file })).status).toBe(409);
    expect(await own.deliveries(`&deployment_id=${id}&state=skipped&limit=100`)).toHaveLength(5);
    const again = (key: string) =>
      fetch(address, { method: 'POST', body: '{}', headers: { 'idempotency-key': key } });
    const late = await again('late');
    expect([late.status, late.headers.get('retry-after')]).toEqual([503, '60']);
    await own.client.post(`/api/automation/runs/${run_id}/cancel`);
    let taken = await again('late');
    while (taken.status === 503) taken = await again('late');
    const body = (await taken.json()) as Json;
    expect([taken.status, body]).toMatchObject([200, { status: 'pending', duplicate: false }]);
    expect(await (await again('late')).json()).toMatchObject({ run_id: body.run_id, duplicate: true });
    await own.stop(file, { cancel_runs: true });
  });
});

it('waits while it is paused, but for what people ask for, and goes on when it is resumed', async () => {
  const code = 'touch "$(date +%s%N).begun"; until [ -e go ]; do sleep 0.1; done';
  const file = await own.script('halted', code, WEBHOOK);
  const { id, send, address } = await hooked(file);
  const stateOf = async ({ run_id }: Json) =>
    (await own.client.get(`/api/automation/runs/${run_id}`)).body.state;
  const running = await send({ n: 1 });
  while ((await stateOf(running)) !== 'running');
  const waiting = await send({ n: 2 });
  expect((await own.client.post(`/api/automation/deployments/${id}/pause`)).body.state).toBe('paused');
  const refused = await fetch(address, { method: 'POST', body: '{}' });
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '3600']);
  const asked = await own.start(file);
  await own.write('go', '');
  // What has begun ends, and what a person asked for overtakes what waits.
  expect(await own.ended(running)).toMatchObject({ status: 'completed' });
  expect(await own.ended(asked)).toMatchObject({ status: 'completed' });
  expect(await stateOf(waiting)).toBe('queued');
  expect((await own.client.post(`/api/automation/deployments/${id}/resume`)).body.state).toBe('live');
  expect(await own.ended(waiting)).toMatchObject({ status: 'completed', attempt: 1 });
});

describe('what it may consist of', () => {
  it('is 256 KiB of each file, and a clear answer for more', async () => {
    const large = `#${' '.repeat(256 * 1024)}\n`;
    await own.write('scripts/large.sh', large);
    const file = await own.file('pinned', 'run: bash\nfile: scripts/large.sh');
    const refused = await own.ask('deployments', { file_path: file });
    expect([refused.status, refused.body.detail]).toEqual([
      422,
      expect.stringMatching(/scripts\/large\.sh has \d+ bytes/),
    ]);
    await own.write('scripts/large.sh', large.slice(-1000));
    expect((await own.ask('deployments', { file_path: file })).status).toBe(200);
    await own.write('scripts/large.sh', large);
    const { body } = await own.client.get(
      `/api/automation/deployments?workspace_id=${own.workspaceId}&limit=100`,
    );
    expect(body.items.find((item: Json) => item.file_path === file)).toMatchObject({
      state: 'live',
      drift: 'invalid',
    });
    expect(await own.run(file)).toMatchObject({ status: 'completed', exit_code: 0 });
  });
});
