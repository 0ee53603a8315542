import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { Client } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

/** What the service asks for who calls, and for where they stand in a workspace. */
const OF_ACCESS = /api_key k|session s join|m\.role as organization_role/;
const ONCE = [/api_key k|session s join/, /m\.role as organization_role/].map(text =>
  expect.stringMatching(text),
);
const OF_EVENTS = /from run_event\b/;

let service: TestService;
let ada: Person;
let byKey: Client;
let root: string;
let asked: string[] = [];
let pages = 0;

beforeAll(async () => {
  const { query } = pg.Client.prototype;
  jest.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: pg.Client,
    ...given: unknown[]
  ) {
    const [statement] = given as [string | { text?: string }];
    const text = typeof statement === 'string' ? statement : (statement.text ?? '');
    if (OF_ACCESS.test(text)) asked.push(text);
    if (OF_EVENTS.test(text)) pages++;
    return (query as (...all: unknown[]) => void).apply(this, given);
  } as typeof query);
  service = await TestService.start();
  ada = await service.person();
  byKey = await service.key(ada);
  root = `/api/workspaces/${await service.workspace(ada)}`;
  for (const client of [ada.client, byKey])
    await client.put(`${root}/files/content`, { path: 'note.txt', content: 'Hello' });
});
afterAll(async () => {
  await service.stop();
  jest.restoreAllMocks();
});

it.each(['', '/files', '/files/stat?path=note.txt', '/files/content?path=note.txt'])(
  'the caller and the workspace of GET %s are asked for once',
  async path => {
    for (const client of [ada.client, byKey]) {
      asked = [];
      expect((await client.get(`${root}${path}`)).status).toBe(200);
      expect(asked).toEqual(ONCE);
    }
  },
);

it('the caller and the workspace of a file that is uploaded are asked for once', async () => {
  for (const client of [ada.client, byKey]) {
    asked = [];
    const path = `${root}/files/upload?path=note.txt`;
    expect((await client.raw('PUT', path, { body: 'Bye' })).status).toBe(200);
    expect(asked).toEqual(ONCE);
  }
});

/** Runs ask for who acts, too. */
async function idle(): Promise<void> {
  const work = `select from run where status = 'pending' union all select from accepted_job where failed_at is null`;
  while ((await service.database.query(work)).length > 0) await sleep(50);
}

it('a message names a workspace that its sender sees, however it is sent', async () => {
  const bob = await service.person('Bob');
  const workspace_id = root.split('/').at(-1);
  const send = (client: Client, body: object) =>
    client.post('/api/agent/message', { message: 'run true', ...body });
  for (const client of [bob.client, await service.key(bob)]) {
    expect((await send(client, { workspace_id })).status).toBe(404);
    expect((await send(client, { workspace_id: randomUUID() })).status).toBe(404);
    expect((await send(client, { workspace_id: 7 })).status).toBe(422);
    expect((await send(client, { workspace_id: 'x' })).status).toBe(422);
  }
  const unknown = new Client(service.url, { 'x-api-key': 'atl_unknown' });
  expect((await send(unknown, { workspace_id })).status).toBe(401);
  for (const body of ['{', '[]', 'null', `{"workspace_id": "${workspace_id}"`]) {
    const raw = { headers: { 'content-type': 'application/json' }, body };
    expect((await unknown.raw('POST', '/api/agent/message', raw)).status).toBe(401);
    expect([400, 422]).toContain((await byKey.raw('POST', '/api/agent/message', raw)).status);
  }
});

it('who follows a run in the process that has it reads what is new from memory, the same as the log has', async () => {
  await idle();
  const { body: chat } = await ada.client.post('/api/agent', { workspace_id: root.split('/').at(-1) });
  const until = ({ event }: { event: string }) => event === 'run.completed';
  const live = ada.client.events(`/api/chats/${chat.id}/events`, {
    until: event => {
      // What was written before it was followed is read from the log.
      if (event.event === 'tool.finished' && event.data.output === '0') pages = 0;
      return until(event);
    },
  });
  const message = Array.from({ length: 6 }, (_, n) => `run sleep 0.1; echo ${n}`).join('\n');
  await ada.client.post('/api/agent/message', { chat_id: chat.id, message });
  const seen = await live;
  // At the end it looks for the next run.
  expect(pages).toBeLessThanOrEqual(1);
  const stored = await ada.client.events(`/api/chats/${chat.id}/events`, { until });
  expect(seen).toEqual(stored);
  expect(seen.filter(({ event }) => event === 'tool.finished')).toHaveLength(6);
});
