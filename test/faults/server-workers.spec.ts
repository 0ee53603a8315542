/** Servers whose worker is killed, told to end, cut off or stopped: they run elsewhere soon, and never twice at once. */
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { InstancesStore } from '../../src/hosting/tunnels/records/instances.store.js';
import { ServerConnections } from '../../src/hosting/tunnels/running/server-connections.js';
import type { Json } from '../harness/client.js';
import { FaultyProxy } from '../harness/faulty-proxy.js';
import { TestServers } from '../harness/servers.js';
import { type Person, TestService } from '../harness/service.js';
import { Workers } from './workers.js';

/** A program that runs holds a lock that dies with it, and counts in a file how often it began, and how often it was not alone. */
const PROGRAM = `const fs = require('node:fs');
const { spawnSync } = require('node:child_process');
const lock = fs.openSync('lock', 'w');
const alone = spawnSync('flock', ['-n', '3'], { stdio: ['ignore', 'ignore', 'inherit', lock] }).status === 0;
fs.appendFileSync('begun.txt', alone ? 'alone\\n' : 'TWICE\\n');
process.once('SIGTERM', () => { fs.appendFileSync('ended.txt', 'asked\\n'); process.exit(0); });
require('node:http').createServer((request, response) => {
  if (request.url === '/begun') response.write('begun');
  else if (request.url !== '/silent') response.end('here');
}).listen(process.env.PORT);`;

let service: TestService;
let workers: Workers;
let ada: Person;
let workspace: string;
let server: Json;
let serial = 0;

beforeAll(async () => {
  service = await TestService.start({ ROLE: 'api' });
  workers = new Workers({ service, environment: {} });
  ada = await service.person('Ada');
});
afterEach(() => workers.stop());
afterAll(() => service?.stop());

const now = async (): Promise<Json> => (await ada.client.get(`/api/tunnels/${server.id}`)).body;

