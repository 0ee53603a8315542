import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcp, type Server as TcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type EgressConnection,
  EgressProxy,
  type EgressProxyOptions,
  normalizeEntry,
  normalizeHost,
  proxyVariables,
  relaySource,
  startRelay,
} from '#libs/egress-proxy/index.js';
import { isPublicAddress } from '#libs/guarded-fetch/index.js';
import { createSandbox } from '#libs/sandbox/index.js';
import { Exchanges } from './exchanges.js';

let folder: string;
let web: Server;
let echo: TcpServer;
let proxies: EgressProxy[];
let connections: EgressConnection[];
let refusals: string[];

const portOf = (server: TcpServer) => (server.address() as AddressInfo).port;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'egress-'));
  [proxies, connections, refusals] = [[], [], []];
  web = createServer((request, response) => {
    response.setHeader('x-seen', JSON.stringify([request.url, request.headers]));
    request.pipe(response);
    if (request.method === 'GET') response.end(`hello from ${request.headers.host}`);
  });
  echo = createTcp(socket => socket.pipe(socket));
  for (const server of [web, echo]) await new Promise<void>(done => server.listen(0, '127.0.0.1', done));
});
afterEach(async () => {
  for (const proxy of proxies) await proxy.close();
  web.closeAllConnections();
  for (const server of [web, echo]) await new Promise(done => server.close(done));
  rmSync(folder, { recursive: true, force: true });
});

async function start(options: Partial<EgressProxyOptions> = {}): Promise<EgressProxy> {
  const proxy = new EgressProxy({
    hosts: ['allowed.example', '*.wild.example'],
    forwarder: new Exchanges(),
    ports: [portOf(web), portOf(echo)],
    allows: () => true,
    resolve: async () => ['127.0.0.1'],
    onConnection: connection => connections.push(connection),
    onRefusal: ({ reason }) => refusals.push(reason),
    ...options,
  });
  proxies.push(proxy);
  await proxy.listen(join(folder, 'egress.sock'));
  return proxy;
}

/** Sends bytes as they are; resolves with all that comes back, of an echo until it has come. */
function send(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(join(folder, 'egress.sock'));
    let text = '';
    socket.on('data', chunk => {
      text += chunk.toString('latin1');
      if (/^HTTP\/1.1 200 .*ping$/s.test(text)) socket.end();
    });
    socket.on('error', reject).on('close', () => resolve(text));
    socket.write(Buffer.from(bytes, 'latin1'));
  });
}
const tunnel = (target: string, host = target) =>
  send(`CONNECT ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\nping`);

