/**
 * Hosted sites against nginx, both in one process: small and large files, visitors with a token against everybody, how soon a promotion
 * is served, how long a version of 1,000 files takes to publish, what aborted downloads leave behind, and what the API
 * has of a gateway with many visitors. Load comes from wrk
 * where it is installed, as a client in Node.js costs more than what it measures.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import {
  atelier,
  bench,
  compare,
  cpuMs,
  database,
  folder,
  freePort,
  median,
  memoryMb,
  nginx,
  onEnd,
  programOf,
  report,
  requestsPerSecond,
  skip,
} from './lib.mjs';

const MS = 2000;
const ROUNDS = 3;
const SLUG = 'bench';

const wrk = programOf('wrk');
const agent = new http.Agent({ keepAlive: true });

/** Requests a second with 16 connections. */
async function rate(url, headers = {}) {
  if (!wrk) return requestsPerSecond(url, { headers, ms: MS });
  const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const text = execFileSync(wrk, ['-t1', '-c16', `-d${MS / 1000}s`, ...given, url], { encoding: 'utf8' });
  if (/Non-2xx|Socket errors/.test(text)) throw new Error(`${url} was not answered well: ${text}`);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]);
}

class Sites {
  constructor({ url, credentials, dataDir }) {
    Object.assign(this, { url, workspaceId: credentials.workspace_id, dataDir });
    this.headers = { 'x-api-key': credentials.api_key };
  }

