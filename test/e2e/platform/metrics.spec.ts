import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { Config } from '../../../src/platform/config/index.js';
import { createLog } from '../../../src/platform/log/index.js';
import { MetricsListener } from '../../../src/platform/metrics/index.js';
import { createWorker } from '../../../src/server.js';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import { AgentClient } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';
import { type MetricSample, parseMetrics, sumOf } from '../../harness/prometheus.js';
import { type Person, TestService } from '../../harness/service.js';

const TOKEN = 'metrics-token-of-tests';
const MODEL = 'local/small';

let fake: FakeOpenAi;
let service: TestService;
let ada: Person;
let workspace_id: string;

beforeAll(async () => {
  fake = await FakeOpenAi.start();
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: fake.url,
    OPENAI_COMPATIBLE_MODELS: 'small',
    RATE_LIMITS_PER_MINUTE: 'credential=0,anonymous=20,shared=0,webhook=0',
    STREAM_LIMITS: 'credential=1',
  });
  ada = await service.person('Ada Lovelace');
  workspace_id = await service.workspace(ada, { name: 'Analytical Engine' });
});
afterAll(async () => {
  await service.stop();
  await fake.stop();
});

async function scrape(): Promise<MetricSample[]> {
  const response = await service.stranger.raw('GET', '/metrics');
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    expect.stringMatching(/^text\/plain; version=0\.0\.4/),
  ]);
  return parseMetrics(await response.text());
}

/** Scrapes until a sum is as it should be. */
async function until(
  name: string,
  labels: Record<string, string>,
  isRight: (sum: number | undefined) => boolean,
) {
  while (!isRight(sumOf(await scrape(), name, labels)))
    await new Promise(resolve => setTimeout(resolve, 200));
}

