import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import fastify, { type FastifyInstance } from 'fastify';
import { McpHttp, McpHttpError } from './index.js';
import { SharedMemory, type TestCall, TestProcess } from './memory.fixture.js';

type Message = Record<string, unknown>;

const BOTH = 'application/json, text/event-stream';
let memory: SharedMemory;
let servers: FastifyInstance[];
let one: Process;
let other: Process;

interface Process {
  readonly url: string;
  readonly ports: TestProcess;
}

async function start(): Promise<Process> {
  const ports = new TestProcess(memory);
  const mcp = new McpHttp<TestCall>(ports);
  const app = fastify({ forceCloseConnections: true });
  app.all('/mcp', async (request, reply) => {
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    const caller = String(request.headers['x-caller'] ?? 'ada');
    try {
      await mcp.answer({ caller, signal: gone.signal }, { request, reply });
    } catch (error) {
      if (!(error instanceof McpHttpError)) throw error;
      await reply.status(error.status).headers(error.headers).send({ detail: error.message });
    }
  });
  app.addHook('onClose', () => mcp.close());
  servers.push(app);
  return { url: `${await app.listen({ port: 0 })}/mcp`, ports };
}

beforeEach(async () => {
  memory = new SharedMemory();
  servers = [];
  one = await start();
  other = await start();
});
afterEach(async () => {
  for (const server of servers) await server.close();
});

const post = (url: string, body: object, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: BOTH, ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', ...body }),
  });

/** Begins a session of 2025-11-25; the headers that belong to it. */
async function begin(capabilities: object = {}, caller = 'ada'): Promise<Record<string, string>> {
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'x', version: '1' } };
  const response = await post(one.url, { id: 0, method: 'initialize', params }, { 'x-caller': caller });
  expect(response.status).toBe(200);
  return { 'mcp-session-id': String(response.headers.get('mcp-session-id')), 'x-caller': caller };
}

/** The messages of a stream, one at a time; undefined when it has ended. */
function messagesOf(response: Response): () => Promise<Message | undefined> {
  const reader = (response.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream())
    .getReader();
  let text = '';
  return async () => {
    while (!text.includes('\n\n')) {
      const { done, value } = await reader.read();
      if (done) return undefined;
      text += value;
    }
    const [event = '', ...rest] = text.split('\n\n');
    text = rest.join('\n\n');
    return JSON.parse(event.slice(event.indexOf('data: ') + 6));
  };
}

describe.each([
  ['2025-11-25', 'legacy' as const],
  ['2026-07-28', { pin: '2026-07-28' }],
])('a client of %s', (revision, mode) => {
  it('lists tools, calls them, and is asked something on the way', async () => {
    const client = new Client(
      { name: 'x', version: '1' },
      {
        versionNegotiation: { mode },
        capabilities: { elicitation: {} },
      },
    );
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'red' } }));
    await client.connect(new StreamableHTTPClientTransport(new URL(one.url)));
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['ask', 'echo', 'wait']);
    const echoed = await client.callTool({ name: 'echo', arguments: { text: 'ä' } });
    expect(echoed).toMatchObject({ structuredContent: { text: 'ä' } });
    const answered = await client.callTool({ name: 'ask', arguments: {} });
    expect(answered).toMatchObject({ structuredContent: { action: 'accept', content: { name: 'red' } } });
    await client.close();
  });
});

describe('a session', () => {
  it('is known to every process, for its owner, until it ends', async () => {
    const session = await begin();
    const list = (headers: Record<string, string>) =>
      post(other.url, { id: 1, method: 'tools/list' }, headers);
    expect((await list(session)).status).toBe(200);
    expect((await list({ ...session, 'x-caller': 'bob' })).status).toBe(404);
    const ended = await fetch(other.url, { method: 'DELETE', headers: session });
    expect([ended.status, (await list(session)).status]).toEqual([204, 404]);
  });

  it('takes an answer in another process than the one that asked', async () => {
    const session = await begin({ elicitation: {} });
    const params = { name: 'ask', arguments: {} };
    const next = messagesOf(await post(one.url, { id: 1, method: 'tools/call', params }, session));
    const question = await next();
    expect(question).toMatchObject({ method: 'elicitation/create' });
    const result = { action: 'decline' };
    const stranger = await begin({}, 'bob');
    await post(other.url, { id: question?.id, result: { action: 'accept', content: {} } }, stranger);
    expect((await post(other.url, { id: question?.id, result }, session)).status).toBe(202);
    expect(await next()).toMatchObject({ id: 1, result: { structuredContent: { action: 'decline' } } });
    expect(memory.questions.size).toBe(0);
  });

  it('lets its client take a request back, in another process too', async () => {
    const session = await begin();
    const began = once(one.ports.host.waiting, 'began');
    const ended = once(one.ports.host.waiting, 'ended');
    const params = { name: 'wait', arguments: {} };
    const answer = post(one.url, { id: 'a', method: 'tools/call', params }, session);
    await began;
    const taken = { method: 'notifications/cancelled', params: { requestId: 'a' } };
    await post(other.url, taken, session);
    await ended;
    expect((await answer).status).toBe(202);
  });

  it('tells what changed of what its client follows, on the stream that came last', async () => {
    const session = await begin();
    const open = async (url: string) =>
      messagesOf(await fetch(url, { headers: { accept: BOTH, ...session } }));
    const before = await open(one.url);
    const next = await open(other.url);
    expect(await before()).toBeUndefined();
    const follow = (method: string) =>
      post(one.url, { id: 1, method: `resources/${method}`, params: { uri: 'x://1' } }, session);
    const followed = once(memory.topics, 'followed x://1');
    expect(await (await follow('subscribe')).json()).toMatchObject({ result: {} });
    await followed;
    memory.topics.emit('changed', 'x://1');
    memory.topics.emit('changed', 'x://2');
    expect(await next()).toMatchObject({
      method: 'notifications/resources/updated',
      params: { uri: 'x://1' },
    });
    other.ports.lost.emit('ada');
    expect(await next()).toBeUndefined();
  });
});

describe('what is no request of the protocol', () => {
  it.each([
    ['a GET without a session', 405, () => fetch(one.url, { headers: { accept: BOTH } })],
    ['an unknown revision', 400, () => post(one.url, { id: 1 }, { 'mcp-protocol-version': '2000-01-01' })],
    ['a body that is no message', 400, () => post(one.url, { text: 'x' })],
    ['one answer only', 406, () => post(one.url, { id: 1, method: 'ping' }, { accept: 'application/json' })],
    [
      'a session that never was',
      404,
      () => post(one.url, { id: 1, method: 'ping' }, { 'mcp-session-id': 'x' }),
    ],
  ])('is refused by HTTP: %s', async (_, status, send) => {
    expect((await send()).status).toBe(status);
  });
});
