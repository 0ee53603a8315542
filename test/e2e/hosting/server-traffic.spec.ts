/** What reaches programs of servers from outside, and what comes back. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { Config } from '../../../src/platform/config/index.js';
import type { Json } from '../../harness/client.js';
import { freePort } from '../../harness/free-port.js';
import { ECHO, ENDLESS, TestServers } from '../../harness/servers.js';
import { type Person, TestService } from '../../harness/service.js';
import { settled } from '../../harness/settled.js';
import { WebBrowser } from '../../harness/web-browser.js';

let service: TestService;
let servers: TestServers;
let ada: Person;
let stranger: Person;
let port: number;
let echo: Json;

beforeAll(async () => {
  port = await freePort();
  service = await TestService.start({ PORT: String(port) });
  ada = await service.person('Ada');
  stranger = await service.person('Stranger');
  servers = new TestServers(service, ada.client, await service.workspace(ada, { visibility: 'restricted' }));
  await servers.write('echo/server.mjs', ECHO);
  echo = await servers.start('node server.mjs', { folder: 'echo' });
});
afterAll(() => service.stop());

const next = async (stream: IncomingMessage | NodeJS.ReadableStream): Promise<string> =>
  String((await once(stream, 'data'))[0]);
const base64 = (value: Json) => Buffer.from(JSON.stringify(value)).toString('base64url');
/** Its signature is nobody's. */
const jwt = (header: Json, claims: Json) => `${base64(header)}.${base64(claims)}.c2lnbmVk`;
const headersAt = async (server: Json, headers: Json = {}): Promise<Record<string, string>> => {
  const { text } = await servers.text(server, '/headers', { headers });
  const raw: string[] = JSON.parse(text);
  return Object.fromEntries(
    raw.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), raw[at + 1] ?? '']] : [])),
  );
};

