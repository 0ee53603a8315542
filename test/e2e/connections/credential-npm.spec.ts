import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';
import { TlsServers } from '../../harness/tls-servers.js';

const SECRET = 'npm_7d2f-the-token-of-the-team';
const NAMES = ['@acme/tool', '@acme/base'];

const out = new PassThrough();
const write = process.stdout.write.bind(process.stdout);
let logged = '';
let service: TestService;
let servers: TlsServers;
let registry: string;
let ada: Person;
let workspace: string;
let connection: string;
const tarballs = new Map<string, Buffer>();
let seen: { url: string; authorization: string | undefined; status: number }[];

/** A private registry: it lets in who has the token, and has the tarballs on its own host. */
function answer({ url = '', headers }: IncomingMessage, response: ServerResponse): void {
  const send = (status: number, body: string | Buffer, type = 'application/json') => {
    seen.push({ url, authorization: headers.authorization, status });
    response.writeHead(status, { 'content-type': type, 'content-length': body.length }).end(body);
  };
  if (headers.authorization !== `Bearer ${SECRET}`) return void send(401, '{"error":"Who are you?"}');
  const [, tarball = ''] = /^\/npm\/(@acme\/\w+)\/-\/\w+-1\.0\.0\.tgz$/.exec(url) ?? [];
  const bytes = tarballs.get(tarball);
  if (bytes) return void send(200, bytes, 'application/octet-stream');
  const name = decodeURIComponent(url.replace(/^\/npm\//, ''));
  if (url === '/npm/-/whoami') return void send(200, '{"username":"team"}');
  const about = tarballs.get(name);
  if (!about) return void send(404, '{"error":"not found"}');
  const version = {
    name,
    version: '1.0.0',
    description: 'Of the team alone',
    dependencies: name === '@acme/tool' ? { '@acme/base': '^1.0.0' } : {},
    dist: {
      tarball: `https://${registry}/npm/${name}/-/${name.split('/')[1]}-1.0.0.tgz`,
      integrity: `sha512-${createHash('sha512').update(about).digest('base64')}`,
    },
  };
  send(200, JSON.stringify({ name, 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } }));
}

function pack(name: string): Buffer {
  const folder = mkdtempSync(path.join(tmpdir(), 'package-'));
  mkdirSync(path.join(folder, 'package'));
  const manifest = { name, version: '1.0.0', main: 'index.js' };
  writeFileSync(path.join(folder, 'package', 'package.json'), JSON.stringify(manifest));
  const base = name === '@acme/tool' ? `require('@acme/base') + ` : '';
  writeFileSync(path.join(folder, 'package', 'index.js'), `module.exports = ${base}'${name} ';\n`);
  const bytes = execFileSync('tar', ['-cz', '-C', folder, 'package']);
  rmSync(folder, { recursive: true });
  return bytes;
}

beforeAll(async () => {
  process.stdout.write = ((chunk: string) => out.write(chunk)) as typeof process.stdout.write;
  out.on('data', chunk => {
    logged += String(chunk);
  });
  seen = [];
  for (const name of NAMES) tarballs.set(name, pack(name));
  servers = new TlsServers();
  // npm compares certificates with names alone.
  registry = (await servers.start('127.0.0.1', answer)).replace('127.0.0.1', 'localhost');
  service = await TestService.start({
    OUTGOING_PRIVATE_HOSTS: registry,
    LOG_LEVEL: 'trace',
    LOG_FORMAT: 'text',
  });
  ada = await service.person('Ada');
  workspace = await service.workspace(ada);
  // As it is, where the sandbox has it or not.
  cpSync('node_modules/npm', inside('.npm-package'), { recursive: true });
  const definition = {
    id: 'npm',
    name: 'npm',
    docs: 'https://docs.npmjs.com/about-access-tokens',
    auth: 'api_key',
    api: {
      base_url: `https://${registry}/npm`,
      hosts: [],
      header: 'Authorization',
      template: 'Bearer {token}',
      probe: '/-/whoami',
    },
    fields: [{ name: 'token', label: 'Access token', secret: true }],
    variables: ['NPM_TOKEN'],
  };
  const of = { organization_id: ada.organizationId };
  await ada.client.post('/api/integrations/providers', { ...of, definition });
  const { body } = await ada.client.post('/api/integrations', {
    ...of,
    provider: 'npm',
    owner: 'organization',
    fields: { token: SECRET },
  });
  connection = body.connection.id;
});
beforeEach(() => {
  seen = [];
});
afterAll(async () => {
  await service?.stop();
  servers?.stop();
  process.stdout.write = write;
});

const inside = (...parts: string[]) => path.join(service.dataDir, 'workspaces', workspace, ...parts);
async function grant(fields: Json = {}): Promise<void> {
  const grants = [{ workspace_id: workspace, ...fields }];
  const { status, body } = await ada.client.put(`/api/integrations/${connection}/workspaces`, { grants });
  expect([status, body.detail]).toEqual([200, undefined]);
}
async function output(command: string): Promise<string> {
  const npm =
    'npm() { node /workspace/.npm-package/bin/npm-cli.js --no-update-notifier --no-audit --no-fund "$@"; }';
  const { status, body } = await ada.client.post(`/api/workspaces/${workspace}/tools/bash`, {
    // This one registry has a name that programs of a sandbox ask without the proxy.
    input: {
      command: `PATH=/opt/node/bin:$PATH; export HOME=/tmp NO_PROXY=none.invalid no_proxy=none.invalid; ${npm}\n${command}`,
      timeout_seconds: 300,
    },
  });
  if (status !== 200) throw new Error(`bash answered ${status}: ${JSON.stringify(body)}`);
  return body.output;
}
const project = (name: string, npmrc: string) =>
  `mkdir ${name} && cd ${name} && echo '{"private":true}' > package.json && printf '%s\\n' 'fetch-retries=0' '${npmrc}' > .npmrc`;

it('npm views and installs what is private, with a registry and no token', async () => {
  await grant();
  const said = await output(
    [
      project('plain', `@acme:registry=https://${registry}/npm/`),
      'npm view @acme/tool description',
      'npm install @acme/tool 2>&1 && node -p "require(\'@acme/tool\')"',
      'cat package-lock.json .npmrc',
      // What is there of the token, for who looks everywhere.
      'env; npm config ls -l | grep -i auth',
      'grep -alE "npm_7[d]2f" /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null; echo looked',
      'grep -rlE "npm_7[d]2f" /tmp /run . 2>/dev/null; echo everywhere',
    ].join('\n'),
  );
  expect(said).toMatch(/^Of the team alone\n/);
  expect(said).toContain('added 2 packages');
  expect(said).toContain('@acme/base @acme/tool');
  expect(said).toContain('NPM_TOKEN=atelier-placeholder');
  expect(said).toContain('looked\neverywhere');
  const asked = seen.map(({ url, authorization, status }) => `${authorization} ${url} ${status}`);
  expect(new Set(asked)).toEqual(
    new Set([
      `Bearer ${SECRET} /npm/@acme%2ftool 200`,
      `Bearer ${SECRET} /npm/@acme%2fbase 200`,
      `Bearer ${SECRET} /npm/@acme/tool/-/tool-1.0.0.tgz 200`,
      `Bearer ${SECRET} /npm/@acme/base/-/base-1.0.0.tgz 200`,
    ]),
  );
  for (const form of [SECRET, Buffer.from(SECRET).toString('base64').replace(/=+$/, '')]) {
    expect(said).not.toContain(form);
    expect(logged).not.toContain(form);
    expect(readFileSync(inside('plain', 'package-lock.json'), 'utf8')).not.toContain(form);
  }
});

it('npm may have the placeholder where a project names a variable for its token', async () => {
  await grant({ methods: ['GET'], paths: ['/@acme'] });
  const npmrc = `@acme:registry=https://${registry}/npm/\n//${registry}/npm/:_authToken=\${NPM_TOKEN}`;
  const said = await output(
    `${project('named', npmrc)}\nnpm install @acme/tool 2>&1 && node -p "require('@acme/tool')"`,
  );
  expect(said).toContain('@acme/base @acme/tool');
  expect(
    seen.every(({ authorization, status }) => authorization === `Bearer ${SECRET}` && status === 200),
  ).toBe(true);
  const refused = await output(
    `${project('other', `@other:registry=https://${registry}/npm/`)}; npm view @other/tool 2>&1`,
  );
  expect(refused).toMatch(/403/);
  expect(refused).not.toContain(SECRET);
});

it('npm is told what is missing once the grant is taken away', async () => {
  await grant();
  const { status } = await ada.client.put(`/api/integrations/${connection}/workspaces`, { grants: [] });
  expect(status).toBe(200);
  const said = await output(
    `${project('none', `@acme:registry=https://${registry}/npm/`)}; npm view @acme/tool 2>&1`,
  );
  expect(said).toMatch(/npm error/);
  expect(seen).toEqual([]);
});