describe('/metrics', () => {
  it('tells of the process, of its connections, its queues, its runs', async () => {
    const samples = await scrape();
    expect(sumOf(samples, 'atelier_info', { role: 'all' })).toBe(1);
    for (const name of [
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'nodejs_eventloop_lag_seconds',
    ])
      expect(sumOf(samples, name)).toEqual(expect.any(Number));
    expect(sumOf(samples, 'atelier_database_pool_size', { pool: 'requests' })).toBe(8);
    for (const pool of ['requests', 'queue']) {
      expect(sumOf(samples, 'atelier_database_pool_connections', { pool })).toBeGreaterThan(0);
      expect(sumOf(samples, 'atelier_database_pool_waiting', { pool })).toBe(0);
    }
    for (const state of ['waiting', 'active', 'delayed', 'failed'])
      expect(sumOf(samples, 'atelier_queue_jobs', { queue: 'mail', state })).toEqual(expect.any(Number));
    for (const state of ['queued', 'running', 'waiting', 'stopping'])
      expect(sumOf(samples, 'atelier_runs', { state })).toBe(0);
    expect(sumOf(samples, 'atelier_sandboxes_running')).toBe(0);
    expect(sumOf(samples, 'atelier_event_streams_open')).toBe(0);
  });

  it('counts requests by the pattern of the route, the unknown ones as one', async () => {
    const labels = { method: 'GET', route: '/api/workspaces/:workspaceId', status: '200' };
    const counted = async () => sumOf(await scrape(), 'atelier_http_requests_total', labels) ?? 0;
    const before = await counted();
    for (let n = 0; n < 3; n++) await ada.client.get(`/api/workspaces/${workspace_id}`);
    await until('atelier_http_requests_total', labels, sum => sum === before + 3);
    for (const path of ['/one', '/two', '/api/three']) await service.stranger.raw('GET', path);
    await service.stranger.raw('PROPFIND', '/one');
    await until('atelier_http_requests_total', { route: 'unknown', status: '404' }, sum => sum === 4);
    const samples = await scrape();
    expect(sumOf(samples, 'atelier_http_requests_total', { method: 'other' })).toBe(1);
    const { status: _, ...timed } = labels;
    expect(sumOf(samples, 'atelier_http_request_duration_seconds_count', timed)).toBe(before + 3);
    const routes = new Set(samples.map(({ labels: { route } }) => route));
    for (const path of ['/one', '/two', '/api/three']) expect(routes).not.toContain(path);
  });

  it('counts calls of models and their tokens', async () => {
    const agent = new AgentClient(ada.client);
    fake.reply({ text: 'Done.' });
    await agent.run('go', { model: MODEL, workspace_id });
    await until('atelier_model_calls_total', { model: MODEL, outcome: 'ok' }, sum => sum === 1);
    const samples = await scrape();
    expect(sumOf(samples, 'atelier_model_tokens_total', { model: MODEL, kind: 'input' })).toBeGreaterThan(0);
    expect(sumOf(samples, 'atelier_model_tokens_total', { model: MODEL, kind: 'output' })).toBeGreaterThan(0);
    expect(sumOf(samples, 'atelier_model_call_duration_seconds_count', { model: MODEL })).toBe(1);
    fake.reply({ status: 400 } as never);
    await agent.run('fail', { model: MODEL, workspace_id });
    await until('atelier_model_calls_total', { model: MODEL }, sum => sum === 2);
  });

  it('counts sandboxes and event streams as long as there are any, and refusals', async () => {
    const sleeping = ada.client.post(`/api/workspaces/${workspace_id}/tools/bash`, {
      input: { command: 'while [ ! -e go ]; do sleep 0.1; done' },
    });
    await until('atelier_sandboxes_running', {}, sum => sum === 1);
    await ada.client.put(`/api/workspaces/${workspace_id}/files/content`, { path: 'go', content: '' });
    await sleeping;
    await until('atelier_sandboxes_running', {}, sum => sum === 0);

    const changes = `/api/workspaces/${workspace_id}/events`;
    const stream = await ada.client.raw('GET', changes);
    expect(stream.status).toBe(200);
    await until('atelier_event_streams_open', {}, sum => sum === 1);
    expect((await ada.client.raw('GET', changes)).status).toBe(429);
    await stream.body?.cancel();
    await until('atelier_event_streams_open', {}, sum => sum === 0);
    expect(sumOf(await scrape(), 'atelier_event_stream_refusals_total', { limit: 'credential' })).toBe(1);

    while ((await service.stranger.raw('GET', '/none')).status !== 429);
    await until('atelier_rate_limit_refusals_total', { policy: 'address' }, sum => (sum ?? 0) > 0);
  });

  it('holds no id, name, address or secret', async () => {
    const text = await (await service.stranger.raw('GET', '/metrics')).text();
    expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/);
    for (const word of ['Lovelace', 'Analytical', ada.email, '127.0.0.1', fake.url, service.dataDir])
      expect(text).not.toContain(word);
    const labels = new Set(parseMetrics(text).flatMap(sample => Object.keys(sample.labels)));
    const known =
      'kind le limit major metric method minor model outcome patch policy pool queue role route space state status type version';
    for (const label of labels) expect(known.split(' ')).toContain(label);
  });

  it('does not exist for strangers: behind a proxy, or asked for under a name', async () => {
    for (const headers of [
      { 'x-forwarded-for': '203.0.113.7' },
      { forwarded: 'for=203.0.113.7' },
      { via: '1.1 proxy' },
    ] as Record<string, string>[]) {
      const { status, body } = await service.stranger.with(headers).get('/metrics');
      expect([status, body]).toEqual([404, { detail: expect.any(String) }]);
    }
    expect((await ada.client.raw('POST', '/metrics')).status).toBe(405);
  });

  it('comes without what the database does not tell in time', async () => {
    const other = new pg.Client(service.database.url);
    await other.connect();
    await other.query('begin; lock table run in access exclusive mode');
    try {
      await until('atelier_metrics_failures_total', { metric: 'atelier_runs' }, sum => (sum ?? 0) > 0);
      const samples = await scrape();
      expect(sumOf(samples, 'atelier_runs')).toBeUndefined();
      expect(sumOf(samples, 'atelier_http_requests_total')).toBeGreaterThan(0);
    } finally {
      await other.query('rollback');
      await other.end();
    }
    await until('atelier_runs', { state: 'running' }, sum => sum === 0);
  });
});

describe('a worker', () => {
  it('serves its metrics at METRICS_PORT, to who has the token', async () => {
    const config = Config.from({
      DATABASE_URL: service.database.url,
      DATA_DIR: service.dataDir,
      ROLE: 'worker',
      HOST: '127.0.0.1',
      METRICS_PORT: '0',
      METRICS_TOKEN: TOKEN,
      LOG_LEVEL: 'error',
      DRAIN_SECONDS: '0',
    });
    const worker = await createWorker({
      config,
      log: createLog(config),
      database: { connectionString: service.database.url },
    });
    await worker.init();
    try {
      const url = `http://127.0.0.1:${worker.get(MetricsListener, { strict: false }).port}`;
      const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
      const answer = await fetch(`${url}/metrics`, bearer(TOKEN));
      expect(answer.status).toBe(200);
      expect(sumOf(parseMetrics(await answer.text()), 'atelier_info', { role: 'worker' })).toBe(1);
      for (const given of [{}, bearer('another-token-of-tests')]) {
        const refused = await fetch(`${url}/metrics`, given);
        expect([refused.status, ((await refused.json()) as Json).detail]).toEqual([
          401,
          'Send METRICS_TOKEN as Authorization: Bearer',
        ]);
      }
      expect((await fetch(`${url}/api/health`, bearer(TOKEN))).status).toBe(404);
    } finally {
      await worker.close();
    }
  });
});