  async json(method, at, body) {
    const headers = { ...this.headers, ...(body && { 'content-type': 'application/json' }) };
    const response = await fetch(`${this.url}${at}`, { method, headers, body: body && JSON.stringify(body) });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${at} answered ${response.status}: ${answer.detail}`);
    return answer;
  }

  /** A site of a folder that has these files, and that nobody has published yet. */
  async make(slug, files) {
    const root = this.folderOf(slug);
    mkdirSync(root, { recursive: true });
    for (const [name, content] of Object.entries(files)) writeFileSync(path.join(root, name), content);
    const given = { workspace_id: this.workspaceId, name: slug, slug, folder: slug };
    return this.json('POST', '/api/sites', given);
  }

  async publish(id) {
    const { id: version } = await this.json('POST', `/api/sites/${id}/versions`, { auto_promote: true });
    const built = await this.json('GET', `/api/sites/${id}/versions/${version}?wait=60`);
    if (built.state !== 'live') throw new Error(`The version is ${built.state}: ${built.error}`);
    return built;
  }

  folderOf(slug) {
    return path.join(this.dataDir, 'workspaces', this.workspaceId, slug);
  }

  hostOf(slug) {
    return `${slug}.sites.localhost:${new URL(this.url).port}`;
  }
}

const small = Buffer.alloc(10 * 1024, 'x');
const large = Buffer.alloc(1024 * 1024, 'x');

async function speed(sites, id, pid) {
  const program = programOf('nginx');
  const headers = { Host: sites.hostOf(SLUG) };
  const floor = program && (await nginx(program, sites.folderOf(SLUG), 1));
  if (!program) skip('static against nginx', 'nginx is not installed (apt-get install nginx-light)');
  for (const [name, goal] of [
    ['small.bin', 'goal >= 0.4'],
    ['large.bin', 'goal >= 1.0'],
  ]) {
    await rate(`${sites.url}/${name}`, headers);
    const cpu = cpuMs(pid);
    let ours = 0;
    const mine = async () => {
      const found = await rate(`${sites.url}/${name}`, headers);
      ours += found * (MS / 1000);
      return found;
    };
    const result = await compare(ROUNDS, mine, () => (floor ? rate(`${floor}/${name}`) : 1));
    const each = ((cpuMs(pid) - cpu) / ours) * 1000;
    if (floor)
      report(
        `static ${name === 'small.bin' ? '10 KiB' : '1 MiB'} / nginx`,
        result.ours / result.floor,
        goal,
        `${result.ours | 0} of ${result.floor | 0} requests/s; ${each.toFixed(0)} µs CPU each`,
      );
  }
  const { token } = await sites.json('POST', `/api/site-access/${id}/tokens`, { name: 'bench' });
  const asProgram = { ...headers, 'x-atelier-access': token };
  const open = async () => rate(`${sites.url}/small.bin`, headers);
  const results = { restricted: [], everybody: [] };
  for (let round = 0; round < ROUNDS; round++) {
    await sites.json('PUT', `/api/site-access/${id}`, { mode: 'public' });
    results.everybody.push(await open());
    await sites.json('PUT', `/api/site-access/${id}`, { mode: 'workspace' });
    results.restricted.push(await rate(`${sites.url}/small.bin`, asProgram));
  }
  const [restricted, everybody] = [median(results.restricted), median(results.everybody)];
  const figures = `${restricted | 0} of ${everybody | 0} requests/s`;
  report('with a token / public', restricted / everybody, 'goal >= 0.9', figures);
  await sites.json('PUT', `/api/site-access/${id}`, { mode: 'public' });
}

/** What is at an address; `fetch` sends no Host of its caller's. */
async function textOf(url, headers) {
  const request = http.get(url, { headers, agent });
  const [response] = await once(request, 'response');
  return text(response);
}

/** From before the request to promote until the other version is served, by the API's own process or by a gateway. */
async function promotions(sites, id, served = sites.url, where = '') {
  const at = `/api/sites/${id}/versions`;
  const { items } = await sites.json('GET', at);
  const versions = items.filter(({ state }) => state === 'live' || state === 'built').slice(0, 2);
  const times = [];
  for (let n = 0; n < 100; n++) {
    const { id: version, number } = versions[n % 2];
    const start = performance.now();
    await sites.json('POST', `${at}/${version}/promote`, { pause_auto_promote: false });
    let shown;
    do shown = await textOf(`${served}/version.txt`, { Host: sites.hostOf(SLUG) });
    while (where && shown !== String(number));
    times.push(performance.now() - start);
    if (shown !== String(number)) throw new Error(`Version ${shown} is served after ${number} was promoted`);
  }
  const sorted = times.sort((a, b) => a - b);
  report(`promote -> served${where}, ms p99`, sorted[98], 'goal <= 100', `p50 ${sorted[49].toFixed(1)} ms`);
}

/** Once the compressed forms of a site's files are made: they come after its version, and take processors of the next one. */
async function compressed(sites, slug) {
  const headers = { Host: sites.hostOf(slug), 'accept-encoding': 'br' };
  for (;;) {
    const request = http.get(`${sites.url}/f0.html`, { headers, agent });
    const [response] = await once(request, 'response');
    response.resume();
    if (response.headers['content-encoding'] === 'br') return;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

async function publishing(sites) {
  const files = Object.fromEntries(
    Array.from({ length: 1000 }, (_, n) => [`f${n}.html`, `<h1>${n}</h1>${'text '.repeat(400)}`]),
  );
  const { id } = await sites.make('thousand', files);
  await sites.json('PUT', `/api/site-access/${id}`, { mode: 'public' });
  const source = sites.folderOf('thousand');
  const times = { ours: [], floor: [], forms: [] };
  for (let round = 0; round < ROUNDS; round++) {
    const target = folder();
    const start = performance.now();
    cpSync(source, target, { recursive: true });
    spawnSync('sh', ['-c', `sha256sum ${target}/* > /dev/null; sync -f ${target}`]);
    times.floor.push(performance.now() - start);
    // Bytes that are stored already would not be stored again.
    for (const name of Object.keys(files)) writeFileSync(path.join(source, name), `${round}${files[name]}`);
    const begun = performance.now();
    await sites.publish(id);
    times.ours.push(performance.now() - begun);
    await compressed(sites, 'thousand');
    times.forms.push(performance.now() - begun);
  }
  const [ours, floor] = [median(times.ours), median(times.floor)];
  const figures = `${ours | 0} of ${floor | 0} ms; with br and gzip after ${median(times.forms) | 0} ms`;
  report('1,000 files / cp + sha256sum', ours / floor, 'goal <= 3', figures);
}

/** Downloads of 1 MiB whose client goes away after the first bytes. */
async function aborted(sites, pid) {
  const { port } = new URL(sites.url);
  const one = async () => {
    const socket = net.connect(Number(port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`GET /large.bin HTTP/1.1\r\nHost: ${sites.hostOf(SLUG)}\r\n\r\n`);
    await once(socket, 'data');
    socket.destroy();
  };
  const many = async count => {
    let left = count;
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        while (left-- > 0) await one();
      }),
    );
  };
  await many(2000);
  const before = memoryMb(pid);
  await many(10_000);
  const after = memoryMb(pid);
  report('memory after 10,000 aborted', after / before, 'flat', `${after | 0} of ${before | 0} MB`);
}

