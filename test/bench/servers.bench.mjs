/**
 * Servers: libs/reverse-proxy against nginx, the way into a sandbox against a port of the machine, waking against starting a sandbox
 * by hand, and what open and aborted connections leave behind. Load of requests comes from wrk where it is installed.
 */
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import {
  atelier,
  bench,
  compare,
  folder,
  freePort,
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
const wrk = programOf('wrk');
const floors = new URL('./floors/', import.meta.url).pathname;

async function rate(url, headers = {}) {
  if (!wrk) return requestsPerSecond(url, { headers, ms: MS });
  const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const text = execFileSync(wrk, ['-t1', '-c16', `-d${MS / 1000}s`, ...given, url], { encoding: 'utf8' });
  if (/Non-2xx|Socket errors/.test(text)) throw new Error(`${url} was not answered well: ${text}`);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]);
}

/** A program of this machine; resolves when it listens. */
async function start(file, args, env = {}) {
  const child = spawn(process.execPath, [path.join(floors, file), ...args.map(String)], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onEnd(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
}

/** A WebSocket as far as its handshake; what follows are bytes. */
async function openSocket(port, headers, localAddress) {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true, localAddress });
  const lines = Object.entries({
    Host: 'localhost',
    ...headers,
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET / HTTP/1.1\r\n${lines.join('')}\r\n`);
  const [head] = await once(socket, 'data');
  if (!String(head).startsWith('HTTP/1.1 101')) throw new Error(`No WebSocket: ${head}`);
  return socket;
}

/** Messages of 64 bytes a second, there and back, over 16 sockets. */
async function echoes(port, headers = {}) {
  const sockets = await Promise.all(Array.from({ length: 16 }, () => openSocket(port, headers)));
  const message = Buffer.alloc(64, 'x');
  let count = 0;
  for (const socket of sockets) {
    let got = 0;
    socket.on('data', bytes => {
      got += bytes.length;
      if (got < message.length) return;
      got = 0;
      count++;
      socket.write(message);
    });
    socket.write(message);
  }
  await new Promise(resolve => setTimeout(resolve, MS / 4));
  count = 0;
  await new Promise(resolve => setTimeout(resolve, MS));
  for (const socket of sockets) socket.destroy();
  return count / (MS / 1000);
}

class Servers {
  constructor({ url, credentials, dataDir, child }) {
    Object.assign(this, { url, dataDir, pid: child.pid, workspaceId: credentials.workspace_id });
    this.port = Number(new URL(url).port);
    this.headers = { 'x-api-key': credentials.api_key };
  }

  async json(method, at, body) {
    const response = await fetch(this.url + at, {
      method,
      headers: { ...this.headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${method} ${at} answered ${response.status}: ${answer.detail}`);
    return answer;
  }

  /** A server that runs, open to everybody. */
  async make(slug, settings = {}) {
    const file = path.join(this.dataDir, 'workspaces', this.workspaceId, 'program.cjs');
    writeFileSync(file, readFileSync(path.join(floors, 'program.cjs')));
    const made = await this.json('POST', '/api/tunnels', {
      workspace_id: this.workspaceId,
      name: slug,
      slug,
      command: 'exec node program.cjs',
      start: false,
      ...settings,
    });
    await this.json('PUT', `/api/tunnel-access/${made.id}`, { mode: 'public' });
    const started = await this.json('POST', `/api/tunnels/${made.id}/start`, { wait: 30 });
    if (started.state !== 'running') throw new Error(`The server is ${started.state}: ${started.reason}`);
    return started;
  }

  hostOf(slug) {
    return `${slug}.servers.localhost:${this.port}`;
  }
}

const proxied = target => `
  map $http_upgrade $upgrading { default upgrade; '' ''; }
  upstream program { server 127.0.0.1:${target}; keepalive 32; }`;
const forwarding = `location / { proxy_pass http://program; proxy_http_version 1.1; proxy_buffering off;
  proxy_set_header Host $host; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $upgrading; }`;

