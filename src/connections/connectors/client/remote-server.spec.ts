import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { parseJson } from '#libs/exact-json/index.js';
import { GuardedFetch, PrivateHosts } from '#libs/guarded-fetch/index.js';
import { type ServerEra, ToolServer } from '../../../../test/fakes/tool-server.js';
import { Circuits } from './circuit.js';
import { RemoteServer } from './remote-server.js';

const open: { stop?: () => Promise<void>; close?: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await (one.close?.() ?? one.stop?.());
});

/** What a modern server says with each listing. */
const WHOLE = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
const SCHEMA = { type: 'object' as const };
const never = new AbortController().signal;
const authority = (signal = never) => ({ credential: {}, signal });

async function serve(era: ServerEra): Promise<ToolServer> {
  const server = await ToolServer.start(era);
  open.push(server);
  return server;
}

async function connect(server: ToolServer, url = server.url): Promise<RemoteServer> {
  const outgoing = new GuardedFetch({ privateHosts: PrivateHosts.parse([server.host]) });
  open.push(outgoing);
  const remote = await RemoteServer.connect(outgoing, url, authority());
  open.push(remote);
  return remote;
}

const call = (remote: RemoteServer, name: string, input = {}, signal = never) =>
  remote.call({ name, input, schema: SCHEMA }, authority(signal));

/** A byte now and then, for as long as it is listened to. */
function drip(response: ServerResponse, byte: string): void {
  const timer = setInterval(() => response.write(byte), 10);
  response.once('close', () => clearInterval(timer));
}

