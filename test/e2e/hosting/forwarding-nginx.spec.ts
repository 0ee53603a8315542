/** The same bytes through libs/reverse-proxy and through nginx, to the same program: what it sees, and what comes back. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ProxyError, proxyRequest, Upstream } from '#libs/reverse-proxy/index.js';
import { freePort } from '../../harness/free-port.js';

const NGINX = '/usr/sbin/nginx';

interface Outcome {
  /** Of each answer on the connection. */
  statuses: number[];
  /** Of each request that the program took: method, target and body. */
  seen: string[];
}

let program: http.Server;
let seen: string[] = [];
let ours: http.Server;
const ports = { ours: 0, nginx: 0 };
let stopNginx: () => Promise<void>;

beforeAll(async () => {
  program = http.createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      // One whose rest never came is none that it took.
      return;
    }
    seen.push(`${request.method} ${request.url} ${Buffer.concat(chunks)}`);
    response.end('ok');
  });
  const target = await listening(program);
  const upstream = new Upstream(
    () =>
      new Promise((resolve, reject) => {
        const socket = connect({ host: '127.0.0.1', port: target, allowHalfOpen: true });
        socket.once('connect', () => resolve(socket)).once('error', reject);
      }),
  );
  const serve: http.RequestListener = (request, response) => {
    proxyRequest(request, response, upstream, { scheme: 'http' }).catch((error: unknown) => {
      if (!(error instanceof ProxyError)) throw error;
      if (response.headersSent) response.destroy();
      else response.writeHead(error.status, { connection: 'close' }).end();
    });
  };
  ours = http.createServer({ requireHostHeader: false }, serve).on('checkContinue', serve);
  ports.ours = await listening(ours);
  ports.nginx = await freePort();
  stopNginx = await nginx(ports.nginx, target);
});
afterAll(async () => {
  await stopNginx();
  for (const server of [ours, program]) {
    server.closeAllConnections();
    server.close();
  }
});

async function listening(server: http.Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function nginx(port: number, target: number): Promise<() => Promise<void>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'atelier-forwarding-'));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map(name => `${name}_temp_path ${folder}/${name};`)
    .join(' ');
  const root = process.getuid?.() === 0 ? 'user root;' : '';
  writeFileSync(
    path.join(folder, 'nginx.conf'),
    `${root} pid ${folder}/pid; error_log ${folder}/error.log; events {}
    http { access_log off; ${temporary}
      server { listen 127.0.0.1:${port};
        location / { proxy_pass http://127.0.0.1:${target}; proxy_http_version 1.1; proxy_set_header Connection "";
          proxy_set_header Host $http_host; proxy_request_buffering off; proxy_buffering off; } } }`,
  );
  const child = spawn(NGINX, ['-p', folder, '-c', 'nginx.conf', '-g', 'daemon off;'], { stdio: 'inherit' });
  const ended = once(child, 'exit');
  for (;;) {
    const isUp = await new Promise(resolve => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (isUp) break;
    if (child.exitCode !== null) throw new Error('nginx did not start');
    await new Promise(resolve => setTimeout(resolve, 20));
  }
  return async () => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
}

/** Sends bytes and a request that ends the connection, which a rest of the first would be a part of. */
async function outcome(port: number, bytes: string): Promise<Outcome> {
  seen = [];
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let text = '';
  socket.setEncoding('latin1').on('data', chunk => {
    text += chunk;
  });
  socket.write(`${bytes}GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`, 'latin1');
  socket.once('end', () => socket.end());
  // Patience for a request that the server takes for one which goes on.
  const timer = setTimeout(() => socket.end(), 10_000);
  await once(
    socket.on('error', () => undefined),
    'close',
  );
  clearTimeout(timer);
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
  return { statuses, seen };
}

const post = (headers: string, body = '') => `POST /a HTTP/1.1\r\nHost: a\r\n${headers}\r\n\r\n${body}`;
const get = (headers: string) => `GET /a HTTP/1.1\r\nHost: a\r\n${headers}\r\n\r\n`;
const CHUNKED = 'Transfer-Encoding: chunked';