describe('a request', () => {
  it('reaches the program with its own headers, and with none of ours', async () => {
    const seen = await headersAt(echo, {
      authorization: 'Bearer of-the-app',
      cookie: 'app=1; atl_visit=x; __Host-atl_visit=y; other=2',
      'x-atelier-other': 'x',
      'x-atelier-viewer': 'forged',
      'x-forwarded-for': '8.8.8.8',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-port': '1',
    });
    expect(seen).toMatchObject({
      authorization: 'Bearer of-the-app',
      cookie: 'app=1; other=2',
      host: `${echo.slug}.servers.localhost:${port}`,
      'x-forwarded-host': `${echo.slug}.servers.localhost:${port}`,
      'x-forwarded-proto': 'http',
    });
    expect(seen['x-forwarded-for']).toMatch(/^(::ffff:)?127\.0\.0\.1$/);
    expect(seen).not.toHaveProperty('x-forwarded-port');
    expect(Object.keys(seen).filter(name => name.startsWith('x-atelier'))).toEqual([]);
  });

  it('may be large, of known and of unknown length, and so may its answer', async () => {
    const body = Buffer.alloc(20 * 1024 * 1024, 'abcdefg');
    const hash = createHash('sha256').update(body).digest('hex');
    const sent = await servers.text(echo, '/upload', { method: 'POST', body });
    const headers = { 'transfer-encoding': 'chunked' };
    const chunked = await servers.text(echo, '/upload', { method: 'POST', body, headers });
    expect([JSON.parse(sent.text), JSON.parse(chunked.text)]).toEqual([
      { size: body.length, hash },
      { size: body.length, hash },
    ]);
    expect((await servers.text(echo, '/large')).text.length).toBe(1600 * 65_536);
  });

  it('gets each piece as it comes, and its end tells the program', async () => {
    const answer = await servers.ask(echo, '/events');
    expect(answer.headers['content-type']).toBe('text/event-stream');
    expect(await next(answer)).toMatch(/^data: first\n\n/);
    answer.destroy();
    const log = await ada.client.events(`/api/tunnels/${echo.id}/events`, {
      until: ({ data }) => data.text.includes('a reader has gone'),
    });
    expect(log.length).toBeGreaterThan(0);
  });

  it('gets trailers', async () => {
    const answer = await servers.ask(echo, '/trailers', { headers: { te: 'trailers' } });
    answer.resume();
    await once(answer, 'end');
    expect(answer.trailers).toEqual({ 'x-sum': '42' });
  });

  it('gets no cookie for other hosts or of our names', async () => {
    const { headers } = await servers.text(echo, '/cookies');
    expect(headers['set-cookie']).toEqual(['mine=1; Path=/']);
  });

  it('has localhost as its host where the program wants that', async () => {
    const local = await servers.start('node server.mjs', {
      folder: 'echo',
      host_header: 'local',
      port: 4567,
    });
    expect((await headersAt(local)).host).toBe('localhost:4567');
    await ada.client.delete(`/api/tunnels/${local.id}`);
  });

  describe('to a program that answers localhost alone', () => {
    const PROGRAM = `
import { createServer } from 'node:http';
const isOwn = ({ headers }) => headers.origin === 'http://' + headers.host;
const server = createServer((request, response) => {
  const { host, referer = '', origin = '' } = request.headers;
  response.setHeader('access-control-allow-origin', origin || 'null');
  const { searchParams, pathname } = new URL(request.url, 'http://here');
  if (pathname === '/go') response.writeHead(302, { location: searchParams.get('to').replace('HOST', host) });
  response.end(JSON.stringify({ origin, referer }));
});
server.on('upgrade', (request, socket) => {
  socket.end(isOwn(request)
    ? 'HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n\\r\\n'
    : 'HTTP/1.1 403 Forbidden\\r\\nContent-Length: 0\\r\\n\\r\\n');
});
server.listen(process.env.PORT);`;
    let local: Json;
    let host: string;
    let origin: string;

    beforeAll(async () => {
      await servers.write('local/server.mjs', PROGRAM);
      local = await servers.start('node server.mjs', { folder: 'local', host_header: 'local', port: 4568 });
      host = `${local.slug}.servers.localhost:${port}`;
      origin = `http://${host}`;
    });
    afterAll(() => ada.client.delete(`/api/tunnels/${local.id}`));

    it('comes from its own origin, where the browser was on its own pages', async () => {
      const headers = { origin, referer: `${origin}/lab?x=${origin}` };
      const answer = await servers.text(local, '/', { headers });
      expect(JSON.parse(answer.text)).toEqual({
        origin: 'http://localhost:4568',
        referer: `http://localhost:4568/lab?x=${origin}`,
      });
      expect(answer.headers['access-control-allow-origin']).toBe(origin);
    });

    it.each(['https://evil.example', 'null', 'http://localhost:4568.evil.example'])(
      'keeps the origin %s of another site',
      async other => {
        const answer = await servers.text(local, '/', { headers: { origin: other, referer: `${other}/x` } });
        expect(JSON.parse(answer.text)).toEqual({ origin: other, referer: `${other}/x` });
        expect(answer.headers['access-control-allow-origin']).toBe(other);
        expect((await servers.open(local, '/', { origin: other })).answer.statusCode).toBe(403);
      },
    );

    it('opens a WebSocket from its own pages', async () => {
      const { answer, socket } = await servers.open(local, '/', { origin });
      expect(answer.statusCode).toBe(101);
      socket?.destroy();
    });

    it.each([
      ['http://HOST/lab?next=%2F', '{origin}/lab?next=/'],
      ['https://HOST', '{origin}'],
      ['//HOST/lab', '//{host}/lab'],
      ['/lab', '/lab'],
      ['lab', 'lab'],
      ['http://elsewhere.example/HOST', 'http://elsewhere.example/localhost:4568'],
      ['http://HOST.evil.example/', 'http://localhost:4568.evil.example/'],
    ])('that is sent on to %s arrives at %s', async (to, expected) => {
      const { status, headers } = await servers.text(local, `/go?to=${to}`);
      expect([status, headers.location]).toEqual([
        302,
        expected.replace('{origin}', origin).replace('{host}', host),
      ]);
    });
  });
});

