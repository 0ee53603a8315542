import { execFileSync } from 'node:child_process';
import { randomBytes, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import { CertificateAuthority, normalizePrefix, RuleSet } from '#libs/egress-proxy/index.js';
import { certificateFor, InspectingProxy, portOf, ruleFor, startTls, textOf } from './inspection.fixture.js';

const SECRET = 'ghs_a-secret-that-must-not-be-seen';
const API = 'api.example';
const OTHER = 'other.example';
const MiB = 1024 * 1024;

const identity = certificateFor([`DNS:${API}`, `DNS:${OTHER}`, 'DNS:second.example']);
let server: Server;
let port: number;
let started: InspectingProxy[];
/** Requests as the server saw them. */
let seen: { line: string; headers: string[] }[];
let answer: (request: IncomingMessage, response: ServerResponse) => void;

beforeEach(async () => {
  [seen, started] = [[], []];
  answer = (request, response) => {
    request.resume().once('end', () => response.end('fine'));
  };
  server = await startTls(identity, (request, response) => {
    const { method, url, httpVersion, rawHeaders } = request;
    seen.push({ line: `${method} ${url} ${httpVersion}`, headers: rawHeaders });
    answer(request, response);
  });
  port = portOf(server);
});
afterEach(async () => {
  for (const one of started) await one.stop();
  server.close().closeAllConnections();
});

async function start(
  rules = [ruleFor(port, SECRET)],
  options: Parameters<typeof InspectingProxy.start>[2] = {},
  trusted = [identity.cert],
): Promise<InspectingProxy> {
  const proxy = await InspectingProxy.start(rules, trusted, { ports: [port], ...options });
  started.push(proxy);
  return proxy;
}

const get = (path: string, ...headers: string[]) =>
  [`GET ${path} HTTP/1.1`, `Host: ${API}:${port}`, 'Connection: close', ...headers, '', ''].join('\r\n');

/** All values of a header that the server saw. */
const valuesOf = (name: string, { headers } = seen[0] ?? { headers: [] }): string[] =>
  headers.filter((_value, at) => at % 2 === 1 && headers[at - 1]?.toLowerCase() === name);

describe('the authority of a sandbox', () => {
  it('issues certificates for names and addresses that openssl and Node accept', () => {
    const authority = new CertificateAuthority('Atelier sandbox');
    const folder = mkdtempSync(join(tmpdir(), 'authority-'));
    writeFileSync(join(folder, 'ca.pem'), authority.certificate);
    for (const [host, option] of [
      [API, '-verify_hostname'],
      ['127.0.0.2', '-verify_ip'],
      ['2001:db8::7', '-verify_ip'],
      ['::ffff:10.1.2.3', '-verify_ip'],
    ] as const) {
      const leaf = authority.leafFor(host);
      writeFileSync(join(folder, 'leaf.pem'), leaf);
      const said = execFileSync(
        'openssl',
        ['verify', '-x509_strict', '-purpose', 'sslserver', '-CAfile', 'ca.pem', option, host, 'leaf.pem'],
        { cwd: folder, encoding: 'utf8' },
      );
      expect(said.trim()).toBe('leaf.pem: OK');
      const { ca, issuer } = new X509Certificate(leaf);
      expect([ca, issuer]).toEqual([false, 'CN=Atelier sandbox']);
    }
    expect(new X509Certificate(authority.certificate).ca).toBe(true);
    expect(new CertificateAuthority('x').leafFor(API)).not.toBe(authority.leafFor(API));
    rmSync(folder, { recursive: true });
  });
});

describe('a rule', () => {
  it('puts its header into requests that keep to it, in place of all that the client calls alike', async () => {
    const proxy = await start();
    const own = [
      'Authorization: Bearer mine',
      'AUTHORIZATION: Basic mine',
      'authorization:mine',
      'Authorization_: x',
    ];
    const text = await proxy.raw(
      API,
      port,
      get('/repos/a?token=1', ...own, 'Connection: authorization', 'X-Kept: 1'),
    );
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n.*fine$/s);
    expect(text).not.toContain(SECRET);
    expect(seen).toHaveLength(1);
    expect(seen[0]?.line).toBe('GET /repos/a?token=1 1.1');
    expect(valuesOf('authorization')).toEqual([`Bearer ${SECRET}`]);
    expect([valuesOf('x-kept'), valuesOf('accept-encoding'), valuesOf('host')]).toEqual([
      ['1'],
      ['identity'],
      [`${API}:${port}`],
    ]);
    expect(seen[0]?.headers.join()).not.toMatch(/forwarded|mine/i);
    expect(proxy.uses).toEqual([
      expect.objectContaining({
        host: API,
        port,
        method: 'GET',
        path: '/',
        status: 200,
        bytes_in: 4,
      }),
    ]);
  });

  it('does not take an underscore for another header', async () => {
    const proxy = await start([ruleFor(port, SECRET, { header: 'X-Api-Key' })]);
    await proxy.raw(API, port, get('/', 'X_Api_Key: mine', 'x-api_key: mine'));
    expect(seen[0]?.headers.join()).not.toContain('mine');
    expect(valuesOf('x-api-key')).toEqual([`Bearer ${SECRET}`]);
  });

  it.each([
    ['another path', 'GET', '/other', 'only GET, POST, PUT below /repos/ada'],
    ['a path that only begins alike', 'GET', '/repos/adam', 'not permitted from here'],
    ['another method', 'DELETE', '/repos/ada', 'DELETE of this path'],
    ['a path that leads out', 'GET', '/repos/ada/../bob', 'has ".."'],
    ['a path that leads out in the end', 'GET', '/repos/ada/..', 'has ".."'],
    ['a path that leads out with parameters', 'GET', '/repos/ada/..;x/bob', 'has ".."'],
    ['a path that leads out by encoded slashes', 'GET', '/repos/ada/..%2fbob', 'has ".."'],
    ['a path that leads out in the end by one', 'GET', '/repos/ada/x%2F..', 'has ".."'],
    ['an encoded slash for one of a prefix', 'GET', '/repos%2fada/x', 'not permitted from here'],
    ['an encoded slash after a prefix', 'GET', '/repos/ada%2fx', 'not permitted from here'],
    ['a slash that is encoded twice', 'GET', '/repos/ada/x%252f..%252fbob', 'an escape within an escape'],
    ['an encoded dot', 'GET', '/repos/ada/%2e%2E/bob', 'encoded dot or backslash'],
    ['an encoded percent sign', 'GET', '/repos/ada/%252e%252e/bob', 'an escape within an escape'],
    ['a dot in a form that is too long', 'GET', '/repos/ada/%c0%ae%c0%ae/bob', 'begins no UTF-8 character'],
    ['a segment with a parameter', 'GET', '/repos/ada/..;/bob', 'has ".."'],
    ['an encoded semicolon', 'GET', '/repos/ada/..%3b/bob', 'has ".."'],
    ['an empty segment', 'GET', '/repos/ada//bob', 'empty segments'],
    ['a parameter of another method', 'POST', '/repos/ada?a=1&_method=DELETE', 'another method than POST'],
    ['the same after a semicolon', 'POST', '/repos/ada?a=1;_HttpMethod=patch', 'another method than POST'],
    ['a parameter that is a method', 'GET', '/repos/ada?method=delete', 'another method than GET'],
    ['a backslash', 'GET', '/repos/ada\\..\\bob', 'encoded dot or backslash'],
    ['a package of another scope', 'GET', '/@adam%2ftool', 'not permitted from here'],
    ['a fragment', 'GET', '/repos/ada#/x', 'characters that a path has not'],
    ['an address in full', 'GET', 'https://other.example/repos/ada', 'characters that a path has not'],
    ['all of the server', 'OPTIONS', '*', 'characters that a path has not'],
    ['TRACE', 'TRACE', '/repos/ada', 'TRACE does not get a credential'],
  ])('refuses %s', async (_name, method, path, said) => {
    const proxy = await start([ruleFor(port, SECRET, { paths: ['/repos/ada/'] })]);
    const text = await proxy.raw(API, port, get(path).replace('GET', method));
    expect(text).toMatch(/^HTTP\/1\.1 40[03] /);
    expect(text).toContain(said);
    expect(seen).toEqual([]);
  });

  it.each([
    'X-HTTP-Method-Override: DELETE',
    'x_http_method: DELETE',
    'X-Method-Override: DELETE',
    'X-Original-URL: /other',
    'X-Rewrite-Url: /other',
    'X-Original-URI: /other',
    'X-Envoy-Original-Path: /other',
    'X-Forwarded-Prefix: /other',
    'X-Forwarded-Host: other.example',
    'X-HTTP-DestinationURL: https://other.example/',
    'X-Host: other.example',
  ])('refuses a header that names another request: %s', async header => {
    const proxy = await start();
    expect(await proxy.raw(API, port, get('/repos/ada', header))).toMatch(
      /^HTTP\/1\.1 403 .*names another request/s,
    );
    expect(seen).toEqual([]);
  });

  it('lets through headers and parameters that only look like it', async () => {
    const proxy = await start();
    const headers = [
      'X-Callback-Url: https://a.example',
      'X-Url: a',
      'X-Request-Id: 1',
      'X-Forwarded-For: ::1',
    ];
    const text = await proxy.raw(API, port, get('/a?method=flickr.photos&_method=get', ...headers));
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('permits what is below its paths', async () => {
    const proxy = await start([ruleFor(port, SECRET, { paths: ['repos//ada/', '/me'] })]);
    for (const path of ['/repos/ada', '/repos/ada?x=/../y', '/repos/ada/x%20y', '/me/', '/me/..x%2fy'])
      expect([path, await proxy.raw(API, port, get(path))]).toEqual([
        path,
        expect.stringContaining('200 OK'),
      ]);
    expect(proxy.uses.map(({ path }) => path)).toEqual([
      '/repos/ada',
      '/repos/ada',
      '/repos/ada',
      '/me',
      '/me',
    ]);
    expect(() => normalizePrefix('/a/../b')).toThrow('has ".."');
    expect(() => normalizePrefix('/a?b')).toThrow('more than a path');
    expect(() => normalizePrefix('/a%2fb')).toThrow('write it out');
  });

  it('permits names with an encoded slash below its paths, and packages of a scope that a path names', async () => {
    const proxy = await start([
      ruleFor(port, SECRET, { paths: ['/projects', '/@ada', '/npm/@ada/tool', '/repos/ada'] }),
    ]);
    const sent = ['/projects/ada%2Fsite/issues', '/@ada%2ftool', '/npm/@ada%2Ftool/-/tool-1.0.0.tgz'];
    for (const path of sent)
      expect([path, await proxy.raw(API, port, get(path))]).toEqual([
        path,
        expect.stringContaining('200 OK'),
      ]);
    // As they were written.
    expect(seen.map(({ line }) => line)).toEqual(sent.map(path => `GET ${path} 1.1`));
    expect(proxy.uses.map(({ path }) => path)).toEqual(['/projects', '/@ada', '/npm/@ada/tool']);
  });

  it('opens its host at its port over https alone', async () => {
    const proxy = await start([ruleFor(port, SECRET)], { hosts: [API] });
    await expect(proxy.tunnel(API, 443)).rejects.toThrow('may not be reached from here');
    const plain = await fromSocket(
      proxy,
      `GET http://${API}:${port}/ HTTP/1.1\r\nHost: ${API}:${port}\r\n\r\n`,
    );
    expect(plain).toContain('is reached over https alone');
    await expect(proxy.tunnel(OTHER, port)).rejects.toThrow('is not one of the hosts');
    expect(seen).toEqual([]);
  });

  it('leaves other hosts alone: their own certificate is seen, and no header is added', async () => {
    const proxy = await start([ruleFor(port, SECRET)], { hosts: [OTHER] });
    const socket = await proxy.secured(OTHER, port, identity.cert);
    expect(socket.getPeerCertificate().subject.CN).toBe('test');
    socket.write(get('/').replace(API, OTHER));
    expect(await textOf(socket)).toContain('fine');
    expect(valuesOf('authorization')).toEqual([]);
    const inspected = await proxy.secured(API, port);
    expect(inspected.getPeerCertificate().issuer.CN).toBe('Sandbox of a test');
    inspected.destroy();
  });

  it('is one for each header of a host', () => {
    const one = ruleFor(443, 'a', { header: 'X-Key' });
    expect(() => new RuleSet([one, { ...one, key: 'b', header: 'x_key' }])).toThrow('Two credentials');
    expect(() => new RuleSet([one, { ...one, key: 'b', header: 'Authorization' }])).not.toThrow();
  });

  it('sends no credential to a server that cannot prove its name', async () => {
    const stranger = certificateFor(['DNS:stranger.example']);
    for (const trusted of [[], [stranger.cert]]) {
      const proxy = await start(undefined, {}, trusted);
      expect(await proxy.raw(API, port, get('/'))).toMatch(
        /^HTTP\/1\.1 502 .*its TLS failed \((DEPTH|SELF|UNABLE)/s,
      );
    }
    const wrong = await start([ruleFor(port, SECRET, { host: 'third.example' })]);
    expect(await wrong.raw('third.example', port, get('/').replace(API, 'third.example'))).toContain(
      'ERR_TLS_CERT_ALTNAME_INVALID',
    );
    expect(seen).toEqual([]);
  });

  it('leads to permitted addresses alone', async () => {
    const proxy = await start(undefined, { allows: () => false });
    expect(await proxy.raw(API, port, get('/'))).toMatch(/^HTTP\/1\.1 403 .*leads to an address/s);
  });

  it('ends connections when it changes, also those that it takes from the list', async () => {
    const proxy = await start([ruleFor(port, SECRET)], { hosts: [OTHER] });
    answer = (_request, response) => void response.write('begun');
    const [inspected, blind] = [
      await proxy.secured(API, port),
      await proxy.secured(OTHER, port, identity.cert),
    ];
    inspected.write(get('/'));
    await once(inspected, 'data');
    const both = [textOf(inspected), textOf(blind)];
    proxy.proxy.setRules([ruleFor(port, SECRET), ruleFor(port, SECRET, { key: 'other', host: OTHER })]);
    await both[1];
    expect(inspected.destroyed).toBe(false);
    proxy.proxy.setRules([]);
    await both[0];
    await expect(proxy.tunnel(API, port)).rejects.toThrow('is not one of the hosts');
  });

  it('is asked for the credential at each request, and tells why there is none', async () => {
    let version = 0;
    const value = async () => ({ header: `Bearer ${++version}`, secrets: [] });
    const proxy = await start([ruleFor(port, SECRET, { value })]);
    const both = get('/a').replace('Connection: close\r\n', '') + get('/b');
    expect(await proxy.raw(API, port, both)).toMatch(/fine.*fine/s);
    expect(seen.map(one => valuesOf('authorization', one))).toEqual([['Bearer 1'], ['Bearer 2']]);
  });
});

const base64 = (text: string, alphabet: 'base64' | 'base64url') => Buffer.from(text).toString(alphabet);
const letter = (code: number) => String.fromCharCode(code);
const escaped = (by: (code: number, at: number) => string) =>
  [...Buffer.from(SECRET)].map((code, at) => by(code, at)).join('');

/** Sends bytes to the proxy itself. */
async function fromSocket(proxy: InspectingProxy, bytes: string): Promise<string> {
  const { connect } = await import('node:net');
  const socket = connect(join(proxy.folder, 'egress.sock'));
  socket.write(bytes);
  socket.once('data', () => socket.end());
  return textOf(socket);
}

describe('requests that two programs could read in two ways', () => {
  const post = (...lines: string[]) => ['POST /x HTTP/1.1', `Host: ${API}:${port}`, ...lines].join('\r\n');

  it.each([
    ['two lengths', () => post('Content-Length: 1', 'Content-Length: 2', '', 'ab')],
    ['a length and chunks', () => post('Content-Length: 5', 'Transfer-Encoding: chunked', '', '0', '', '')],
    ['another coding', () => post('Transfer-Encoding: gzip, chunked', '', '0', '', '')],
    ['a folded line', () => post('X-Long: a', ' Authorization: b', 'Content-Length: 0', '', '')],
    ['a folded credential', () => post('Authorization: a', '\tb', 'Content-Length: 0', '', '')],
    ['a space before a colon', () => post('Authorization : a', 'Content-Length: 0', '', '')],
    ['a bare line feed', () => post('X: a\nAuthorization: b', 'Content-Length: 0', '', '')],
    ['a bare carriage return', () => post('X: a\rAuthorization: b', 'Content-Length: 0', '', '')],
    ['NUL in a header', () => post('X: a\0b', 'Content-Length: 0', '', '')],
    ['two hosts', () => post(`Host: ${OTHER}`, 'Content-Length: 0', '', '')],
    ['another host', () => get('/').replace(`Host: ${API}`, `Host: ${OTHER}`)],
    ['another port of the host', () => get('/').replace(`${API}:${port}`, `${API}:1`)],
    ['no host', () => 'GET / HTTP/1.1\r\n\r\n'],
    ['HTTP/1.0 without a host', () => 'GET / HTTP/1.0\r\n\r\n'],
    ['HTTP/1.0 with chunks', () => get('/', 'Transfer-Encoding: chunked').replace('HTTP/1.1', 'HTTP/1.0')],
    ['HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['another version', () => get('/').replace('HTTP/1.1', 'HTTP/1.2')],
    ['a chunk with a wrong size', () => post('Transfer-Encoding: chunked', '', '0x1', 'a', '0', '', '')],
    ['an upgrade', () => get('/', 'Upgrade: websocket').replace('close', 'Upgrade')],
    ['nothing of HTTP', () => 'SSH-2.0-OpenSSH\r\n\r\n'],
  ])('are refused: %s', async (_name, bytes) => {
    const proxy = await start();
    const text = await proxy.raw(API, port, bytes());
    expect(text).toMatch(/^HTTP\/1\.1 4\d\d /);
    // A chunk is read after its request has begun.
    for (const one of seen)
      expect([one.line, valuesOf('authorization', one)]).toEqual(['POST /x 1.1', [`Bearer ${SECRET}`]]);
  });

  it('are answered in their order where they come without waiting, and too many end the connection', async () => {
    const proxy = await start();
    answer = (request, response) => {
      setTimeout(() => response.end(`[${request.url}]`), request.url === '/0' ? 100 : 0);
    };
    const keep = (path: string) => get(path).replace('Connection: close\r\n', '');
    const text = await proxy.raw(API, port, keep('/0') + keep('/1') + get('/2'));
    expect(text.match(/\[[^\]]*\]/g)).toEqual(['[/0]', '[/1]', '[/2]']);
    answer = () => undefined;
    const many = Array.from({ length: 1000 }, (_value, at) => keep(`/${at}`)).join('');
    expect(await proxy.raw(API, port, many)).toBe('');
  });

  it('are HTTP/1.1 when they go on, whatever they were', async () => {
    const proxy = await start();
    const text = await proxy.raw(API, port, get('/').replace('HTTP/1.1', 'HTTP/1.0'));
    expect([text.slice(0, 15), seen[0]?.line]).toEqual(['HTTP/1.1 200 OK', 'GET / 1.1']);
  });

  it('wait for a server that is asked whether it wants the body', async () => {
    const proxy = await start();
    const socket = await proxy.secured(API, port);
    socket.write(post('Expect: 100-continue', 'Content-Length: 4', 'Connection: close', '', ''));
    const [said] = (await once(socket, 'data')) as [Buffer];
    expect(said.toString()).toMatch(/^HTTP\/1\.1 100 Continue/);
    socket.write('body');
    expect(await textOf(socket)).toContain('200 OK');
  });

  it('may send chunks and trailers', async () => {
    const proxy = await start();
    let body = '';
    answer = (request, response) => {
      request.setEncoding('utf8').on('data', text => {
        body += text;
      });
      request.once('end', () => response.end('fine'));
    };
    const chunks = [
      'Transfer-Encoding: chunked',
      'Connection: close',
      '',
      '3',
      'abc',
      '2;x=y',
      'de',
      '0',
      'Authorization: z',
      '',
      '',
    ];
    expect(await proxy.raw(API, port, post(...chunks))).toContain('fine');
    expect([body, valuesOf('authorization')]).toEqual(['abcde', [`Bearer ${SECRET}`]]);
  });
});

describe('an answer', () => {
  it.each<[string, (response: ServerResponse) => void]>([
    ['a header', response => response.writeHead(200, { 'X-Echo': `Bearer ${SECRET}` }).end('fine')],
    [
      'a redirect',
      response => response.writeHead(302, { Location: `https://evil.example/?${SECRET}` }).end(),
    ],
    ['its reason', response => response.writeHead(200, SECRET).end('fine')],
    ['a text', response => response.end(`so: ${SECRET}.`)],
    [
      'JSON of known length',
      response =>
        json(response, { 'Content-Length': JSON.stringify([SECRET]).length }).end(JSON.stringify([SECRET])),
    ],
    ['the form of a URL', response => json(response).end(encodeURIComponent(`Bearer ${SECRET}`))],
    ['base64', response => json(response).end(Buffer.from(`Bearer ${SECRET}`).toString('base64'))],
    ['base64 of what holds it', response => json(response).end(base64(`name:${SECRET}`, 'base64'))],
    ['base64 for URLs', response => json(response).end(base64(`{"é?>":"${SECRET}"}`, 'base64url'))],
    ['hexadecimal digits', response => response.end(Buffer.from(SECRET).toString('hex'))],
    ['upper case of these', response => response.end(Buffer.from(SECRET).toString('hex').toUpperCase())],
    ['entities', response => response.end(escaped(code => `&#${code};`))],
    ['hexadecimal entities', response => response.end(escaped(code => `&#x00${code.toString(16)};`))],
    [
      'a mixture of entities',
      response => response.end(escaped((code, at) => (at % 3 ? letter(code) : `&#${code};`))),
    ],
    ['a named entity', response => response.end(SECRET.replace('_', '&lowbar;').replaceAll('-', '&#45;'))],
    ['escapes of JSON', response => json(response).end(escaped(code => `\\u00${code.toString(16)}`))],
    ['escapes of a URL', response => json(response).end(escaped(code => `%${code.toString(16)}`))],
    ['UTF-16', response => response.end(Buffer.from(SECRET, 'utf16le'))],
    [
      'pieces of an entity',
      response => {
        const text = escaped(code => `&#${code};`);
        json(response, { 'Content-Length': text.length }).write(text.slice(0, 15));
        setImmediate(() => response.end(text.slice(15)));
      },
    ],
    [
      'two pieces',
      response => {
        json(response, { 'Content-Length': SECRET.length + 6 }).write(`[1, "${SECRET.slice(0, 9)}`);
        setImmediate(() => response.end(`${SECRET.slice(9)}"]`));
      },
    ],
    [
      'a text of nearly a MiB',
      response =>
        json(response, { 'Content-Length': MiB }).end(`${'x'.repeat(MiB - SECRET.length)}${SECRET}`),
    ],
  ])('that holds the credential is not sent on: in %s', async (_name, reply) => {
    const proxy = await start();
    answer = (request, response) => {
      request.resume();
      reply(response);
    };
    const text = await proxy.raw(API, port, get('/'));
    expect(text).toMatch(/^HTTP\/1\.1 502 .*the server sent the credential back\n$/s);
    expect(text).not.toContain(SECRET.slice(0, 9));
  });

  it.each(['gzip', 'br', 'zstd', 'identity, x-own'])(
    'that is encoded all the same is refused: %s',
    async encoding => {
      const proxy = await start();
      answer = (request, response) => {
        request.resume();
        response.writeHead(200, { 'Content-Encoding': encoding }).end('encoded');
      };
      const text = await proxy.raw(API, port, get('/', 'Accept-Encoding: gzip, br;q=1, *'));
      expect(text).toMatch(/^HTTP\/1\.1 502 .*so that it cannot be checked\n$/s);
      expect(valuesOf('accept-encoding')).toEqual(['identity']);
    },
  );

  it('is asked for whole, and in plain letters', async () => {
    const proxy = await start();
    const asked = ['Range: bytes=9-', 'If-Range: "a"', 'Accept-Charset: utf-16', 'A-IM: vcdiff', 'TE: gzip'];
    await proxy.raw(API, port, get('/', ...asked));
    expect(seen[0]?.headers.join()).not.toMatch(/range|charset|a-im|gzip/i);
  });

  it('that has begun breaks off before the credential', async () => {
    const proxy = await start();
    answer = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write('data: one\n\n');
      setTimeout(() => response.write(`data: ${SECRET.slice(0, 10)}`), 20);
      setTimeout(() => response.end(`${SECRET.slice(10)}\n\n`), 40);
    };
    const text = await proxy.raw(API, port, get('/'));
    expect(text).toContain('data: one\n\n');
    expect(text).not.toMatch(/ghs_|\r\n0\r\n\r\n$/);
  });

  it('breaks off before the credential, however long a text is before it', async () => {
    const proxy = await start();
    answer = (request, response) => {
      request.resume();
      json(response).end(`${'x'.repeat(2 * MiB)} ${SECRET}`);
    };
    const text = await proxy.raw(API, port, get('/'));
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(text).not.toMatch(/ghs_|\r\n0\r\n\r\n$/);
  });

  it('of a stream of texts comes piece by piece', async () => {
    const proxy = await start();
    const next = Promise.withResolvers<void>();
    answer = async (request, response) => {
      response.writeHead(200, {
        'Content-Type': request.url === '/sse' ? 'text/event-stream' : 'application/json',
      });
      response.write('one g');
      await next.promise;
      response.end('two');
    };
    for (const path of ['/sse', '/json']) {
      const socket = await proxy.secured(API, port);
      socket.write(get(path));
      let text = '';
      // Of both, all but what may begin a secret comes while the server says nothing more.
      while (!text.includes('one ')) text += String((await once(socket, 'data'))[0]);
      next.resolve();
      text += await textOf(socket);
      expect(text.replace(/\r\n\w+\r\n/g, '')).toContain('one gtwo');
    }
  });

  it('is a redirect that the client follows itself, or not', async () => {
    const proxy = await start();
    answer = (_request, response) => response.writeHead(307, { Location: `https://${OTHER}/` }).end();
    expect(await proxy.raw(API, port, get('/'))).toMatch(/307.*Location: https:\/\/other\.example\//s);
    expect(seen).toHaveLength(1);
  });

  it('keeps the domain of its cookies', async () => {
    const proxy = await start();
    answer = (_request, response) => response.writeHead(200, { 'Set-Cookie': 'a=b; Domain=example' }).end();
    expect(await proxy.raw(API, port, get('/'))).toContain('Set-Cookie: a=b; Domain=example');
  });
});

describe('a gibibyte', () => {
  const CHUNK = randomBytes(MiB);
  const GiB = 1024;
  /** Bytes that were sent and have not arrived: now, and at most. */
  let kept = 0;
  let most = 0;
  const pieces = () =>
    Readable.from(
      (function* () {
        for (let at = 0; at < GiB; at++) {
          kept += CHUNK.length;
          most = Math.max(most, kept);
          yield CHUNK;
        }
      })(),
    );
  const sumOf = async (chunks: AsyncIterable<Buffer>): Promise<string> => {
    let sum = 0;
    for await (const chunk of chunks) {
      sum = crc32(chunk, sum);
      kept -= chunk.length;
    }
    return String(sum);
  };

  it('goes up and comes down, and little of it is kept', async () => {
    const proxy = await start();
    answer = async (request, response) => {
      if (request.method === 'GET') return void pipeline(pieces(), response).catch(() => undefined);
      response.end(await sumOf(request));
    };
    const expected = await sumOf(pieces());
    const socket = await proxy.secured(API, port);
    const up = httpsRequest({
      createConnection: () => socket,
      method: 'PUT',
      path: '/up',
      headers: { Host: `${API}:${port}` },
    });
    void pipeline(pieces(), up);
    const [got] = await once(up, 'response');
    expect(await textOfBody(got)).toBe(expected);
    const other = await proxy.secured(API, port);
    const down = httpsRequest({
      createConnection: () => other,
      path: '/down',
      headers: { Host: `${API}:${port}` },
    });
    down.end();
    const [answered] = await once(down, 'response');
    expect(await sumOf(answered)).toBe(expected);
    expect(proxy.uses.map(({ bytes_out, bytes_in }) => [bytes_out, bytes_in])).toEqual([
      [GiB * MiB, expected.length],
      [0, GiB * MiB],
    ]);
    expect(most).toBeLessThan(200 * MiB);
  });

  it('is not more than a sandbox may transfer', async () => {
    const proxy = await start(undefined, { maxBytes: 2 * MiB });
    answer = (_request, response) => void pipeline(pieces(), response).catch(() => undefined);
    const text = await proxy.raw(API, port, get('/'));
    expect(text.length).toBeLessThan(4 * MiB);
    expect(await proxy.raw(API, port, get('/'))).toContain('which is all that is allowed');
  });
});

async function textOfBody(message: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of message) text += chunk;
  return text;
}

const json = (response: ServerResponse, headers = {}) =>
  response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', ...headers });
