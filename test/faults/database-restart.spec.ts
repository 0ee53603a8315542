import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type EmbeddedPostgres, startPostgres } from '../../libs/embedded-postgres/index.js';
import { migrate } from '../../src/platform/database/migrate.js';
import { FakeOpenAi } from '../fakes/openai-server.js';
import { AgentClient, messagesOf } from '../harness/agent.js';
import type { Json } from '../harness/client.js';
import { brokenInvariants } from '../harness/invariants.js';
import { TestService } from '../harness/service.js';

const PATIENCE = 180_000;
const RUNS = 20;

let folder: string;
let postgres: EmbeddedPostgres;
let model: FakeOpenAi;
let service: TestService;

/** A server of this test's own, since the others share one. */
const start = () =>
  startPostgres({
    dataDir: path.join(folder, 'postgres'),
    database: 'atelier_template',
    durable: false,
    settings: { max_connections: '100' },
  });

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'atelier-restart-'));
  chmodSync(folder, 0o755);
  postgres = await start();
  await migrate(postgres.url);
  process.env.TEST_DATABASE_URL = postgres.url;
  model = await FakeOpenAi.start();
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'small',
    LOG_LEVEL: 'silent',
  });
}, PATIENCE);
afterAll(async () => {
  await service.stop();
  await model.stop();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
});

it(
  'runs that were in flight when the database server was restarted come to their end, each once',
  async () => {
    const ada = await service.person();
    const agent = new AgentClient(ada.client);
    const workspace_id = await service.workspace(ada);
    const waiting: (() => void)[] = [];
    model.otherwise(request => {
      const messages = messagesOf(request);
      if (messages.length > 2) return { text: 'Done.' };
      const after = new Promise<void>(resolve => waiting.push(resolve));
      return { tool: { name: 'list_files', input: {} }, after };
    });
    const from = model.requests.length;
    const sent = await Promise.all(
      Array.from({ length: RUNS }, () => agent.send('go', { workspace_id, model: 'local/small' })),
    );
    await model.received(from + RUNS);
    await postgres.stop();
    // Their answers come while there is nowhere to write them down.
    for (const go of waiting) go();
    postgres = await start();
    const statuses: string[] = [];
    for (const one of sent) statuses.push((await endedAfter(ada.client.get, one)).status);
    expect(statuses).toEqual(Array(RUNS).fill('completed'));
    expect(await brokenInvariants(service.database)).toEqual({});
  },
  PATIENCE,
);

/** How the run stands when it has ended; a request that meets the restart is made again, as a client would. */
async function endedAfter(get: (path: string) => Promise<Json>, { call_id }: Json): Promise<Json> {
  for (;;) {
    const { status, body } = await get(`/api/agent/status/${call_id}?wait=20`);
    if (status < 500 && body.status !== 'pending') return body;
  }
}
