import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  CertificateAuthority,
  EgressProxy,
  proxyVariables,
  relaySource,
  startRelay,
} from '#libs/egress-proxy/index.js';
import { createSandbox, type SandboxSession } from '#libs/sandbox/index.js';
import { Exchanges } from './exchanges.js';
import { ruleFor } from './inspection.fixture.js';

/** Hosts that may be reached, and one that may not; all of them are this machine. */
const [REGISTRY, INDEX, FORGE, OTHER] = [
  'registry.example',
  'index.example',
  'forge.example',
  'other.example',
];
/** One that lets in only requests with a credential, which the proxy has. */
const GUARDED = 'guarded.example';
const SECRET = 'tok_that-no-program-has';
const uid = process.getuid?.() ?? -1;
const owner = uid === 0 ? { uid: 200_031, gid: 200_031 } : undefined;

/** What is to be taken down, last first; also where something could not be set up. */
const opened: (() => unknown)[] = [];

let folder: string;
let origin: (host: string) => string;
let refused: string[];
let session: SandboxSession;

/** What the server answers by path: a body, or what makes an answer. */
const answers = new Map<string, Buffer | string>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'egress-programs-'));
  opened.push(() => rmSync(folder, { recursive: true, force: true }));
  // Whom the sandbox runs as goes through it.
  chmodSync(folder, 0o755);
  for (const name of ['egress', 'tls', 'workspace']) mkdirSync(join(folder, name));
  const names = [REGISTRY, INDEX, FORGE, OTHER, GUARDED].map(name => `DNS:${name}`).join(',');
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'tls', 'cert.pem')];
  const made = [
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
  const files = ['-keyout', key, '-out', cert, '-subj', '/CN=test', '-addext', `subjectAltName=${names}`];
  execFileSync('openssl', [...made, ...files], { stdio: 'pipe' });
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, answer);
  opened.push(() => server.close().closeAllConnections());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  origin = host => `https://${host}:${port}`;
  refused = [];
  const authority = new CertificateAuthority('Sandbox of a test');
  writeFileSync(join(folder, 'tls', 'ca.pem'), readFileSync(cert, 'utf8') + authority.certificate);
  const rule = ruleFor(port, SECRET, { host: GUARDED });
  const trusted = [readFileSync(cert, 'utf8')];
  const proxy = new EgressProxy({
    inspection: { rules: [rule], authority, trusted },
    forwarder: new Exchanges(),
    hosts: [REGISTRY, INDEX, FORGE],
    ports: [port],
    allows: () => true,
    resolve: async () => ['127.0.0.1'],
    onRefusal: (_refusal, target) => refused.push(target),
  });
  opened.push(() => proxy.close());
  await proxy.listen(join(folder, 'egress', 'egress.sock'));
  writeFileSync(join(folder, 'egress', 'relay.cjs'), relaySource);
  if (owner)
    for (const path of ['egress', 'egress/egress.sock', 'workspace'])
      chownSync(join(folder, path), owner.uid, owner.gid);
  const sandbox = createSandbox('bubblewrap', {
    readOnlyBinds: [{ from: process.execPath, to: '/opt/node/bin/node' }],
  });
  session = await sandbox.openSession({
    workspace: join(folder, 'workspace'),
    owner,
    env: {
      ...proxyVariables(),
      // Nothing but whom to trust is said to the programs: all else is what every sandbox has.
      NODE_EXTRA_CA_CERTS: '/run/tls/ca.pem',
      PIP_CERT: '/run/tls/ca.pem',
      GIT_SSL_CAINFO: '/run/tls/ca.pem',
    },
    readOnlyBinds: [
      { from: join(folder, 'egress'), to: '/run/egress' },
      { from: join(folder, 'tls'), to: '/run/tls' },
    ],
  });
  opened.push(() => session.end());
  await session.run({ script: startRelay('/opt/node/bin/node', '/run/egress') });
});
afterAll(async () => {
  for (const close of opened.toReversed()) await close();
});
beforeEach(() => {
  refused = [];
});

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, search } = new URL(request.url ?? '/', 'https://host');
  const isGuarded = request.headers.host?.startsWith(GUARDED);
  if (isGuarded && request.headers.authorization !== `Bearer ${SECRET}`) {
    response.writeHead(401).end();
    return;
  }
  if (pathname.startsWith('/repos/')) {
    gitAnswer(request, response, pathname, search.slice(1));
    return;
  }
  const body = answers.get(pathname);
  response.writeHead(body === undefined ? 404 : 200, {
    'content-type':
      pathname.startsWith('/simple/') && pathname.endsWith('/') ? 'text/html' : 'application/octet-stream',
  });
  response.end(body);
}

/** Git's own server, as a CGI program (git-http-backend(1)). */
function gitAnswer(request: IncomingMessage, response: ServerResponse, path: string, query: string): void {
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'],
      GIT_PROTOCOL: request.headers['git-protocol'] as string,
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'],
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  request.pipe(backend.stdin);
  backend.stdin.on('error', () => undefined);
  const chunks: Buffer[] = [];
  backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  backend.stdout.once('end', () => {
    const said = Buffer.concat(chunks);
    const end = said.indexOf('\r\n\r\n');
    const headers = said
      .subarray(0, end)
      .toString()
      .split('\r\n')
      .map(line => line.split(': ') as [string, string]);
    const status = headers.find(([name]) => name === 'Status')?.[1];
    response.writeHead(status ? Number.parseInt(status, 10) : 200, Object.fromEntries(headers));
    response.end(said.subarray(end + 4));
  });
}