describe('a WebSocket', () => {
  const token = async ({ id }: Json): Promise<string> =>
    (await ada.client.post(`/api/tunnel-access/${id}/tokens`, { name: 'Test' })).body.token;

  it('is joined with the program, both ways', async () => {
    const { answer, socket } = await servers.open(echo);
    expect(answer.statusCode).toBe(101);
    socket?.write('there and back');
    expect(await next(socket as never)).toBe('there and back');
    socket?.destroy();
  });

  it('is opened by a subprotocol with a token, which ends it when it is revoked', async () => {
    const closed = await servers.start('node server.mjs', { folder: 'echo' }, 'workspace');
    expect((await servers.open(closed)).answer.statusCode).toBe(401);
    const protocol = `atelier.access.${await token(closed)}`;
    const { answer, socket } = await servers.open(closed, '/', { 'sec-websocket-protocol': protocol });
    expect([answer.statusCode, answer.headers['sec-websocket-protocol']]).toEqual([101, protocol]);
    socket?.write('x');
    await next(socket as never);
    const ended = once(socket as never, 'close');
    const { items } = (await ada.client.get(`/api/tunnel-access/${closed.id}/tokens`)).body;
    await ada.client.delete(`/api/tunnel-access/${closed.id}/tokens/${items[0].id}`);
    await ended;
    await ada.client.delete(`/api/tunnels/${closed.id}`);
  });
});

describe('what one address may have', () => {
  const from = (n: number) => `127.0.0.${n}`;

  it('is 256 WebSockets at once, beside its requests', async () => {
    const opened = await Promise.all(Array.from({ length: 260 }, () => servers.open(echo, '/', {}, from(7))));
    const statuses = opened.map(({ answer }) => answer.statusCode);
    expect(statuses.filter(status => status === 101)).toHaveLength(256);
    expect(statuses.filter(status => status === 429)).toHaveLength(4);
    expect((await servers.text(echo, '/life', { from: from(7) })).status).toBe(200);
    for (const { socket } of opened) socket?.destroy();
    // The service hears of their end a moment later.
    for (let status = 429; status !== 101; ) {
      const { answer, socket } = await servers.open(echo, '/', {}, from(7));
      socket?.destroy();
      status = answer.statusCode ?? 0;
    }
  });

  it('is 600 refused handshakes a minute, after which nothing of it is looked at', async () => {
    const closed = await servers.start('node server.mjs', { folder: 'echo', start: false }, 'workspace');
    const statuses: (number | undefined)[] = [];
    while (statuses.length < 3000 && statuses.at(-1) !== 429) {
      const many = Array.from({ length: 50 }, () => servers.open(closed, '/', {}, from(8)));
      for (const { answer } of await Promise.all(many)) statuses.push(answer.statusCode);
    }
    expect([statuses[0], statuses.at(-1)]).toEqual([401, 429]);
    await ada.client.delete(`/api/tunnels/${closed.id}`);
  });
});

describe('an API key', () => {
  it.each([
    ['a header of its own', (key: string) => ({ 'x-api-key': key })],
    ['one of several headers', (key: string) => ({ 'x-api-key': ['theirs', key] })],
    ['Authorization', (key: string) => ({ authorization: `Bearer ${key}` })],
    ['the password of a user', (key: string) => ({ authorization: `Basic ${btoa(`git:${key}`)}` })],
  ])('does not reach the program by %s', async (_where, headersOf) => {
    const { body } = await ada.client.post('/api/keys', { name: 'CI' });
    const headers = headersOf(body.api_key);
    const { answer } = await servers.open(echo, '/', headers);
    expect([answer.statusCode, await next(answer)]).toEqual([
      401,
      expect.stringContaining('API keys and access tokens of the service are not taken here'),
    ]);
    expect((await servers.text(echo, '/headers', { headers })).status).toBe(401);
  });
});

it.each([
  ['a session', () => String(ada.client.headers.authorization)],
  ['an application', () => `Bearer ${jwt({ typ: 'at+jwt' }, { iss: service.app.get(Config).baseUrl })}`],
  ['a sandbox', () => `Bearer atx_${'x'.repeat(43)}`],
])('a token of %s does not reach the program', async (_whose, authorization) => {
  const headers = { authorization: authorization() };
  expect((await servers.open(echo, '/', headers)).answer.statusCode).toBe(401);
  expect((await servers.text(echo, '/headers', { headers })).status).toBe(401);
});

