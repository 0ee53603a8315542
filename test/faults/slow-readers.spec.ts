import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type AgentGround, startAgents, textOf } from '../harness/agent.js';
import { Client, type Json, type StreamEvent } from '../harness/client.js';
import { createParser } from '../harness/event-stream.js';
import { freePort } from '../harness/free-port.js';
import { connected } from '../harness/raw-http.js';
import { ServiceProcess } from './service-process.js';

const MEBIBYTE = 1024 * 1024;
const ANSWER = `${'x'.repeat(MEBIBYTE - 1)} `.repeat(7);
/** More than the buffers of a connection hold, and than a model is let say. */
const MUCH = `${'x'.repeat(MEBIBYTE - 1)} `.repeat(30);
const PIECES = 480;
const WATCHERS = 50;
const SLOW_READER_SECONDS = 5;
const PATIENCE = 300_000;

let ground: AgentGround;
let api: ServiceProcess;
let client: Client;
let run: Json;
/** Id of a run whose events and answer are as long as {@link MUCH}. */
let large: string;

beforeAll(async () => {
  ground = await startAgents();
  const port = await freePort();
  api = await ServiceProcess.start(ground.service, {
    ...ground.environment,
    ROLE: 'api',
    PORT: `${port}`,
    SLOW_READER_SECONDS: `${SLOW_READER_SECONDS}`,
    RATE_LIMITS_PER_MINUTE: 'credential=0',
  });
  client = new Client(`http://127.0.0.1:${port}`, ground.ada.client.headers);
  ground.model.otherwise(() => ({ text: ANSWER }));
  run = await ground.agent.run('Say much.');
  ground.model.reply([{ text: 'Hm.' }]);
  large = (await ground.agent.run('Say little.')).call_id;
  await sayMuch(large);
}, PATIENCE);
afterAll(async () => {
  await api.stop();
  await ground.stop();
});

/** Writes into a run that has ended that it said more, before its last events. */
async function sayMuch(id: string): Promise<void> {
  const { database } = ground.service;
  const [last] = await database.query<{ before: number; id: number }>(
    'select id, id - jsonb_array_length(events) as before from run_event where run_id = $1 order by id desc limit 1',
    [id],
  );
  await database.query('update run_event set id = id + $3 where run_id = $1 and id = $2', [
    id,
    last?.id,
    PIECES,
  ]);
  await database.query(
    `insert into run_event (run_id, id, events, created_at)
     select $1, $2::int + n, jsonb_build_array(
       jsonb_build_object('type', 'text.delta', 'data', jsonb_build_object('step', 1, 'text', $4::text))), now()
     from generate_series(1, $3::int) n`,
    [id, last?.before, PIECES, MUCH.slice(0, MUCH.length / PIECES)],
  );
  await database.query('update run set response = $2, last_event = last_event + $3 where id = $1', [
    id,
    MUCH,
    PIECES,
  ]);
}

