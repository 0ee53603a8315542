import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { GuardedFetch, PrivateHosts } from './index.js';

let server: Server;
let origin: string;
const seen: IncomingMessage[] = [];
const guards: GuardedFetch[] = [];

function guard(options: ConstructorParameters<typeof GuardedFetch>[0] = {}): GuardedFetch {
  const made = new GuardedFetch({ allows: address => address === '127.0.0.1', ...options });
  guards.push(made);
  return made;
}

const answers: Record<string, (response: ServerResponse) => void> = {
  '/text': response => response.end('hello'),
  '/inside': response => response.writeHead(302, { location: 'http://127.0.0.2:9999/' }).end(),
  '/to-file': response => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  '/loop': response => response.writeHead(307, { location: '/loop' }).end(),
  '/hop': response => response.writeHead(302, { location: '/text' }).end(),
  '/elsewhere': response =>
    response.writeHead(302, { location: `${origin.replace('127.0.0.1', 'localhost')}/text` }).end(),
  '/long': response => response.end('x'.repeat(2000)),
  '/endless': response => response.write('x'.repeat(2000)),
  '/bomb': response =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(100_000))),
  '/silent': () => undefined,
  '/crumbs': ({ socket }) =>
    void socket?.write(
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(60_000)}0\r\n\r\n`,
    ),
  '/hints': ({ socket }) =>
    void socket?.write(
      `${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(9)}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`,
    ),
};

beforeAll(async () => {
  server = createServer((request, response) => {
    seen.push(request);
    answers[request.url ?? '']?.(response);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await Promise.all(guards.map(made => made.close()));
  server.closeAllConnections();
  await new Promise(resolve => server.close(resolve));
});

describe('GuardedFetch', () => {
  it('fetches what the policy allows', async () => {
    const response = await guard().fetch(`${origin}/text`);
    expect([response.status, await response.text()]).toEqual([200, 'hello']);
  });

  it.each([
    'http://127.0.0.1',
    'http://localhost',
    'http://[::1]',
    'http://[::ffff:127.0.0.1]',
    'http://2130706433',
  ])('does not connect to %s by itself', async host => {
    const before = seen.length;
    const fetched = new GuardedFetch().fetch(`${host}:${new URL(origin).port}/text`);
    await expect(fetched).rejects.toMatchObject({ refusal: 'address' });
    expect(seen).toHaveLength(before);
  });

  it('refuses a name as soon as one of its addresses is not allowed', async () => {
    const nothing = guard({ allows: () => false });
    await expect(nothing.fetch(origin.replace('127.0.0.1', 'localhost'))).rejects.toMatchObject({
      refusal: 'address',
    });
  });

  it('checks the address behind a redirect again', async () => {
    await expect(guard().fetch(`${origin}/inside`)).rejects.toMatchObject({ refusal: 'address' });
    await expect(guard().fetch(`${origin}/to-file`)).rejects.toMatchObject({ refusal: 'scheme' });
  });

  it('follows redirects, so many of them', async () => {
    expect(await (await guard().fetch(`${origin}/hop`)).text()).toBe('hello');
    await expect(guard().fetch(`${origin}/loop`)).rejects.toMatchObject({ refusal: 'redirects' });
    expect((await guard().fetch(`${origin}/hop`, { redirect: 'manual' })).status).toBe(302);
  });

  it('leaves secrets behind when it is sent to another origin', async () => {
    const anywhere = guard({ allows: address => ['127.0.0.1', '::1'].includes(address) });
    await anywhere.fetch(`${origin}/elsewhere`, { headers: { authorization: 'Bearer x', accept: 'a/b' } });
    expect(seen.at(-2)?.headers.authorization).toBe('Bearer x');
    expect(seen.at(-1)?.headers).toMatchObject({ accept: 'a/b' });
    expect(seen.at(-1)?.headers.authorization).toBeUndefined();
  });

  it.each(['/long', '/endless', '/bomb'])('stops reading %s at the limit', async path => {
    const read = async () => (await guard({ maxBytes: 1000 }).fetch(origin + path)).text();
    await expect(read()).rejects.toMatchObject({ refusal: 'size' });
  });

  it('takes an answer in so many pieces, after so many interim answers', async () => {
    const fetch = guard({ maxBytes: 100_000 }).fetch;
    const response = await fetch(`${origin}/crumbs`);
    await expect(response.text()).rejects.toMatchObject({
      cause: { refusal: 'size', message: 'The answer comes in more than 50000 pieces' },
    });
    await expect(fetch(`${origin}/hints`)).rejects.toMatchObject({
      refusal: 'size',
      message: 'The server sends more than 8 interim answers',
    });
  });

  it('gives up on what does not answer', async () => {
    await expect(guard({ timeoutMs: 50 }).fetch(`${origin}/silent`)).rejects.toMatchObject({
      refusal: 'time',
    });
  });

  it('reaches the private places that are listed, and no other', async () => {
    const { port } = new URL(origin);
    const listed = (...entries: string[]) =>
      guard({ allows: undefined, privateHosts: PrivateHosts.parse(entries) });
    for (const entry of [`127.0.0.1:${port}`, '127.0.0.0/30'])
      expect((await listed(entry).fetch(`${origin}/text`)).status).toBe(200);
    expect((await listed(`localhost:${port}`).fetch(`http://localhost:${port}/text`)).status).toBe(200);
    for (const entry of ['127.0.0.1:1', `localhost:${port}`, '10.0.0.0/8']) {
      await expect(listed(entry).fetch(`${origin}/text`)).rejects.toMatchObject({ refusal: 'address' });
      expect(() => listed(entry).refuseUnreachable(new URL(origin.replace('http:', 'https:')))).toThrow(
        'not a public address',
      );
      expect(() => listed(entry).refuseUnreachable(new URL(origin))).toThrow('must begin with https://');
    }
  });

  it('reaches no metadata service, even where it is listed', () => {
    const all = PrivateHosts.parse(['0.0.0.0/0', '::/0', 'meta:80']);
    for (const address of [
      '169.254.169.254',
      '::ffff:169.254.169.254',
      'fd00:ec2::254',
      '64:ff9b::a9fe:a9fe',
    ])
      expect([address, all.allows(address, 'meta', '80')]).toEqual([address, false]);
    expect(all.allows('10.0.0.1', 'other', '80')).toBe(true);
    expect(all.lists(new URL('http://meta/'))).toBe(true);
    expect(all.lists(new URL('http://169.254.169.254/'))).toBe(false);
    expect(PrivateHosts.none.lists(new URL('http://10.0.0.1/'))).toBe(false);
  });

  it('keeps connections where it is asked to, and only to what it may connect to', async () => {
    const kept = guard();
    let connections = 0;
    server.on('connection', () => connections++);
    const made = async (keepAlive: boolean) => {
      connections = 0;
      for (let count = 0; count < 6; count++)
        await (await kept.fetch(`${origin}/text`, { keepAlive })).text();
      return connections;
    };
    expect(await made(false)).toBe(6);
    expect(await made(true)).toBeLessThan(6);
    const fetched = kept.fetch(`${origin.replace('127.0.0.1', '127.0.0.2')}/text`, { keepAlive: true });
    await expect(fetched).rejects.toMatchObject({ refusal: 'address' });
  });

  it('refuses other schemes, and credentials in the address', async () => {
    await expect(guard({ httpsOnly: true }).fetch(origin)).rejects.toMatchObject({ refusal: 'scheme' });
    await expect(guard().fetch('ftp://127.0.0.1/')).rejects.toMatchObject({ refusal: 'scheme' });
    await expect(guard().fetch(origin.replace('//', '//a:b@'))).rejects.toMatchObject({ refusal: 'scheme' });
  });
});