it.each([
  jwt({ typ: 'JWT' }, { iss: 'https://theirs.example' }),
  jwt({ typ: 'JWT', alg: 'HS256' }, { iss: 'atelier', sub: 'theirs' }),
  'a.b.c',
  'e30.bnVsbA.x',
  'e30..',
  'atl_theirs',
])('what is theirs in Authorization reaches the program: %s', async token => {
  const headers = { authorization: `Bearer ${token}` };
  const { status, text } = await servers.text(echo, '/headers', { headers });
  expect([status, text]).toEqual([200, expect.stringContaining(token)]);
});

describe('a program that answers without end before its answer', () => {
  let endless: Json;
  beforeAll(async () => {
    await servers.write('endless/server.mjs', ENDLESS);
    endless = await servers.start('node server.mjs', { folder: 'endless' });
  });
  const isLeft = () =>
    ada.client.events(`/api/tunnels/${endless.id}/events`, {
      until: ({ data }) => data.text.includes('it has been left'),
    });

  it('is left after eight, and its visitor told', async () => {
    expect((await servers.text(endless)).status).toBe(502);
    expect((await servers.open(endless)).answer.statusCode).toBe(502);
    await isLeft();
  });
});

describe('those who may not', () => {
  it('are refused, and wake nothing', async () => {
    const closed = await servers.start('node server.mjs', { folder: 'echo', start: false }, 'workspace');
    await service.database.query(`update server set state = 'sleeping', wanted = 'running' where id = $1`, [
      closed.id,
    ]);
    expect((await servers.text(closed)).status).toBe(401);
    expect((await servers.open(closed)).answer.statusCode).toBe(401);
    expect((await ada.client.get(`/api/tunnels/${closed.id}`)).body.state).toBe('sleeping');
    const browser = new WebBrowser();
    const asked = await browser.open(`http://${closed.slug}.servers.localhost:${port}/`);
    const { email, password } = stranger;
    expect((await browser.submit(asked, '/hosting/enter/sign-in', { email, password })).status).toBe(403);
    expect((await ada.client.get(`/api/tunnels/${closed.id}`)).body.state).toBe('sleeping');
    await ada.client.delete(`/api/tunnels/${closed.id}`);
  });

  it('learn who they are, and the program with them, by a token for this host alone', async () => {
    const closed = await servers.start('node server.mjs', { folder: 'echo' }, 'workspace');
    await ada.client.put(`/api/tunnel-access/${closed.id}`, { mode: 'workspace', identity: 'profile' });
    const origin = `http://${closed.slug}.servers.localhost:${port}`;
    const browser = new WebBrowser();
    const asked = await browser.open(`${origin}/headers`);
    const { email, password } = ada;
    const shown = await browser.submit(asked, '/hosting/enter/sign-in', { email, password });
    const raw: string[] = JSON.parse(shown.text);
    const viewer = raw[raw.indexOf('X-Atelier-Viewer') + 1] ?? '';
    const jwks = await (await fetch(`${service.url}/hosting/jwks.json`)).json();
    const { payload } = await jwtVerify(viewer, createLocalJWKSet(jwks as never), { audience: origin });
    expect(payload).toMatchObject({ sub: ada.id, name: 'Ada', email: ada.email });
    expect(raw.join('\n')).not.toContain('atl_');
    await ada.client.delete(`/api/tunnels/${closed.id}`);
  });
});

describe('a program', () => {
  it('has the keys of viewers, and the actions of its list, with one line of bash', async () => {
    await servers.write(
      'tools/see.sh',
      `cat "$ATELIER_VIEWER_JWKS"; echo
actions run file_list '{"path": "echo"}'
exec sleep 1000`,
    );
    const { body } = await ada.client.post('/api/tunnels', {
      workspace_id: servers.workspace,
      name: 'Tools',
      slug: 'tools-of-ada',
      folder: 'tools',
      command: 'bash see.sh',
      actions: ['file_list'],
    });
    const log = await ada.client.events(`/api/tunnels/${body.id}/events`, {
      until: ({ data }) => data.text.includes('server.mjs'),
    });
    expect(log.map(({ data }) => data.text).join('')).toContain('"keys":[{');
    await ada.client.delete(`/api/tunnels/${body.id}`);
  });

  it('that ends by itself is told to who made it, once', async () => {
    const { body } = await ada.client.post('/api/tunnels', {
      workspace_id: servers.workspace,
      name: 'Frail',
      slug: 'frail',
      command: 'echo broken; exit 4',
      restart: 'never',
      start: false,
    });
    let { state } = (await ada.client.post(`/api/tunnels/${body.id}/start`, { wait: 60 })).body;
    while (state !== 'failed') ({ state } = (await ada.client.get(`/api/tunnels/${body.id}`)).body);
    await settled(service, 'notifications');
    const { items } = (await ada.client.get('/api/notifications?category=server')).body;
    expect(items.filter(({ data }: Json) => data.server_id === body.id)).toMatchObject([
      {
        type: 'server.failed',
        title: 'The server “Frail” is not started any more',
        body: expect.stringContaining('exit code 4'),
      },
    ]);
    await ada.client.delete(`/api/tunnels/${body.id}`);
  });
});

