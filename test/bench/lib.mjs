/** What the benches share: servers as processes of their own, load, medians, one line a result. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, chmodSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startPostgres } from '../../dist/libs/embedded-postgres/index.js';

const cleanups = [];

/** Runs `work`, then ends all that was started, whatever happened. */
export async function bench(work) {
  try {
    await work();
  } finally {
    for (const clean of cleanups.splice(0).reverse()) await clean();
  }
}

/** To be done when all is over, last first. */
export function onEnd(clean) {
  cleanups.push(clean);
}

export function folder() {
  const made = mkdtempSync(path.join(tmpdir(), 'atelier-bench-'));
  chmodSync(made, 0o755);
  cleanups.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** A process that prints `ready PORT` or the service's welcome; resolves with its address. */
export async function serve(args, env = {}) {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
  });
  cleanups.push(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  });
  const started = performance.now();
  const url = await new Promise((resolve, reject) => {
    let output = '';
    child.stdout.on('data', chunk => {
      output += chunk;
      const [, address] = /ready(?: at)? (\S+)/.exec(output) ?? [];
      if (address) resolve(address);
    });
    child.once('exit', () => reject(new Error(`${args.join(' ')} ended: ${output}`)));
  });
  return { url, child, startMs: performance.now() - started };
}

/** The service, seeded, on the embedded database. */
export async function atelier(env = {}) {
  const DATA_DIR = env.DATA_DIR ?? folder();
  const port = await freePort();
  const settings = {
    PORT: String(port),
    HOST: '127.0.0.1',
    LOG_LEVEL: 'warn',
    RATE_LIMITS_PER_MINUTE: 'credential=0',
    STREAM_LIMITS: 'credential=0,owner=0',
    DATA_DIR,
    ...env,
  };
  const service = await serve(['dist/bundle/main.js'], settings);
  const credentials = JSON.parse(readFileSync(path.join(DATA_DIR, 'credentials.json'), 'utf8'));
  return { ...service, url: `http://127.0.0.1:${port}`, credentials, dataDir: DATA_DIR, env: settings };
}

/** Asks a process to end, and waits for it. */
export async function stopped(child) {
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

/** A database and a data folder that the service has seeded; ends after the servers that use it. */
export async function database(DATA_DIR = folder()) {
  const seed = await atelier({ DATA_DIR });
  await stopped(seed.child);
  const postgres = await startPostgres({ dataDir: path.join(DATA_DIR, 'postgres'), database: 'atelier' });
  cleanups.push(() => postgres.stop());
  return { DATA_DIR, DATABASE_URL: postgres.url };
}

export async function postJson(url, headers, body) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return response.json();
}

/** Resident memory of a process. */
export const memoryMb = pid =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

/** The most resident memory that a process has had, since the last {@link resetPeakMemory} if there was one. */
export const peakMemoryMb = pid =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

export function resetPeakMemory(pid) {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** Processor time that a process has used, in user and system mode. */
export function cpuMs(pid) {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13);
  // In ticks of 10 ms on Linux.
  return (Number(user) + Number(system)) * 10;
}

export async function freePort() {
  const server = http.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

/**
 * Requests a second over `connections` kept-alive connections for `ms`, after a warm-up of a quarter of that; POSTs where
 * there is a body. `onAnswer` is told of each, the warm-up's too.
 */
export async function requestsPerSecond(
  url,
  { headers = {}, body, connections = 16, ms = 2000, onAnswer = () => {} } = {},
) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  const target = new URL(url);
  let counted = 0;
  let counting = false;
  const end = performance.now() + ms * 1.25;
  setTimeout(() => {
    counting = true;
  }, ms / 4);
  const once = () =>
    new Promise((resolve, reject) => {
      http
        .request(target, { agent, headers, method: body === undefined ? 'GET' : 'POST' }, response => {
          if (response.statusCode !== 200) reject(new Error(`${url} answered ${response.statusCode}`));
          response.resume();
          response.once('end', resolve);
        })
        .once('error', reject)
        .end(body);
    });
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < end) {
        await once();
        onAnswer();
        if (counting) counted++;
      }
    }),
  );
  agent.destroy();
  return (counted / ms) * 1000;
}

export const median = values => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** Interleaves measurements of two things so that both meet the same weather; returns both medians. */
export async function compare(rounds, ours, floor) {
  const results = { ours: [], floor: [] };
  for (let round = 0; round < rounds; round++) {
    results.floor.push(await floor());
    results.ours.push(await ours());
  }
  return { ours: median(results.ours), floor: median(results.floor) };
}

/** One result: `name  0.72 (goal >= 0.6)  detail`. */
export function report(name, ratio, goal, detail) {
  process.stdout.write(`${name.padEnd(34)} ${ratio.toFixed(2).padStart(7)}  ${goal.padEnd(16)} ${detail}\n`);
}

/** Where a program is; undefined where it is not installed. */
export function programOf(name) {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/sbin'];
  return folders.map(at => path.join(at, name)).find(isExecutable);
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false; // absent or closed
  }
}

export const skip = (name, what) => process.stdout.write(`${name}: skipped, ${what}\n`);

/** Serves a folder; nothing is logged, two processes, files sent by the kernel: how one would run it. */
export async function nginx(program, root, workers = 2, more = { http: '', server: '' }) {
  const at = folder();
  const port = await freePort();
  writeFileSync(
    path.join(at, 'nginx.conf'),
    `daemon off; worker_processes ${workers}; pid ${at}/pid; error_log ${at}/error.log;
    ${process.getuid() === 0 ? 'user root;' : ''}
    events {}
    http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
      ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${at}/${name};`).join(' ')}
      ${more.http}
      server { listen 127.0.0.1:${port}; root ${root}; ${more.server} } }`,
  );
  const child = spawn(program, ['-p', at, '-c', path.join(at, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  onEnd(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  });
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 50; tries++) {
    if (await fetch(url).catch(() => undefined)) return url;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  throw new Error('nginx does not answer');
}
