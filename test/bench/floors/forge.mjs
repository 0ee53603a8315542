/** Git's own server over TLS, for the repositories in a folder; its certificate is written there. */
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import path from 'node:path';

const [, , folder, address] = process.argv;
const [key, cert] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
const kind = [
  'req',
  '-x509',
  '-newkey',
  'ec',
  '-pkeyopt',
  'ec_paramgen_curve:prime256v1',
  '-nodes',
  '-days',
  '2',
];
const said = ['-subj', '/CN=bench', '-addext', `subjectAltName=IP:${address}`, '-keyout', key, '-out', cert];
execFileSync('openssl', [...kind, ...said], { stdio: 'pipe' });

const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
  const { pathname, search } = new URL(request.url, 'https://host');
  if (pathname === '/small') return void response.end('x'.repeat(100));
  if (pathname === '/large') return void large(response);
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'],
      GIT_PROTOCOL: request.headers['git-protocol'],
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'],
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  request.pipe(backend.stdin).on('error', () => undefined);
  let head = Buffer.alloc(0);
  backend.stdout.on('data', chunk => {
    if (!head) return void response.write(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    const fields = Object.fromEntries(
      head
        .toString('latin1', 0, end)
        .split('\r\n')
        .map(line => line.split(': ')),
    );
    const { Status: status = '200', ...headers } = fields;
    response.writeHead(Number.parseInt(status, 10), headers);
    response.write(head.subarray(end + 4));
    head = undefined;
  });
  backend.stdout.once('end', () => response.end());
});

const PIECE = Buffer.alloc(64 * 1024, 'x');

/** 64 MiB of what is no text. */
async function large(response) {
  const pieces = 1024;
  response.writeHead(200, {
    'content-type': 'application/octet-stream',
    'content-length': String(pieces * PIECE.length),
  });
  for (let at = 0; at < pieces; at++)
    if (!response.write(PIECE)) await new Promise(resolve => response.once('drain', resolve));
  response.end();
}

server.listen(0, address, () => console.log(`ready ${address}:${server.address().port}`));
