/**
 * A clone of 10,000 files by the service (operation, sandbox, credential, change log) against git outside; and requests that get a
 * credential on their way against a blind tunnel through the same proxy.
 */
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { promisify } from 'node:util';
import { CertificateAuthority, EgressProxy } from '../../dist/libs/egress-proxy/index.js';
import { Config } from '../../dist/src/platform/config/index.js';
import { createLog } from '../../dist/src/platform/log/index.js';
import { createServer } from '../../dist/src/server.js';
import { Exchanges } from '../../dist/src/workspaces/egress/exchanges.js';
import { bench, compare, database, folder, freePort, onEnd, postJson, report, serve } from './lib.mjs';

const FILES = 10_000;
const CLONES = 5;
const REQUESTS = 400;
const ADDRESS = '127.0.0.3';

const send = async (method, url, headers, body) => {
  const init = {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  };
  const response = await fetch(url, init);
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return response.json();
};

function makeRepository(repositories) {
  const work = path.join(repositories, 'work');
  mkdirSync(work);
  for (let at = 0; at < FILES; at++) {
    if (at % 100 === 0) mkdirSync(path.join(work, `d${at / 100}`));
    writeFileSync(path.join(work, `d${Math.floor(at / 100)}`, `f${at}.txt`), `${at}\n`.repeat(50));
  }
  const git = (...args) => execFileSync('git', args, { cwd: work, stdio: 'pipe' });
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('-c', 'user.name=A', '-c', 'user.email=a@example.com', 'commit', '-qm', 'first');
  git('clone', '-q', '--bare', '.', '../large.git');
}

/** The proxy on a socket, with a rule for the host or with a tunnel to it. */
async function proxyTo(host, port, authority, isInspected) {
  const value = async () => ({ header: 'Bearer key-of-a-bench', secrets: ['key-of-a-bench'] });
  const rule = { key: 'bench', host, port, methods: ['GET'], paths: ['/'], header: 'Authorization', value };
  const proxy = new EgressProxy({
    hosts: isInspected ? [] : [host],
    ports: [port],
    allows: () => true,
    forwarder: new Exchanges(),
    ...(isInspected && {
      inspection: {
        authority,
        rules: [rule],
        onUse: () => {},
        allows: () => true,
      },
    }),
  });
  const socket = path.join(folder(), 'proxy.sock');
  await proxy.listen(socket);
  onEnd(() => proxy.close());
  return socket;
}

/** Asks through the proxy from a process of its own, as a sandbox would. */
async function asked(socket, target, authority, at, count) {
  const args = ['test/bench/floors/tunnel-client.mjs', socket, target, authority, at, String(count)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout);
}

await bench(async () => {
  const repositories = folder();
  makeRepository(repositories);
  const forge = (await serve(['test/bench/floors/forge.mjs', repositories, ADDRESS])).url;
  const port = Number(forge.split(':')[1]);
  const certificate = readFileSync(path.join(repositories, 'cert.pem'), 'utf8');
  setDefaultCACertificates([...getCACertificates('default'), certificate]);

  const authority = new CertificateAuthority('Bench');
  const own = path.join(repositories, 'authority.pem');
  writeFileSync(own, authority.certificate);
  const inspected = [await proxyTo(ADDRESS, port, authority, true), forge, own];
  const blind = [await proxyTo(ADDRESS, port, authority, false), forge, path.join(repositories, 'cert.pem')];
  const small = place => async () => {
    const { ms } = await asked(...place, '/small', REQUESTS);
    return (REQUESTS / ms) * 1000;
  };
  const large = place => async () => {
    const { ms, bytes } = await asked(...place, '/large', 2);
    return bytes / 1024 / 1024 / (ms / 1000);
  };
  const requests = await compare(7, small(inspected), small(blind));
  report(
    'request with a credential / tunnel',
    requests.ours / requests.floor,
    'goal >= 0.5',
    `${requests.ours.toFixed(0)} of ${requests.floor.toFixed(0)} a second`,
  );
  const stream = await compare(7, large(inspected), large(blind));
  report(
    'stream with a credential / tunnel',
    stream.ours / stream.floor,
    'goal >= 0.5',
    `${stream.ours.toFixed(0)} of ${stream.floor.toFixed(0)} MiB a second`,
  );

  const { DATA_DIR, DATABASE_URL } = await database();
  const { api_key, organization_id, workspace_id } = JSON.parse(
    readFileSync(path.join(DATA_DIR, 'credentials.json'), 'utf8'),
  );
  const PORT = String(await freePort());
  const config = Config.from({
    DATABASE_URL,
    DATA_DIR,
    PORT,
    HOST: '127.0.0.1',
    LOG_LEVEL: 'error',
    RATE_LIMITS_PER_MINUTE: 'credential=0',
    OUTGOING_PRIVATE_HOSTS: forge,
  });
  const app = await createServer({
    config,
    log: createLog(config),
    database: { connectionString: DATABASE_URL },
  });
  await app.listen(config.port, '127.0.0.1');
  onEnd(() => app.close());
  const url = `http://127.0.0.1:${PORT}/api`;
  const key = { 'x-api-key': api_key };
  const definition = {
    id: 'forge',
    name: 'Forge',
    docs: 'https://forge.example.com/docs',
    auth: 'api_key',
    api: { base_url: `https://${forge}`, hosts: [], header: 'X-Key', template: '{api_key}' },
    git: { hosts: [forge], username: 'git' },
    fields: [{ name: 'api_key', label: 'Key', secret: true }],
  };
  await postJson(`${url}/integrations/providers`, key, { organization_id, definition });
  const fields = { api_key: 'key-of-a-bench' };
  const made = await postJson(`${url}/integrations`, key, { organization_id, provider: 'forge', fields });
  await send('PUT', `${url}/integrations/${made.connection.id}/workspaces`, key, {
    grants: [{ workspace_id }],
  });
  const remote = `https://${forge}/large.git`;
  let count = 0;
  const ours = async () => {
    const begun = performance.now();
    const input = { workspace_id, url: remote, path: `clone-${count++}` };
    const { operation_id } = await postJson(`${url}/git-repos`, key, input);
    const events = await fetch(`${url}/operations/${operation_id}/events`, { headers: key });
    const said = await events.text();
    if (!said.includes('operation.completed')) throw new Error(said.slice(-1000));
    const took = performance.now() - begun;
    const removed = { command: `rm -rf ${input.path}` };
    await postJson(`${url}/workspaces/${workspace_id}/tools/bash`, key, { input: removed });
    return took;
  };
  const outside = async () => {
    const place = mkdtempSync(path.join(repositories, 'outside-'));
    const env = { ...process.env, GIT_SSL_CAINFO: path.join(repositories, 'cert.pem') };
    const begun = performance.now();
    await promisify(execFile)('git', ['clone', '-q', remote, 'got'], { cwd: place, env });
    const took = performance.now() - begun;
    rmSync(place, { recursive: true });
    return took;
  };
  const clones = await compare(CLONES, ours, outside);
  report(
    'git clone of 10,000 files / outside',
    clones.ours / clones.floor,
    'goal <= 1.3',
    `${clones.ours.toFixed(0)} of ${clones.floor.toFixed(0)} ms`,
  );
});