/** Sends a request and reads nothing of the answer. */
async function askWithoutReading(path: string): Promise<Socket> {
  const socket = await connected(client.url);
  const headers = Object.entries({ host: 'localhost', ...client.headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  socket.pause().on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
  return socket;
}

/**
 * Resolves when the service has let go of a connection of which nothing is read, so that its end is not heard of either: its
 * side of it (`/proc/net/tcp`, in hexadecimal) is not established (01) any more.
 */
async function letGo(socket: Socket): Promise<void> {
  const [theirs, ours] = [socket.remotePort, socket.localPort].map(port =>
    (port ?? 0).toString(16).toUpperCase().padStart(4, '0'),
  );
  const established = new RegExp(`: [0-9A-F]{8}:${theirs} [0-9A-F]{8}:${ours} 01 `);
  while (established.test(readFileSync('/proc/net/tcp', 'utf8'))) await sleep(200);
}

/** All that comes yet, until the service closes the connection. */
async function rest(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', chunk => chunks.push(chunk)).resume();
  await new Promise(resolve => socket.once('close', resolve));
  return Buffer.concat(chunks).toString();
}

/** The body of an answer in chunks (RFC 9112 section 7.1), of which the last may be cut off. */
function unchunked(text: string): string {
  let body = '';
  let at = text.indexOf('\r\n\r\n') + 4;
  for (;;) {
    const end = text.indexOf('\r\n', at);
    const length = end < 0 ? 0 : Number.parseInt(text.slice(at, end), 16);
    if (!length) return body;
    body += text.slice(end + 2, end + 2 + length);
    at = end + 2 + length + 2;
  }
}

it(
  'keeps little of what watchers do not read, serves others meanwhile, and lets the watchers go',
  async () => {
    await client.get('/api/auth/me');
    const before = api.memory;
    const path = `/api/agent/runs/${large}/events`;
    const watchers = await Promise.all(Array.from({ length: WATCHERS }, () => askWithoutReading(path)));
    let most = 0;
    for (let round = 0; round < 10; round++) {
      expect((await client.get('/api/auth/me')).status).toBe(200);
      most = Math.max(most, api.memory);
      await sleep(200);
    }
    expect((most - before) / MEBIBYTE).toBeLessThan(400);
    for (const watcher of watchers) await letGo(watcher);
    const text = await rest(watchers[0] as Socket);
    expect(text.length).toBeLessThan(MUCH.length / 2);
    // What came is whole events but for the last, after which a reader takes up.
    const parser = createParser();
    const body = unchunked(text);
    const seen: StreamEvent[] = parser(Buffer.from(body.slice(0, body.lastIndexOf('\n\n') + 2)));
    const ids = seen.map(({ id }) => id).filter(Number.isInteger);
    const later = await client.events(path, { headers: { 'last-event-id': `${ids.at(-1) ?? 0}` } });
    expect(later[0]?.id).toBe((ids.at(-1) ?? 0) + 1);
    for (const watcher of watchers) watcher.destroy();
  },
  PATIENCE,
);

it(
  'lets go who asks for a large answer and does not read it',
  async () => {
    const before = api.memory;
    const path = `/api/agent/status/${large}`;
    const sockets = await Promise.all(Array.from({ length: 5 }, () => askWithoutReading(path)));
    // The answer has begun to come.
    await Promise.all(sockets.map(socket => once(socket, 'readable').then(() => socket.read(1))));
    for (const socket of sockets) await letGo(socket);
    expect((await client.get('/api/auth/me')).status).toBe(200);
    expect((api.memory - before) / MEBIBYTE).toBeLessThan(700);
    for (const socket of sockets) {
      expect((await rest(socket)).length).toBeLessThan(MUCH.length / 2);
      socket.destroy();
    }
  },
  PATIENCE,
);

it(
  'tells the whole answer to who reads, and at the end not again',
  async () => {
    const events = await client.events(`/api/agent/runs/${run.call_id}/events`);
    expect(textOf(events)).toBe(ANSWER);
    expect(events.at(-1)).toMatchObject({ event: 'run.completed', data: { omitted: ['response'] } });
    expect(Math.max(...events.map(({ data }) => JSON.stringify(data).length))).toBeLessThan(100_000);
    expect(run.result.response).toBe(ANSWER);
  },
  PATIENCE,
);

it(
  'closes the connection of who downloads and does not read',
  async () => {
    const workspace = await ground.service.workspace(ground.ada);
    const body = randomBytes(60 * MEBIBYTE);
    const put = await client.raw('PUT', `/api/workspaces/${workspace}/files/upload?path=much/large.bin`, {
      body,
      headers: { 'content-type': 'application/octet-stream' },
    });
    expect(put.status).toBeLessThan(300);
    const before = api.memory;
    for (const path of ['much/large.bin', 'much']) {
      const sockets = await Promise.all(
        Array.from({ length: 10 }, () =>
          askWithoutReading(`/api/workspaces/${workspace}/files/download?path=${path}`),
        ),
      );
      for (const socket of sockets) await letGo(socket);
      expect((api.memory - before) / MEBIBYTE).toBeLessThan(300);
      expect((await rest(sockets[0] as Socket)).length).toBeLessThan(body.length / 2);
      for (const socket of sockets) socket.destroy();
    }
  },
  PATIENCE,
);

/** Sends the head of a request that has a body, and then what `drip` sends. */
async function sendSlowly(
  request: { line: string; headers?: Record<string, string>; length: number },
  drip: (socket: Socket) => Promise<void>,
): Promise<string> {
  const socket = await connected(client.url);
  socket.on('error', () => undefined);
  const headers = { host: 'localhost', 'content-length': `${request.length}`, ...request.headers };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const answer = rest(socket);
  socket.write(`${request.line} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  await Promise.race([drip(socket), answer]);
  return answer;
}

const JSON_TYPE = { 'content-type': 'application/json' };

it.each([
  ['stops', async (socket: Socket) => void socket.write('{')],
  [
    'comes a byte at a time',
    async (socket: Socket) => {
      for (; !socket.destroyed; await sleep(300)) socket.write(' ');
    },
  ],
])(
  'lets go who sends a body that %s, and says so',
  async (_how, drip) => {
    const login = { line: 'POST /api/auth/login', headers: JSON_TYPE, length: 1000 };
    const upload = {
      line: `PUT /api/workspaces/${await ground.service.workspace(ground.ada)}/files/upload?path=slow`,
      headers: { ...client.headers, 'content-type': 'application/octet-stream' },
      length: 1_000_000,
    };
    for (const request of [login, upload])
      expect(await sendSlowly(request, drip)).toMatch(
        /^HTTP\/1.1 408 [\s\S]*The request did not come in time/,
      );
  },
  PATIENCE,
);

it(
  'takes an upload that comes slowly, and steadily',
  async () => {
    const workspace = await ground.service.workspace(ground.ada);
    const length = 60_000;
    const upload = {
      line: `PUT /api/workspaces/${workspace}/files/upload?path=steady`,
      headers: { ...client.headers, 'content-type': 'application/octet-stream', connection: 'close' },
      length,
    };
    const answer = await sendSlowly(upload, async socket => {
      for (let sent = 0; sent < length; sent += 5_000) {
        await sleep((SLOW_READER_SECONDS * 1000) / 4);
        socket.write(Buffer.alloc(5_000, 'x'));
      }
    });
    expect(answer).toMatch(/^HTTP\/1.1 20[01] /);
  },
  PATIENCE,
);
