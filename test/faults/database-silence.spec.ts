import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type AgentClient, type AgentGround, messagesOf, startAgents } from '../harness/agent.js';
import { Client } from '../harness/client.js';
import { FaultyProxy } from '../harness/faulty-proxy.js';
import { freePort } from '../harness/free-port.js';
import type { Person, TestService } from '../harness/service.js';
import { allGone, oneThere } from './processes.js';
import { ServiceProcess } from './service-process.js';

const PATIENCE = 300_000;
/** Far more than anything here takes on a slow machine, far less than for ever. */
const MAX_MS = 150_000;
/** A message of a kind that there is not, in the middle of a conversation. */
const UNKNOWN = Buffer.from('R\0\0\0\x08\0\0\0\x63', 'latin1');

let ground: AgentGround;
let service: TestService;
let agent: AgentClient;
let ada: Person;
let proxy: FaultyProxy;
let subject: ServiceProcess;
let client: Client;

beforeAll(async () => {
  ground = await startAgents({ ROLE: 'api', OPENAI_COMPATIBLE_MODELS: 'small' });
  ({ service, agent, ada } = ground);
}, PATIENCE);
afterAll(() => ground.stop());

beforeEach(async () => {
  proxy = await FaultyProxy.start(service.database.url);
  const port = await freePort();
  subject = await ServiceProcess.start(service, {
    ...ground.environment,
    ROLE: 'all',
    DATABASE_URL: proxy.through(service.database.url),
    PORT: `${port}`,
    DRAIN_SECONDS: '2',
    // A changed byte may make a count of requests too high for a minute.
    RATE_LIMITS_PER_MINUTE: 'credential=0,anonymous=0',
  });
  client = new Client(`http://127.0.0.1:${port}`, ada.client.headers);
  expect((await client.get('/api/health/ready')).status).toBe(200);
}, PATIENCE);
afterEach(async () => {
  proxy.pass();
  await subject.stop();
  await proxy.stop();
}, PATIENCE);

async function timed<T>(work: Promise<T>): Promise<T> {
  const began = performance.now();
  const result = await work;
  expect(performance.now() - began).toBeLessThan(MAX_MS);
  return result;
}

async function readyAgain(): Promise<void> {
  const end = performance.now() + MAX_MS;
  while ((await client.get('/api/health/ready')).status !== 200) {
    if (performance.now() > end) throw new Error('not ready again');
    await sleep(200);
  }
}

describe('a database that swallows what it is sent', () => {
  it(
    'keeps nobody waiting, and all goes on when it answers again',
    async () => {
      proxy.swallow();
      const ready = await timed(client.get('/api/health/ready'));
      expect([ready.status, ready.headers.get('retry-after')]).toEqual([503, '5']);
      const answers = await timed(
        Promise.all(Array.from({ length: 40 }, () => client.get('/api/workspaces'))),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
      expect((await client.get('/api/health')).status).toBe(200);
      proxy.pass();
      await readyAgain();
      expect((await client.get('/api/workspaces')).status).toBe(200);
    },
    PATIENCE,
  );

  it(
    'ends the commands of a process that is cut off, before others take its runs over',
    async () => {
      const workspace_id = await service.workspace(ada);
      const marker = `sleep ${8_000_000 + process.pid}`;
      ground.model.otherwise(request =>
        messagesOf(request).at(-1)?.role === 'tool'
          ? { text: 'Seen.' }
          : { tool: { name: 'bash', input: { command: `echo begun; ${marker}` } } },
      );
      const sent = await agent.send('go', { workspace_id });
      await agent.until(sent, ({ event }) => event === 'tool.output');
      await oneThere(marker);
      proxy.swallow();
      await allGone(marker, MAX_MS);
      const [run] = await service.database.query('select attempt, status from run where id = $1', [
        sent.call_id,
      ]);
      expect(run).toEqual({ attempt: 1, status: 'pending' });
      proxy.pass();
      expect(await agent.ended(sent)).toMatchObject({ status: 'completed', result: { response: 'Seen.' } });
    },
    PATIENCE,
  );

  it(
    'keeps no process from ending',
    async () => {
      const waiting = client.get('/api/workspaces').catch(() => undefined);
      proxy.swallow();
      await timed(subject.stop());
      await waiting;
    },
    PATIENCE,
  );
});

it(
  'a database stream that makes no sense is a lost connection',
  async () => {
    const isTold = () =>
      subject.lines.some(({ err }) => err?.message.includes('the server sent a malformed message'));
    proxy.garble(UNKNOWN);
    for (const end = performance.now() + MAX_MS; !isTold() && performance.now() < end; ) await sleep(100);
    expect(isTold()).toBe(true);
    await readyAgain();
    proxy.garble();
    await sleep(200);
    await readyAgain();
    expect((await client.get('/api/workspaces')).status).toBe(200);
  },
  PATIENCE,
);
