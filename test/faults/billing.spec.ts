import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { FakeOpenAi } from '../fakes/openai-server.js';
import { AgentClient } from '../harness/agent.js';
import { TestService } from '../harness/service.js';
import { ServiceProcess } from './service-process.js';

const PATIENCE = 300_000;
/** $100 a million output tokens: an answer costs $0.50, and may cost $0.8192. */
const PAID = 'local/paid';
const ANSWER = { text: 'Done.', usage: { input: 10, output: 5_000 } };

let folder: string;
let model: FakeOpenAi;
let api: TestService;
let environment: Record<string, string>;
const workers: ServiceProcess[] = [];

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'atelier-prices-'));
  const MODEL_PRICES = path.join(folder, 'prices.json');
  writeFileSync(MODEL_PRICES, JSON.stringify({ [PAID]: { price: { input: 0, output: 100 } } }));
  model = await FakeOpenAi.start();
  environment = {
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'paid',
    MODEL_PRICES,
  };
  api = await TestService.start({ ROLE: 'api', ...environment });
}, PATIENCE);
afterAll(async () => {
  await Promise.all(workers.map(worker => worker.stop()));
  await api.stop();
  await model.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function startWorker(): Promise<ServiceProcess> {
  const worker = await ServiceProcess.start(api, { ROLE: 'worker', ...environment });
  workers.push(worker);
  return worker;
}

it(
  'frees what a killed worker held, counts each call once, and lets runs go on that wait for room',
  async () => {
    const doomed = await startWorker();
    const owner = await api.person();
    const agent = new AgentClient(owner.client);
    const place = { workspace_id: await api.workspace(owner), model: PAID };
    const billing = `/api/organizations/${owner.organizationId}/billing`;
    await owner.client.put(`${billing}/budget`, { monthly_usd: 5 });
    model.otherwise({ hang: true });
    const sent = await Promise.all(Array.from({ length: 6 }, () => agent.send('Hello', place)));
    await model.received(6);
    await doomed.kill();
    const [held] = await api.database.query('select sum(amount_usd)::float as usd from budget_reservation');
    expect(held?.usd).toBeCloseTo(6 * 0.8192);

    model.otherwise(ANSWER);
    await startWorker();
    sent.push(await agent.send('Hello', place));
    const runs = await Promise.all(sent.map(one => agent.ended(one)));
    expect(runs.map(({ status, cost_usd }) => [status, cost_usd])).toEqual(Array(7).fill(['completed', 0.5]));
    expect((await owner.client.get(billing)).body).toMatchObject({
      spend_usd: 3.5,
      usage: { model_calls: 7 },
      budget: { spent_usd: 3.5, held_usd: 0 },
    });
    expect(await api.database.query('select 1 from budget_reservation')).toEqual([]);
  },
  PATIENCE,
);