describe('the egress proxy', () => {
  it('connects to hosts that are listed, exactly or by their domain, however they are written', async () => {
    await start();
    const port = portOf(echo);
    for (const host of [
      'allowed.example',
      'ALLOWED.Example',
      'allowed.example.',
      'a.wild.example',
      'a.b.wild.example',
    ])
      expect([host, await tunnel(`${host}:${port}`)]).toEqual([
        host,
        expect.stringMatching(/^HTTP\/1.1 200 .*ping$/s),
      ]);
    expect(connections[0]).toMatchObject({ host: 'allowed.example', port, bytes_out: 4, bytes_in: 4 });
  });

  it.each([
    ['another host', 'other.example', 'other.example is not one of the hosts'],
    ['the domain of a pattern itself', 'wild.example', 'is not one of the hosts'],
    ['a host that only ends alike', 'evilallowed.example', 'is not one of the hosts'],
    ['a host that only ends like a domain', 'evilwild.example', 'is not one of the hosts'],
    ['a host that only begins alike', 'allowed.example.evil.test', 'is not one of the hosts'],
    ['localhost', 'localhost', 'localhost is not one of the hosts'],
    ['an address', '127.0.0.1', '127.0.0.1 is not one of the hosts'],
    ['an address of version 6', '[::1]', '::1 is not one of the hosts'],
    ['the metadata service', '169.254.169.254', '169.254.169.254 is not one of the hosts'],
    ['an address as one number', '2130706433', 'in a form that is not taken'],
    ['an address in hexadecimal', '0x7f.1', 'in a form that is not taken'],
    ['an address that leaves out parts', '127.1', 'in a form that is not taken'],
    ['a user name', 'allowed.example@other.example', 'is no host name'],
    ['an encoded character', 'allowed.example%00.evil.test', 'is no host name'],
    ['two dots at the end', 'allowed.example..', 'is no host name'],
    ['characters outside of ASCII', '\xe4llowed.example', /is no host name|no request/],
    ['a NUL', 'allowed.example\0.evil.test', /is no host name|no request/],
    ['nothing', '', /does not name a host|is no host name|no request/],
  ])('refuses %s', async (_name, host, sentence) => {
    await start();
    const said = await tunnel(`${host}:${portOf(echo)}`, '');
    expect(said).toMatch(/^HTTP\/1.1 403 /);
    expect(said).toMatch(sentence);
    expect(connections).toEqual([]);
  });

  it('refuses other ports, two hosts in one request, and addresses that are not public', async () => {
    const proxy = await start({ allows: isPublicAddress });
    expect(await tunnel('allowed.example:22')).toContain('Port 22 of allowed.example may not be reached');
    expect(await tunnel(`allowed.example:${portOf(web)}`, 'a.wild.example')).toContain('names another host');
    expect(await tunnel(`allowed.example:${portOf(web)}`)).toContain('leads to an address that is not one');
    expect(refusals).toEqual(['port', 'host', 'address']);
    await proxy.close();
    for (const address of [
      '169.254.169.254',
      '10.0.0.1',
      '::ffff:127.0.0.1',
      '::7f00:1',
      '64:ff9b::7f00:1',
      'fd00::1',
    ]) {
      const other = await start({ allows: isPublicAddress, resolve: async () => ['93.184.215.14', address] });
      expect([address, await tunnel(`allowed.example:${portOf(web)}`)]).toEqual([
        address,
        expect.stringContaining('leads to an address'),
      ]);
      await other.close();
    }
  });

  it('looks a name up once, and connects to what it has checked', async () => {
    let asked = 0;
    await start({
      allows: address => address === '127.0.0.1',
      resolve: async () => [asked++ === 0 ? '127.0.0.1' : '127.0.0.2'],
    });
    expect(await tunnel(`allowed.example:${portOf(echo)}`)).toContain('ping');
    expect(asked).toBe(1);
    expect(await tunnel(`allowed.example:${portOf(echo)}`)).toContain('leads to an address');
  });

  it('forwards plain requests, to the host that they name and no other', async () => {
    await start();
    const url = `http://allowed.example:${portOf(web)}/a?b=c`;
    const own = 'Proxy-Authorization: secret\r\nConnection: x-private\r\nX-Private: 1\r\nX-Kept: 2\r\n';
    const said = await send(`GET ${url} HTTP/1.1\r\nHost: allowed.example:${portOf(web)}\r\n${own}\r\n`);
    expect(said).toMatch(/^HTTP\/1.1 200 /);
    expect(said).toContain(`hello from allowed.example:${portOf(web)}`);
    expect(said).toContain('/a?b=c');
    expect(said).toContain('"x-kept":"2"');
    expect(said).not.toMatch(/secret|x-private":/);
    expect(await send(`GET ${url} HTTP/1.1\r\nHost: other.example\r\n\r\n`)).toContain('names another host');
    expect(await send('GET / HTTP/1.1\r\nHost: allowed.example\r\n\r\n')).toContain('This is a proxy');
    expect(await send('GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n')).toMatch(
      /403.*not one of/s,
    );
    expect(await send('nonsense\r\n\r\n')).toContain('no request that a proxy understands');
  });

  it('forwards one plain request of a connection, and closes it', async () => {
    await start();
    const host = `allowed.example:${portOf(web)}`;
    const said = await send(`GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(3));
    expect(said.match(/^HTTP\/1\.1 200 OK\r$/gm)).toHaveLength(1);
    expect(said).toMatch(/^connection: close\r$/im);
    expect(connections).toHaveLength(1);
  });

  it('is not kept busy by a server that answers without end before its answer', async () => {
    const endless = createTcp(socket => {
      const many = 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(2000);
      const more = () => {
        while (!socket.destroyed && socket.write(many));
      };
      socket
        .on('drain', more)
        .on('error', () => {})
        .once('data', more);
    });
    await new Promise<void>(done => endless.listen(0, '127.0.0.1', done));
    await start({ ports: [portOf(endless)] });
    const host = `allowed.example:${portOf(endless)}`;
    const said = await send(`GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    expect(said.match(/ 100 Continue/g)).toHaveLength(8);
    expect(said).toMatch(/^HTTP\/1\.1 502 .*more than 8 answers/ms);
    await new Promise(done => endless.close(done));
  });

  it('takes so many connections of a sandbox and no more, each for a while without a request', async () => {
    await start({ maxConnections: 4, requestTimeoutMs: 1_000 });
    const clients = Array.from({ length: 100 }, () => connect(join(folder, 'egress.sock')).resume());
    let open = clients.length;
    const below = (count: number) =>
      new Promise<void>(resolve => {
        const look = () => void (open < count && resolve());
        look();
        for (const client of clients) client.on('close', look);
      });
    for (const client of clients)
      client
        .on('error', () => {})
        .prependListener('close', () => {
          open--;
        });
    await below(21);
    expect(open).toBeGreaterThan(0);
    await below(1);
    expect(await tunnel(`allowed.example:${portOf(echo)}`)).toContain('ping');
  });

  it('forgets clients that it has refused', async () => {
    await start({ maxConnections: 1 });
    for (let n = 0; n < 40; n++) {
      const client = connect(join(folder, 'egress.sock'));
      client.write('CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n');
      await once(client.resume(), 'end');
      client.destroy();
    }
    expect(await tunnel(`allowed.example:${portOf(echo)}`)).toContain('ping');
  });

  it('says that there are too many connections to hosts', async () => {
    await start({ maxConnections: 1 });
    const first = connect(join(folder, 'egress.sock'));
    first.write(`CONNECT allowed.example:${portOf(echo)} HTTP/1.1\r\nHost: allowed.example\r\n\r\n`);
    await once(first, 'data');
    expect(await tunnel(`allowed.example:${portOf(echo)}`)).toContain('There are 1 connections already');
    first.destroy();
    // The proxy hears of it a moment later.
    for (let said = ''; !said.includes('ping'); ) said = await tunnel(`allowed.example:${portOf(echo)}`);
  });

  it('follows a change of the list: connections to hosts that are listed no more end, others go on', async () => {
    const proxy = await start();
    const open = async (host: string) => {
      const socket = connect(join(folder, 'egress.sock')).setEncoding('latin1');
      const read = () => new Promise<string>(resolve => socket.once('data', resolve));
      socket.write(`CONNECT ${host}:${portOf(echo)} HTTP/1.1\r\nHost: ${host}:${portOf(echo)}\r\n\r\n`);
      expect(await read()).toContain('200 Connection established');
      return { socket, read };
    };
    const [kept, ended] = [await open('a.wild.example'), await open('allowed.example')];
    const closed = new Promise(resolve => ended.socket.once('close', resolve));
    proxy.setHosts(['*.wild.example', 'new.example']);
    await closed;
    kept.socket.write('still');
    expect(await kept.read()).toBe('still');
    kept.socket.destroy();
    expect(await tunnel(`allowed.example:${portOf(echo)}`)).toContain('is not one of the hosts');
    expect(await tunnel(`new.example:${portOf(echo)}`)).toContain('ping');
  });

  it('refuses a host that is taken off the list while it is looked up', async () => {
    const proxy = await start({
      resolve: async () => {
        proxy.setHosts([]);
        return ['127.0.0.1'];
      },
    });
    expect(await tunnel(`allowed.example:${portOf(echo)}`)).toContain('is not one of the hosts');
    expect(refusals).toEqual(['not_listed']);
  });

  it('lets through so many bytes and no more', async () => {
    await start({ maxBytes: 6 });
    expect(await tunnel(`allowed.example:${portOf(echo)}`)).not.toContain('pingping');
    await tunnel(`allowed.example:${portOf(echo)}`);
    expect(await tunnel(`allowed.example:${portOf(echo)}`)).toContain('which is all that is allowed');
  });

  it('tells of a name that is not found and of a host that does not answer', async () => {
    const missing = await start({
      resolve: () => Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' })),
    });
    expect(await tunnel(`allowed.example:${portOf(echo)}`)).toContain('was not found (ENOTFOUND)');
    await missing.close();
    await start({ ports: [1] });
    expect(await tunnel('allowed.example:1')).toContain('does not answer on port 1');
  });

  it('has one form for each entry of a list', () => {
    expect(['*.PyPI.org', 'b\u00fccher.example', 'A.example.'].map(normalizeEntry)).toEqual([
      '*.pypi.org',
      'xn--bcher-kva.example',
      'a.example',
    ]);
    for (const wrong of [
      '*',
      '*.com',
      '',
      'a b',
      'http://a.example',
      'a.example:443',
      '*.1.2.3.4',
      'a*.example',
    ])
      expect(() => normalizeEntry(wrong)).toThrow();
    expect(() => normalizeHost('b\u00fccher.example')).toThrow('outside of ASCII');
  });

  it('serves a sandbox that has no other way out', async () => {
    await start();
    writeFileSync(join(folder, 'relay.cjs'), relaySource);
    const owner = process.getuid?.() === 0 ? { uid: 200_012, gid: 200_012 } : undefined;
    const workspace = mkdtempSync(join(tmpdir(), 'egress-ws-'));
    if (owner)
      for (const one of [folder, workspace, join(folder, 'egress.sock')])
        chownSync(one, owner.uid, owner.gid);
    chmodSync(folder, 0o755);
    const node = { from: process.execPath, to: '/opt/node/bin/node' };
    const sandbox = createSandbox('bubblewrap', { readOnlyBinds: [node] });
    const port = portOf(web);
    const script = [
      startRelay('/opt/node/bin/node', '/run/egress'),
      `curl -sS http://allowed.example:${port}/x; echo`,
      `curl -sS http://other.example/; curl -sS -p http://allowed.example:${port}/tunnelled; echo`,
      `curl -sS --noproxy '*' --connect-timeout 60 http://127.0.0.1:${port}/ || echo no way around`,
      `node -e 'fetch("http://allowed.example:${port}/y").then(r => r.text()).then(console.log)'`,
      'rm -f /run/egress/egress.sock; wait',
    ].join('\n');
    const { stdout, stderr } = await sandbox.run({
      workspace,
      owner,
      argv: ['bash', '-c', script],
      env: proxyVariables(),
      readOnlyBinds: [{ from: folder, to: '/run/egress' }],
    });
    rmSync(workspace, { recursive: true });
    expect(stdout.split('\n')).toEqual([
      `hello from allowed.example:${port}`,
      expect.stringMatching(/^other.example is not one of the hosts that may be reached from here/),
      `hello from allowed.example:${port}`,
      'no way around',
      `hello from allowed.example:${port}`,
      '',
    ]);
    expect(stderr).toMatch(/Read-only file system/);
  });
});
