import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connected, getRaw, sendRaw } from '../../harness/raw-http.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person();
});
afterAll(async () => {
  await service.stop();
});

const HEAD = 'Host: localhost\r\nConnection: close\r\n';

describe('a request that is no HTTP', () => {
  it.each([
    ['a malformed line', 'NONSENSE\r\n\r\n', 400],
    ['an unknown method', `FROB / HTTP/1.1\r\n${HEAD}\r\n`, 400],
    ['no host', 'GET /api/health HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['two hosts', `GET /api/health HTTP/1.1\r\n${HEAD}Host: share.localhost\r\n\r\n`, 400],
    ['headers that are too large', `GET / HTTP/1.1\r\n${HEAD}X-Large: ${'x'.repeat(100_000)}\r\n\r\n`, 431],
    ['two lengths', `POST /api/keys HTTP/1.1\r\n${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, 400],
    ['another expectation', `POST /api/keys HTTP/1.1\r\n${HEAD}Expect: wonders\r\n\r\n`, 417],
    ['a malformed escape', `GET /api/%zz HTTP/1.1\r\n${HEAD}\r\n`, 400],
    [
      'a malformed chunk',
      `POST /api/auth/login HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
      400,
    ],
  ])('%s is refused with a sentence', async (_, bytes, status) => {
    const answer = await sendRaw(service.url, bytes);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(Object.entries(JSON.parse(answer.body))).toEqual([['detail', expect.stringMatching(/^\w.+/)]]);
  });

  it('does not break into an answer that has begun', async () => {
    const socket = await connected(service.url);
    const workspace = await service.workspace(ada);
    const chunks: Buffer[] = [];
    socket.on('data', chunk => chunks.push(chunk)).on('error', () => undefined);
    const closed = new Promise(resolve => socket.once('close', resolve));
    socket.write(
      `GET /api/workspaces/${workspace}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${ada.client.headers.authorization}\r\n\r\n`,
    );
    while (!Buffer.concat(chunks).includes('\r\n\r\n')) await sleep(20);
    socket.write('NONSENSE\r\n\r\n');
    await closed;
    expect(Buffer.concat(chunks).toString()).not.toContain('detail');
  });
});

describe('a method that a path does not take', () => {
  it.each([
    ['DELETE', '/api/auth/login', 'POST, OPTIONS'],
    ['POST', '/api/health', 'GET, HEAD, OPTIONS'],
    ['PUT', '/api/workspaces/00000000-0000-4000-8000-000000000000', 'GET, HEAD, PATCH, DELETE, OPTIONS'],
    ['PUT', '/%61pi/keys', 'GET, HEAD, POST, OPTIONS'],
  ])('%s %s is refused with those that it does', async (method, path, allow) => {
    const { status, headers, body } = await ada.client.json(method, path);
    expect([status, headers.get('allow')]).toEqual([405, allow]);
    expect(body).toEqual({ detail: expect.stringContaining(`does not take ${method}`) });
    const options = await service.stranger.raw('OPTIONS', path);
    expect([options.status, options.headers.get('allow'), await options.text()]).toEqual([204, allow, '']);
  });

  it('is not told of paths that are unknown', async () => {
    expect((await ada.client.delete('/api/nothing')).status).toBe(404);
    expect((await service.stranger.raw('OPTIONS', '/api/nothing')).status).toBe(404);
  });
});

describe('headers for browsers', () => {
  it.each([
    '/api/health',
    '/api/keys',
    '/api/openapi.json',
    '/nothing',
    '/docs',
    '/docs/swagger-ui.css',
    '/oauth/jwks',
  ])('stand on %s', async path => {
    const { headers } = await service.stranger.raw('GET', path);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('strict-transport-security')).toBeNull();
  });
});

it.each(['/api/auth/me', '/api/workspaces', '/api/health', '/api/nothing', '/mcp', '/oauth/jwks'])(
  'no cache on the way keeps the answer of %s to a key',
  async path => {
    const { headers } = await (await service.key(ada)).raw('GET', path);
    expect(headers.get('cache-control')).toBe('no-store');
  },
);

describe('the address of the service', () => {
  const metadata = '/.well-known/oauth-authorization-server';

  it('is not what a request says', async () => {
    const headers = { host: 'evil.test', 'x-forwarded-host': 'evil.test' };
    const { status, body } = await getRaw(service.url, metadata, headers);
    expect(status).toBe(200);
    expect(body).not.toContain('evil');
    expect(JSON.parse(body).token_endpoint).toMatch(/^http:\/\/localhost/);
  });

  it('may be any name that a machine has for itself', async () => {
    const { body } = await getRaw(service.url, metadata, { host: '127.0.0.1:3000' });
    expect(JSON.parse(body).token_endpoint).toBe('http://127.0.0.1:3000/oauth/token');
  });
});

it('serves MCP with a slash at the end, too', async () => {
  const key = await service.key(ada);
  const { status, body } = await key
    .with({ accept: 'application/json, text/event-stream' })
    .post('/mcp/', { jsonrpc: '2.0', id: 1, method: 'ping' });
  expect([status, body]).toEqual([200, { jsonrpc: '2.0', id: 1, result: {} }]);
  expect((await service.stranger.post('/mcp/', {})).status).toBe(401);
});

describe('behind HTTPS', () => {
  let secure: TestService;
  beforeAll(async () => {
    secure = await TestService.start({ PUBLIC_URL: 'https://atelier.test' });
  });
  afterAll(() => secure.stop());

  it('browsers are told to stay with HTTPS', async () => {
    for (const path of ['/api/health', '/docs', '/nothing', '/oauth/jwks']) {
      const { headers } = await secure.stranger.raw('GET', path);
      expect(headers.get('strict-transport-security')).toBe('max-age=31536000');
    }
  });

  it('addresses are below PUBLIC_URL, whatever a request says', async () => {
    for (const host of ['evil.test', 'localhost']) {
      const path = '/.well-known/oauth-authorization-server';
      const { body } = await getRaw(secure.url, path, { host, 'x-forwarded-host': host });
      expect(JSON.parse(body).token_endpoint).toBe('https://atelier.test/oauth/token');
      expect(body).not.toContain(host);
    }
  });
});