const REQUESTS: Record<string, string> = {
  'no body': get('X: 1'),
  'a body of known length': post('Content-Length: 5', 'hello'),
  chunks: post(CHUNKED, '5\r\nhello\r\n0\r\n\r\n'),
  'chunks with extensions': post(CHUNKED, '5;a=b\r\nhello\r\n0\r\n\r\n'),
  'chunks with trailers': post(CHUNKED, '5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n'),
  'two requests at once': post('Content-Length: 5', 'hello') + post('Content-Length: 3', 'two'),
  'an empty line before it': `\r\n${get('X: 1')}`,
  'a length and chunks': post(`Content-Length: 5\r\n${CHUNKED}`, '0\r\n\r\n'),
  'chunks and a length': post(`${CHUNKED}\r\nContent-Length: 5`, '0\r\n\r\n'),
  'two equal lengths': post('Content-Length: 5\r\nContent-Length: 5', 'hello'),
  'two lengths': post('Content-Length: 5\r\nContent-Length: 0', 'hello'),
  'a list of lengths': post('Content-Length: 5, 5', 'hello'),
  'a length with a sign': post('Content-Length: +5', 'hello'),
  'a negative length': post('Content-Length: -5', 'hello'),
  'a hexadecimal length': post('Content-Length: 0x5', 'hello'),
  'no length': post('Content-Length:', 'hello'),
  'a huge length': post('Content-Length: 99999999999999999999', 'hello'),
  'chunks twice': post('Transfer-Encoding: chunked, chunked', '0\r\n\r\n'),
  'chunks in two headers': post(`${CHUNKED}\r\n${CHUNKED}`, '0\r\n\r\n'),
  'an unknown coding': post('Transfer-Encoding: xchunked', '0\r\n\r\n'),
  'no coding': post('Transfer-Encoding: identity', ''),
  'chunks that are not last': post('Transfer-Encoding: chunked, gzip', '0\r\n\r\n'),
  'chunks with a tab': post('Transfer-Encoding:\tchunked', '0\r\n\r\n'),
  'chunks with a vertical tab': post('Transfer-Encoding: \x0bchunked', '0\r\n\r\n'),
  'a space before the colon': post('Transfer-Encoding : chunked', '0\r\n\r\n'),
  'a folded header': post('Transfer-Encoding:\r\n chunked', '0\r\n\r\n'),
  'a header that begins with a space': `POST /a HTTP/1.1\r\n Host: a\r\n\r\n`,
  'a size that is none': post(CHUNKED, 'zz\r\nhello\r\n0\r\n\r\n'),
  'a size with a sign': post(CHUNKED, '+5\r\nhello\r\n0\r\n\r\n'),
  'a size in hexadecimal': post(CHUNKED, '0x5\r\nhello\r\n0\r\n\r\n'),
  'a size too large': post(CHUNKED, 'ffffffffffffffffff\r\nhello\r\n0\r\n\r\n'),
  'a chunk that is longer than it says': post(CHUNKED, '4\r\nhello\r\n0\r\n\r\n'),
  'chunks that end by line feeds': post(CHUNKED, '5\nhello\n0\n\n'),
  'a space after a size': post(CHUNKED, '5 \r\nhello\r\n0\r\n\r\n'),
  'lines that end by line feeds': 'GET /a HTTP/1.1\nHost: a\n\n',
  'a carriage return in a value': get('X: a\rb'),
  'a null in a value': get('X: a\0b'),
  'a null in a name': get('X\0: a'),
  'a header without a name': get(': a'),
  'a header without a colon': get('X'),
  'no host': 'GET /a HTTP/1.1\r\n\r\n',
  'two hosts': get('Host: b'),
  'a host with a path': 'GET /a HTTP/1.1\r\nHost: a/b\r\n\r\n',
  'a whole address': 'GET http://a/a HTTP/1.1\r\nHost: a\r\n\r\n',
  'a target that is no path': 'GET a HTTP/1.1\r\nHost: a\r\n\r\n',
  'a space in the target': 'GET /a b HTTP/1.1\r\nHost: a\r\n\r\n',
  'a tunnel': 'CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n',
  'a method of small letters': 'get /a HTTP/1.1\r\nHost: a\r\n\r\n',
  'version 1.2': 'GET /a HTTP/1.2\r\nHost: a\r\n\r\n',
  'version 2.0': 'GET /a HTTP/2.0\r\nHost: a\r\n\r\n',
  'version 0.9': 'GET /a\r\n\r\n',
  'chunks in version 1.0': `POST /a HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n${CHUNKED}\r\n\r\n0\r\n\r\n`,
  'a wish to be told to continue': post('Content-Length: 5\r\nExpect: 100-continue', 'hello'),
  'another expectation': post('Content-Length: 5\r\nExpect: a miracle', 'hello'),
};

const BOTH = ['/a', '/last'];
const NONE: string[] = [];
/** Where the two differ: the statuses of each, and the targets that the program saw of each. */
const DIFFERENCES: Record<string, [ours: [number[], string[]], nginx: [number[], string[]]]> = {
  // Refused by both, with other words.
  'chunks twice': [
    [[400], NONE],
    [[501], NONE],
  ],
  'an unknown coding': [
    [[400], NONE],
    [[501], NONE],
  ],
  'no coding': [
    [[400], NONE],
    [[501], NONE],
  ],
  'chunks that are not last': [
    [[400], NONE],
    [[501], NONE],
  ],
  'chunks with a vertical tab': [
    [[400], NONE],
    [[501], NONE],
  ],
  'a tunnel': [
    [[], NONE],
    [[400], NONE],
  ],
  'version 2.0': [
    [[400], NONE],
    [[505], NONE],
  ],
  'version 0.9': [
    [[400], NONE],
    [[], NONE],
  ],
  // Refused here alone.
  'chunks that end by line feeds': [
    [[400], NONE],
    [[200, 200], BOTH],
  ],
  'a space after a size': [
    [[400], NONE],
    [[200, 200], BOTH],
  ],
  'lines that end by line feeds': [
    [[400], NONE],
    [[200, 200], BOTH],
  ],
  'a header without a colon': [
    [[400], NONE],
    [[200, 200], BOTH],
  ],
  'version 1.2': [
    [[400], NONE],
    [[200, 200], BOTH],
  ],
  'a whole address': [
    [[400], ['/last']],
    [[200, 200], BOTH],
  ],
  'another expectation': [
    [[417, 200], ['/last']],
    [[200, 200], BOTH],
  ],
  // Taken here alone: a tab may stand before a value (RFC 9110, section 5.5), and the gateway knows each host that it serves.
  'chunks with a tab': [
    [[200, 200], BOTH],
    [[501], NONE],
  ],
  'a host with a path': [
    [[200, 200], BOTH],
    [[400], NONE],
  ],
};

const shortOf = ({ statuses, seen }: Outcome) => [statuses, seen.map(request => request.split(' ')[1])];

describe('a request through this and through nginx', () => {
  it.each(Object.entries(REQUESTS))('%s', async (name, bytes) => {
    const [mine, theirs] = [await outcome(ports.ours, bytes), await outcome(ports.nginx, bytes)];
    const known = DIFFERENCES[name];
    if (known) expect([shortOf(mine), shortOf(theirs)]).toEqual(known);
    else expect(mine).toEqual(theirs);
  });
});