/** The API while a gateway of its own has visitors, against the API alone: both share the processors of this machine. */
async function besideGateway() {
  const shared = await database();
  const api = await atelier(shared);
  const sites = new Sites(api);
  const { id } = await sites.make(SLUG, { 'index.html': small, 'version.txt': '1' });
  await sites.json('PUT', `/api/site-access/${id}`, { mode: 'public' });
  await sites.publish(id);
  writeFileSync(path.join(sites.folderOf(SLUG), 'version.txt'), '2');
  await sites.publish(id);
  const port = await freePort();
  const gateway = `http://127.0.0.1:${port}`;
  const begin = (args, env) => {
    const child = spawn(process.execPath, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child.stdout.resume();
    onEnd(() => child.kill('SIGKILL'));
    return child;
  };
  const settings = {
    ...api.env,
    ROLE: 'gateway',
    PORT: String(port),
    RATE_LIMITS_PER_MINUTE: 'credential=0,hosted=0',
  };
  begin(['dist/bundle/main.js'], settings);
  while (!(await fetch(`${gateway}/api/health`).catch(() => undefined)))
    await new Promise(resolve => setTimeout(resolve, 50));
  await promotions(sites, id, gateway, ' by a gateway');
  /** Milliseconds of the slowest of a hundred. */
  const p99 = async () => {
    const times = [];
    for (let n = 0; n < 400; n++) {
      const start = performance.now();
      await sites.json('GET', `/api/sites/${id}`);
      times.push(performance.now() - start);
      await new Promise(resolve => setTimeout(resolve, 5));
    }
    return times.sort((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1];
  };
  await p99();
  const { ours, floor } = await compare(
    ROUNDS,
    async () => {
      const visitors = begin(['test/bench/floors/visitors.mjs', `${gateway}/`, sites.hostOf(SLUG)]);
      await once(visitors.stdout, 'data');
      const found = await p99();
      const ended = once(visitors, 'exit');
      visitors.kill('SIGKILL');
      await ended;
      return found;
    },
    p99,
  );
  report(
    'API p99 beside a gateway / alone',
    ours / floor,
    'goal <= 1.2',
    `${ours.toFixed(1)} of ${floor.toFixed(1)} ms`,
  );
}

await bench(async () => {
  const service = await atelier({ RATE_LIMITS_PER_MINUTE: 'credential=0,hosted=0' });
  const sites = new Sites(service);
  const files = { 'index.html': '<h1>Hello</h1>', 'small.bin': small, 'large.bin': large };
  const { id } = await sites.make(SLUG, { ...files, 'version.txt': '1' });
  await sites.json('PUT', `/api/site-access/${id}`, { mode: 'public' });
  await sites.publish(id);
  if (!wrk) skip('load by wrk', 'it is not installed (apt-get install wrk); a client in Node.js is used');
  await speed(sites, id, service.child.pid);
  writeFileSync(path.join(sites.folderOf(SLUG), 'version.txt'), '2');
  await sites.publish(id);
  await promotions(sites, id);
  await publishing(sites);
  await aborted(sites, service.child.pid);
});
await bench(besideGateway);