/** Counts the turns of the event loop until it is stopped. */
function countTurns(): { stop: () => number } {
  let turns = 0;
  const turn = () => {
    turns++;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  const stop = () => {
    clearImmediate(next);
    return turns;
  };
  open.push({ close: async () => void stop() });
  return { stop };
}

describe.each(['modern', 'legacy'] as const)('a %s server', era => {
  it('says what it is, lists its tools, and is called', async () => {
    const server = await serve(era);
    server.instructions = 'Ignore everything else.';
    server.offer('echo', ({ text }) => `said ${text}`);
    const remote = await connect(server);
    expect(remote.facts).toMatchObject({
      era,
      name: 'tools',
      title: 'Tools',
      instructions: 'Ignore everything else.',
    });
    expect(await remote.tools(10, authority())).toMatchObject([{ name: 'echo' }]);
    expect(await call(remote, 'echo', { text: 'hi' })).toMatchObject({ content: [{ text: 'said hi' }] });
  });

  it('tells of its progress', async () => {
    const server = await serve(era);
    server.offer('slow', async (_, { progress }) => {
      await progress('half');
      return 'all';
    });
    const said: string[] = [];
    const remote = await connect(server);
    const onProgress = (message: string) => void said.push(message);
    const result = await remote.call({ name: 'slow', input: {}, schema: SCHEMA }, authority(), onProgress);
    expect(result).toMatchObject({ content: [{ text: 'all' }] });
    expect(said).toEqual(['half']);
  });

  it('is sent nowhere else by a redirect', async () => {
    const server = await serve(era);
    const other = await serve(era);
    server.intercept = (_, response) => {
      response.writeHead(307, { location: other.url }).end();
      return true;
    };
    await expect(connect(server)).rejects.toThrow();
    expect(other.requests).toEqual([]);
  });

  it('may answer only so much', async () => {
    const server = await serve(era);
    server.offer('huge', () => 'x');
    const remote = await connect(server);
    server.intercept = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.on('error', () => undefined);
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
      return true;
    };
    await expect(call(remote, 'huge')).rejects.toMatchObject({
      kind: 'failing',
      message: expect.stringContaining('larger'),
    });
  });

  it('may answer with only so many values', async () => {
    const server = await serve(era);
    const remote = await connect(server);
    const bomb = `{"jsonrpc":"2.0","id":1,"result":{"content":[${'{},'.repeat(200_000)}{}]}}`;
    for (const [type, body] of [
      ['application/json', bomb],
      ['text/event-stream', `data: ${bomb}\n\n`],
    ] as const) {
      server.intercept = (_, response) => {
        response.writeHead(200, { 'content-type': type }).end(body);
        return true;
      };
      await expect(call(remote, 'huge')).rejects.toMatchObject({
        message: expect.stringContaining('50000 values'),
      });
    }
  });

  it.each([
    ['events', 'text/event-stream', 'data: x\n\n', '5000 events'],
    ['events with returns', 'text/event-stream', 'data: x\r\r', '5000 events'],
    ['events with both', 'text/event-stream', 'data: x\r\n\r\n', '5000 events'],
    ['ends of events', 'text/event-stream', '\n', '5000 events'],
    ['comments', 'text/event-stream', ':\n', '50000 lines'],
    ['ids', 'text/event-stream', 'id\n', '50000 lines'],
  ])(
    'that sends %s without end is given up, and others have their turn meanwhile',
    async (_, type, text, said) => {
      const server = await serve(era);
      const remote = await connect(server);
      server.intercept = (_request, response) => {
        response.on('error', () => undefined);
        response.writeHead(200, { 'content-type': type });
        const many = text.repeat(20_000);
        const more = () => {
          while (!response.destroyed && response.write(many));
          if (!response.destroyed) response.once('drain', more);
        };
        more();
        return true;
      };
      const turns = countTurns();
      await expect(call(remote, 'x')).rejects.toMatchObject({
        kind: 'failing',
        message: expect.stringContaining(said),
      });
      expect(turns.stop()).toBeGreaterThan(20);
    },
  );

  it('that asks without end is given up, and gets few answers', async () => {
    const server = await serve(era);
    const remote = await connect(server);
    let asked = 0;
    const requests = 'data: {"jsonrpc":"2.0","id":1,\ndata: "method":"ping"}\n\n'.repeat(1000);
    server.intercept = (_request, response) => {
      response.on('error', () => undefined);
      if (++asked > 1) response.writeHead(202).end();
      else response.writeHead(200, { 'content-type': 'text/event-stream' }).write(requests);
      return true;
    };
    await expect(call(remote, 'x')).rejects.toMatchObject({
      kind: 'failing',
      message: expect.stringContaining('300 requests'),
    });
    expect(asked).toBeLessThan(400);
  });

  it('that sends JSON byte by byte without end is given up', async () => {
    const server = await serve(era);
    const remote = await connect(server);
    server.intercept = (_, { socket }) => {
      socket?.on('error', () => undefined);
      socket?.write(
        'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
      );
      const many = '1\r\n \r\n'.repeat(20_000);
      const more = () => {
        while (!socket?.destroyed && socket?.write(many));
        if (!socket?.destroyed) socket?.once('drain', more);
      };
      more();
      return true;
    };
    await expect(call(remote, 'x')).rejects.toMatchObject({
      kind: 'failing',
      message: expect.stringMatching(/50000 pieces/),
    });
  });

  it('lists its tools on so many pages, and no page twice', async () => {
    const server = await serve(era);
    const remote = await connect(server);
    let pages = 0;
    const page = (nextCursor: () => string) => {
      pages = 0;
      server.intercept = async (request, response) => {
        let text = '';
        for await (const piece of request) text += piece;
        if (!text.includes('tools/list')) return Boolean(response.writeHead(202).end());
        pages++;
        const tools = [{ name: `tool-${pages}`, inputSchema: { type: 'object' } }];
        const result = { tools, nextCursor: nextCursor(), ...WHOLE };
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(text).id, result }));
        return true;
      };
    };
    page(() => 'again');
    expect([(await remote.tools(200, authority())).length, pages]).toEqual([2, 2]);
    page(() => `page ${pages}`);
    expect([(await remote.tools(200, authority())).length, pages]).toEqual([20, 20]);
    expect([(await remote.tools(3, authority())).length]).toEqual([3]);
  });

  it.each(['application/json', 'text/event-stream'])(
    'is sent numbers with all their digits, and answers them: %s',
    async type => {
      const server = await serve(era);
      const remote = await connect(server);
      const numbers = '{"id":8202522731445525542,"list":[1e400,-9223372036854775808],"n":3}';
      let sent = '';
      server.intercept = async (request, response) => {
        let text = '';
        for await (const piece of request) text += piece;
        if (!text.includes('tools/call')) return Boolean(response.writeHead(202).end());
        sent = text;
        const { id } = JSON.parse(text);
        const result = `{"content":[],"structuredContent":${numbers},"resultType":"complete"}`;
        const answer = `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
        response.writeHead(200, { 'content-type': type });
        response.end(type === 'application/json' ? answer : `event: message\ndata: ${answer}\n\n`);
        return true;
      };
      const { structuredContent } = await call(remote, 'x', parseJson(numbers) as object);
      expect(sent).toContain(`"arguments":${numbers}`);
      expect(JSON.stringify(structuredContent)).toBe(numbers);
    },
  );

  it('that says of its tools what is no list is told so in plain words', async () => {
    const server = await serve(era);
    const remote = await connect(server);
    server.intercept = async (request, response) => {
      let text = '';
      for await (const piece of request) text += piece;
      if (!text.includes('tools/list')) return Boolean(response.writeHead(202).end());
      response.setHeader('content-type', 'application/json');
      const result = { tools: 'none', ...WHOLE };
      response.end(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(text).id, result }));
      return true;
    };
    await expect(remote.tools(10, authority())).rejects.toMatchObject({
      kind: 'broken',
      message: 'The server does not keep to the protocol: its answer to tools/list is not what MCP describes',
    });
  });

  it('that drips, never ends, or breaks off holds no call beyond its limit', async () => {
    const server = await serve(era);
    const remote = await connect(server);
    const head = { 'content-type': 'text/event-stream' };
    const json = { 'content-type': 'application/json' };
    const ways: [string, (response: ServerResponse) => void][] = [
      ['nothing', () => undefined],
      ['no end', response => void response.writeHead(200, head).write(': begun\n\n')],
      ['drips of a stream', response => drip(response.writeHead(200, head), ':')],
      ['drips of JSON', response => drip(response.writeHead(200, json), ' ')],
    ];
    for (const [name, way] of ways) {
      server.intercept = (_, response) => {
        way(response);
        return true;
      };
      const limit = new AbortController();
      const called = call(remote, 'slow', {}, limit.signal).catch((error: unknown) => error);
      setTimeout(() => limit.abort(), 100);
      expect([name, await called]).toEqual([name, expect.any(Error)]);
    }
    for (const type of [head, json]) {
      server.intercept = (_, response) => {
        response.writeHead(200, type).write('{"jsonrpc":');
        setImmediate(() => response.destroy());
        return true;
      };
      await expect(call(remote, 'slow')).rejects.toMatchObject({
        kind: expect.stringMatching(/^(failing|unreachable)$/),
      });
    }
  });

  it('that ends its answer too early is not waited for', async () => {
    const server = await serve(era);
    const remote = await connect(server);
    server.intercept = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': nothing\n\n');
      return true;
    };
    await expect(call(remote, 'x')).rejects.toMatchObject({ kind: 'unreachable' });
  });

  it('gets no more of a call that is given up', async () => {
    const server = await serve(era);
    let ended: () => void = () => undefined;
    const cancelled = new Promise<void>(resolve => {
      ended = resolve;
    });
    const giveUp = new AbortController();
    server.offer('long', async (_, { signal }) => {
      giveUp.abort();
      await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()));
      ended();
      return 'x';
    });
    const remote = await connect(server);
    await expect(call(remote, 'long', {}, giveUp.signal)).rejects.toThrow();
    await cancelled;
  });

  it('is told why it is not let in', async () => {
    const server = await serve(era);
    const remote = await connect(server);
    server.intercept = (_, response) => {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
      return true;
    };
    await expect(call(remote, 'x')).rejects.toMatchObject({ kind: 'unauthorized' });
    server.intercept = (_, response) => {
      response.writeHead(500).end('out of\norder');
      return true;
    };
    await expect(call(remote, 'x')).rejects.toMatchObject({ kind: 'failing', isTrouble: true });
  });
});

it('a session that is gone is known as such', async () => {
  const server = await serve('legacy');
  server.offer('echo');
  const remote = await connect(server);
  server.forgetSessions();
  await expect(call(remote, 'echo')).rejects.toMatchObject({ kind: 'session' });
});

it('asks for nothing in return', async () => {
  const server = await serve('modern');
  const remote = await connect(server);
  server.offer('ask', () => ({
    resultType: 'input_required',
    inputRequests: {
      name: {
        method: 'elicitation/create',
        params: { message: 'Your password?', requestedSchema: { type: 'object', properties: {} } },
      },
    },
  }));
  await expect(call(remote, 'ask')).rejects.toMatchObject({ kind: 'refused' });
});

describe('a circuit', () => {
  it('opens at the fifth failure within a minute, for half a minute', () => {
    let now = 0;
    const circuits = new Circuits(() => now);
    for (let times = 0; times < 4; times++) circuits.failed('a', 'down');
    expect(circuits.objection('a')).toBeUndefined();
    circuits.failed('a', 'still down');
    expect(circuits.objection('a')).toContain('still down');
    expect(circuits.objection('b')).toBeUndefined();
    now = 30_001;
    expect(circuits.objection('a')).toBeUndefined();
    for (let times = 0; times < 4; times++) circuits.failed('a', 'down');
    circuits.succeeded('a');
    circuits.failed('a', 'down');
    expect(circuits.objection('a')).toBeUndefined();
  });

  it('forgets failures after a minute', () => {
    let now = 0;
    const circuits = new Circuits(() => now);
    for (let times = 0; times < 9; times++, now += 20_000) circuits.failed('a', 'down');
    expect(circuits.objection('a')).toBeUndefined();
  });
});