async function until(isSo: (view: Json) => boolean): Promise<Json> {
  for (;;) {
    const view = await now();
    if (isSo(view)) return view;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

const begun = () =>
  readFileSync(path.join(service.dataDir, 'workspaces', workspace, 'begun.txt'), 'utf8')
    .trim()
    .split('\n');

/** Waits until others take a process for lost, or for found again. */
async function untilSeen(process: string, isThere: boolean): Promise<void> {
  for (;;) {
    const rows = await service.database.query('select from process where id = $1', [process]);
    if (rows.length > 0 === isThere) return;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

/** A server that is to run; it runs once there is a worker. */
async function make(): Promise<void> {
  workspace = await service.workspace(ada);
  const file = { path: 'server.cjs', content: PROGRAM };
  expect((await ada.client.put(`/api/workspaces/${workspace}/files/content`, file)).status).toBe(200);
  const slug = `lasting-${++serial}`;
  const made = await ada.client.post('/api/tunnels', {
    workspace_id: workspace,
    name: slug,
    slug,
    command: 'exec node server.cjs',
    start: true,
  });
  expect([made.status, made.body.detail]).toEqual([200, undefined]);
  server = made.body;
}

/** Its program, reached from this process, which does not run it; with `change` to where its row says that it is. */
async function ask(change: (address: Json) => Json = address => address): Promise<string> {
  const [instances, connections] = [InstancesStore, ServerConnections].map(it =>
    service.app.get(it as never, { strict: false }),
  ) as [InstancesStore, ServerConnections];
  const instance = await instances.current(server.id);
  if (!instance) throw new Error('It does not run');
  const at = { ...instance, address: change(instance.address ?? {}) };
  const socket = await connections.connect(at, AbortSignal.timeout(100_000));
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  return text(socket);
}

/** Where other machines reach it. */
const ported = async (): Promise<number> => {
  const [row] = await service.database.query<{ port: number }>(
    `select (address ->> 'port')::int as port from server_instance where server_id = $1 and state = 'running'`,
    [server.id],
  );
  return row?.port ?? 0;
};

const holder = async (): Promise<string> => {
  const [row] = await service.database.query<{ holder: string }>(
    `select holder from server_instance where server_id = $1 and state = 'running'`,
    [server.id],
  );
  return row?.holder ?? '';
};

describe('a server', () => {
  it('is reached from other processes of its machine, and of others', async () => {
    await make();
    await workers.start({ INTERNAL_ADDRESS: '127.0.0.1:0' });
    await until(({ state }) => state === 'running');
    expect(await ask()).toContain('here');
    expect(await ask(({ path: _path, ...remote }) => remote)).toContain('here');
    expect(await ask(address => ({ ...address, path: '/nowhere/link.sock' }))).toContain('here');
    await expect(ask(({ path }) => ({ path: `${path}.gone` }))).rejects.toThrow('cannot be reached');
    // Without the key of the installation, nothing is said.
    const stranger = connect({ host: '127.0.0.1', port: await ported(), rejectUnauthorized: false });
    await expect(once(stranger, 'secureConnect')).rejects.toThrow();
  });

  it('runs elsewhere when its worker is killed', async () => {
    await make();
    const first = await workers.start();
    await until(({ state }) => state === 'running');
    const before = await holder();
    await workers.start();
    await first.kill();
    while ([before, ''].includes(await holder())) await new Promise(resolve => setTimeout(resolve, 50));
    expect(await until(({ state }) => state === 'running')).toMatchObject({ restarts: 0 });
    expect(begun()).toEqual(['alone', 'alone']);
  });

  it('runs elsewhere at once when its worker is told to end', async () => {
    await make();
    const first = await workers.start();
    await until(({ state }) => state === 'running');
    const before = await holder();
    await workers.start();
    expect(await first.stop()).toBe(0);
    expect(first.errors).toEqual([]);
    while ([before, ''].includes(await holder())) await new Promise(resolve => setTimeout(resolve, 50));
    expect(begun()).toEqual(['alone', 'alone']);
  });

  it('runs again when the service starts', async () => {
    await make();
    await workers.start();
    await until(({ state }) => state === 'running');
    await workers.kill();
    await workers.start();
    await until(({ state, instance }) => state === 'running' && instance !== null);
    while (begun().length < 2) await new Promise(resolve => setTimeout(resolve, 50));
    expect(begun()).toEqual(['alone', 'alone']);
  });

  it('is ended by a worker that loses its database, before another one takes it over', async () => {
    await make();
    const proxy = await FaultyProxy.start(service.database.url);
    try {
      const first = await workers.start({ DATABASE_URL: proxy.through(service.database.url) });
      await until(({ state }) => state === 'running');
      const before = await holder();
      await workers.start();
      // By its next heartbeat, the first one knows the other.
      const seen = `select from process where id = $1 and seen_at > $2`;
      const [{ now: started } = { now: null }] = await service.database.query<Json>('select now()');
      while ((await service.database.query(seen, [before, started])).length === 0)
        await new Promise(resolve => setTimeout(resolve, 50));
      proxy.swallow();
      while ([before, ''].includes(await holder())) await new Promise(resolve => setTimeout(resolve, 50));
      expect(await until(({ state }) => state === 'running')).toMatchObject({ restarts: 0 });
      expect(begun()).toEqual(['alone', 'alone']);
      proxy.pass();
      await first.stop();
    } finally {
      await proxy.stop();
    }
  });

  describe('whose only worker loses its database', () => {
    let proxy: FaultyProxy;
    let first: string;

    beforeEach(async () => {
      await make();
      proxy = await FaultyProxy.start(service.database.url);
      await workers.start({ DATABASE_URL: proxy.through(service.database.url) });
      await until(({ state }) => state === 'running');
      first = await holder();
      proxy.refuse();
      proxy.reset();
      // Long after its lease is over.
      await untilSeen(first, false);
    });
    afterEach(async () => {
      await workers.stop();
      await proxy.stop();
    });

    it('goes on, and is reached', async () => {
      expect(await ask()).toContain('here');
      proxy.pass();
      await untilSeen(first, true);
      expect(await until(({ state }) => state === 'running')).toMatchObject({ restarts: 0, last_exit: null });
      expect([await ask(), await holder(), begun()]).toEqual([
        expect.stringContaining('here'),
        first,
        ['alone'],
      ]);
    });

    it('ends when that one is back and finds that another one has begun meanwhile', async () => {
      await workers.start();
      while ([first, ''].includes(await holder())) await new Promise(resolve => setTimeout(resolve, 50));
      proxy.pass();
      const ended = path.join(service.dataDir, 'workspaces', workspace, 'ended.txt');
      while (!existsSync(ended)) await new Promise(resolve => setTimeout(resolve, 50));
      expect(await until(({ state }) => state === 'running')).toMatchObject({ restarts: 0 });
      expect(await holder()).not.toBe(first);
    });
  });

  it('is not run twice while its worker stands still, and wakes', async () => {
    await make();
    const first = await workers.start();
    await until(({ state }) => state === 'running');
    const before = await holder();
    await workers.start();
    await ada.client.put(`/api/tunnel-access/${server.id}`, { mode: 'public' });
    const servers = new TestServers(service, ada.client, workspace);
    const begunAnswer = await servers.ask(server, '/begun');
    const silent = servers.text(server, '/silent', { method: 'POST' });
    const broken = expect(text(begunAnswer)).rejects.toThrow('aborted');
    first.pause();
    // The program itself goes on meanwhile; it must be dead before another one begins.
    while ([before, ''].includes(await holder())) await new Promise(resolve => setTimeout(resolve, 50));
    // Its connections are still open: who waits is told.
    expect((await silent).status).toBe(502);
    await broken;
    first.resume();
    // On a busy machine more than one worker may be taken for lost, and it begins once more.
    expect(begun().length).toBeGreaterThanOrEqual(2);
    expect(begun()).not.toContain('TWICE');
  });
});