describe('while there is no process', () => {
  it('requests wait through restarts, and none fails', async () => {
    const server = await servers.start('node server.mjs', { folder: 'echo' });
    const seen = new Map<number, number>();
    let isOver = false;
    const asking = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const { status } = await servers.text(server, '/life');
        seen.set(status, (seen.get(status) ?? 0) + 1);
      }
    });
    const before = (await servers.text(server, '/life')).text;
    for (let at = 0; at < 2; at++)
      expect((await ada.client.post(`/api/tunnels/${server.id}/restart`, { wait: 60 })).body.state).toBe(
        'running',
      );
    isOver = true;
    await Promise.all(asking);
    expect([...seen.keys()]).toEqual([200]);
    expect((await servers.text(server, '/life')).text).not.toBe(before);
    await ada.client.delete(`/api/tunnels/${server.id}`);
  });

  it('requests wait for one that crashed, and for one that sleeps, which is started once', async () => {
    const server = await servers.start('node server.mjs', { folder: 'echo' });
    const now = async () => (await ada.client.get(`/api/tunnels/${server.id}`)).body;
    const stateIs = async (state: string) => (await now()).state === state;
    const first = (await now()).instance.started_at;
    await servers.text(server, '/exit');
    while ((await now()).instance?.started_at === first) await new Promise(done => setTimeout(done, 20));
    expect((await servers.text(server, '/life')).status).toBe(200);
    await ada.client.patch(`/api/tunnels/${server.id}`, { sleep_after_seconds: 1 });
    while (!(await stateIs('sleeping'))) await new Promise(done => setTimeout(done, 100));
    const { restarts } = (await ada.client.get(`/api/tunnels/${server.id}`)).body;
    expect(restarts).toBe(0);
    const from = (at: number) => ({ from: `127.0.0.${2 + (at % 5)}` });
    const answers = await Promise.all(
      Array.from({ length: 500 }, (_, at) => servers.text(server, '/life', from(at))),
    );
    expect([...new Set(answers.map(({ status, text }) => `${status} ${text}`))]).toHaveLength(1);
    expect(answers[0]?.status).toBe(200);
    await ada.client.delete(`/api/tunnels/${server.id}`);
  });

  it('a request by which the program ends is sent once', async () => {
    await servers.write(
      'frail/server.mjs',
      `import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
createServer((request, response) => {
  if (request.url === '/crash') { appendFileSync('asked.txt', 'x'); process.exit(1); }
  response.end('here');
}).listen(process.env.PORT);`,
    );
    const server = await servers.start('node server.mjs', { folder: 'frail' });
    expect((await servers.text(server)).text).toBe('here');
    for (let visits = 1; visits <= 2; visits++) {
      expect((await servers.text(server, '/crash')).status).toBe(502);
      const asked = await ada.client.get(
        `/api/workspaces/${servers.workspace}/files/content?path=frail/asked.txt`,
      );
      expect(asked.body.content).toBe('x'.repeat(visits));
      // The next ones wait until it is there again.
      expect((await servers.text(server)).status).toBe(200);
    }
    await ada.client.delete(`/api/tunnels/${server.id}`);
  });

  it('requests for one that is stopped are refused with a page', async () => {
    await ada.client.post(`/api/tunnels/${echo.id}/stop`, { wait: 60 });
    const { status, text } = await servers.text(echo, '/', { headers: { accept: 'text/html' } });
    expect([status, text]).toEqual([503, expect.stringContaining('This server is stopped')]);
    expect((await servers.open(echo)).answer.statusCode).toBe(503);
  });
});