async function forwardingSpeed(servers) {
  const [target, ours] = [await freePort(), await freePort()];
  await start('program.cjs', [], { PORT: String(target) });
  await start('forwarding.mjs', [ours, target]);
  const program = programOf('nginx');
  if (!program) skip('the proxy against nginx', 'nginx is not installed (apt-get install nginx-light)');
  const floor = program && (await nginx(program, folder(), 1, { http: proxied(target), server: forwarding }));
  const host = { Host: servers.hostOf('bench') };
  for (const [name, at, goal] of [
    ['small', '/', 'goal >= 0.55'],
    ['1 MiB', '/large', 'goal >= 0.6; 0.85 wanted'],
  ]) {
    if (floor) {
      const { ours: one, floor: other } = await compare(
        ROUNDS,
        () => rate(`http://127.0.0.1:${ours}${at}`),
        () => rate(floor + at),
      );
      report(`proxy, ${name} / nginx`, one / other, goal, `${one | 0} of ${other | 0} requests/s`);
    }
    const { ours: one, floor: other } = await compare(
      ROUNDS,
      () => rate(servers.url + at, host),
      () => rate(`http://127.0.0.1:${ours}${at}`),
    );
    report(
      `through the door, ${name} / TCP`,
      one / other,
      'goal >= 0.5',
      `${one | 0} of ${other | 0} requests/s`,
    );
  }
  if (!floor) return;
  const { ours: one, floor: other } = await compare(
    ROUNDS,
    () => echoes(ours),
    () => echoes(Number(new URL(floor).port)),
  );
  report('WebSocket echo / nginx', one / other, 'goal >= 0.9', `${one | 0} of ${other | 0} messages/s`);
}

/** From a request for a server that sleeps to its answer, against a sandbox made by hand. */
async function waking(servers) {
  const bwrap = programOf('bwrap');
  if (!bwrap) return skip('waking', 'bubblewrap is not installed');
  const server = await servers.make('sleepy', { sleep_after_seconds: 1 });
  const bare = `require('http').createServer().listen(0, '127.0.0.1', () => process.exit())`;
  const { ours, floor } = await compare(
    ROUNDS,
    async () => {
      for (;;) {
        const { state } = await servers.json('GET', `/api/tunnels/${server.id}`);
        if (state === 'sleeping') break;
        await new Promise(resolve => setTimeout(resolve, 100));
      }
      const begun = performance.now();
      const answer = await requestOnce(servers.port, servers.hostOf('sleepy'));
      if (!answer.startsWith('HTTP/1.1 200')) throw new Error(`It did not wake: ${answer}`);
      return performance.now() - begun;
    },
    () => {
      const begun = performance.now();
      const options = ['--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', '--unshare-all'];
      execFileSync(bwrap, [...options, process.execPath, '-e', bare]);
      return performance.now() - begun;
    },
  );
  report('wake / bwrap + node', ours / floor, 'goal <= 1.3', `${ours | 0} of ${floor | 0} ms`);
}

async function requestOnce(port, host) {
  const socket = net.connect(port, '127.0.0.1');
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  let text = '';
  for await (const bytes of socket) text += bytes;
  return text;
}

/** What 1,000 open sockets take of the service. */
async function idleSockets(servers) {
  const host = { Host: servers.hostOf('bench') };
  (await openSocket(servers.port, host)).destroy();
  const before = memoryMb(servers.pid);
  const sockets = [];
  // From several addresses: one may have so many open at once.
  for (let n = 0; n < 1000; n += 50)
    sockets.push(
      ...(await Promise.all(
        Array.from({ length: 50 }, () => openSocket(servers.port, host, `127.0.0.${2 + n / 50}`)),
      )),
    );
  report('1,000 idle WebSockets, MB', memoryMb(servers.pid) - before, 'goal <= 20', '');
  for (const socket of sockets) socket.destroy();
}

/** Descriptors that are left after requests whose clients went away. */
async function aborted(servers) {
  const descriptors = () => readdirSync(`/proc/${servers.pid}/fd`).length;
  const before = descriptors();
  const host = servers.hostOf('bench');
  const one = async () => {
    const socket = net.connect(servers.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`GET /large HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    await once(socket, 'data');
    socket.destroy();
  };
  let left = 10_000;
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (left-- > 0) await one();
    }),
  );
  // Spare connections of the sandbox come back.
  let now = descriptors();
  for (let tries = 0; tries < 50 && now > before + 20; tries++) {
    await new Promise(resolve => setTimeout(resolve, 100));
    now = descriptors();
  }
  report('descriptors left after 10,000 aborted', now - before, 'goal <= 20: spare connections', '');
}

await bench(async () => {
  const servers = new Servers(await atelier({ RATE_LIMITS_PER_MINUTE: 'credential=0,hosted=0' }));
  await servers.make('bench');
  await forwardingSpeed(servers);
  await waking(servers);
  await aborted(servers);
  await idleSockets(servers);
});