async function run(script: string): Promise<{ exit_code: number | null; output: string }> {
  const { exit_code, output } = await session.run({ script, wallMs: 120_000 });
  return { exit_code, output };
}

/** The package `tiny` in a registry of npm (its documentation: "package metadata"). */
function publishNpm(host = REGISTRY): void {
  const place = mkdtempSync(join(folder, 'npm-'));
  mkdirSync(join(place, 'package'));
  writeFileSync(
    join(place, 'package', 'package.json'),
    JSON.stringify({ name: 'tiny', version: '1.2.3', main: 'tiny.js' }),
  );
  writeFileSync(join(place, 'package', 'tiny.js'), 'module.exports = "tiny of npm";\n');
  const tarball = execFileSync('tar', ['--create', '--gzip', '--directory', place, 'package']);
  const at = '/tiny/-/tiny-1.2.3.tgz';
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const version = {
    name: 'tiny',
    version: '1.2.3',
    main: 'tiny.js',
    dist: { tarball: `${origin(host)}${at}`, integrity },
  };
  answers.set(at, tarball);
  answers.set(
    '/tiny',
    JSON.stringify({ name: 'tiny', 'dist-tags': { latest: '1.2.3' }, versions: { '1.2.3': version } }),
  );
}

/** The project `tiny` in a simple index (PEP 503), as a wheel (PEP 427). */
function publishPip(): void {
  const file = 'tiny-1.2.3-py3-none-any.whl';
  const write = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    wheel.writestr('tiny.py', 'said = "tiny of pip"\\n')
    wheel.writestr('tiny-1.2.3.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.2.3\\n')
    wheel.writestr('tiny-1.2.3.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr('tiny-1.2.3.dist-info/RECORD', 'tiny.py,,\\ntiny-1.2.3.dist-info/METADATA,,\\ntiny-1.2.3.dist-info/WHEEL,,\\ntiny-1.2.3.dist-info/RECORD,,\\n')
`;
  execFileSync('python3', ['-c', write, join(folder, file)]);
  answers.set(`/simple/tiny/${file}`, readFileSync(join(folder, file)));
  answers.set('/simple/tiny/', `<!DOCTYPE html><html><body><a href="${file}">${file}</a></body></html>`);
}

function publishGit(): void {
  const work = mkdtempSync(join(folder, 'git-'));
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.org', ...args], {
      cwd: work,
      stdio: 'pipe',
    });
  git('init', '--initial-branch=main');
  writeFileSync(join(work, 'README'), 'tiny of git\n');
  git('add', '.');
  git('commit', '-m', 'first');
  mkdirSync(join(folder, 'repos'));
  git('clone', '--bare', work, join(folder, 'repos', 'tiny.git'));
}

/** How a program gets `tiny` from a host; `there` is a file that it is a part of where it is to be had. */
const programs = [
  {
    name: 'npm install',
    there: '/usr/bin/npm',
    host: REGISTRY,
    publish: publishNpm,
    get: (from: string) =>
      `mkdir npm; cd npm; npm install tiny --registry ${from} --no-audit --no-fund --fetch-retries=0 --loglevel=error && node -p 'require("tiny")'`,
    got: 'tiny of npm',
  },
  {
    name: 'pip install',
    there: '/usr/bin/pip3',
    host: INDEX,
    publish: publishPip,
    get: (from: string) =>
      `pip3 install -q --retries 0 --disable-pip-version-check --target lib --index-url ${from}/simple tiny && PYTHONPATH=lib python3 -c 'import tiny; print(tiny.said)'`,
    got: 'tiny of pip',
  },
  {
    name: 'git clone',
    there: join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-remote-https'),
    host: FORGE,
    publish: publishGit,
    get: (from: string) => `git clone -q ${from}/repos/tiny.git && cat tiny/README`,
    got: 'tiny of git',
  },
].filter(({ there }) => existsSync(there) && existsSync(dirname(there)));

describe('with the variables of a sandbox, through the proxy,', () => {
  it.each(programs)('$name gets what a listed host has, and is refused another', async program => {
    const { host, publish, get, got } = program;
    publish();
    const denied = await run(
      `mkdir denied; cd denied; ${get(origin(OTHER))}; status=$?; cd /workspace; rm -rf denied; exit $status`,
    );
    expect(denied.exit_code).not.toBe(0);
    expect(denied.output).not.toContain(got);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.every(target => target.startsWith(OTHER))).toBe(true);
    const begun = refused.length;
    const { exit_code, output } = await run(
      `mkdir got; cd got; ${get(origin(host))}; status=$?; cd /workspace; rm -rf got; exit $status`,
    );
    expect([exit_code, output.trim().split('\n').at(-1), refused.slice(begun)]).toEqual([0, got, []]);
  });

  it.each(programs)('$name gets what takes a credential, and has none', async ({ name, get, got }) => {
    if (name === 'npm install') publishNpm(GUARDED);
    const { exit_code, output } = await run(
      `mkdir got; cd got; ${get(origin(GUARDED))}; status=$?; grep -r tok_ .; cd /workspace; rm -rf got; exit $status`,
    );
    expect([exit_code, output.trim().split('\n').at(-1), refused]).toEqual([0, got, []]);
  });
});
