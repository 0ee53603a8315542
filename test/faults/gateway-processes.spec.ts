import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../harness/free-port.js';
import { TestService } from '../harness/service.js';
import { Visitor } from '../harness/visitor.js';
import { ServiceProcess } from './service-process.js';

let service: TestService;
let gateway: ServiceProcess;
let port: number;

beforeAll(async () => {
  service = await TestService.start();
  port = await freePort();
  gateway = await ServiceProcess.start(service, {
    ROLE: 'gateway',
    GATEWAY_PROCESSES: '2',
    PORT: String(port),
  });
});
afterAll(async () => {
  await gateway?.stop();
  await service?.stop();
});

const visit = (address: string, host: string) =>
  new Visitor(`http://127.0.0.1:${port}`).visit(address, { host });
const childrenOf = (pid: number) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);

/** How many processes listen on the port of the gateway. */
const listening = () => {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const sockets = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  return sockets.filter(line => new RegExp(`^ *\\d+: [0-9A-F]{8}:${hex} [0-9A-F]{8}:0000 0A `).test(line))
    .length;
};

async function until<T>(look: () => T | Promise<T>, isEnough: (found: T) => boolean): Promise<T> {
  for (;;) {
    const found = await look();
    if (isEnough(found)) return found;
    await sleep(50);
  }
}

it('several processes serve sites on one port, and nothing of the API', async () => {
  const found = await visit('/', `nobody.sites.localhost:${port}`);
  expect([found.status, found.headers['x-robots-tag']]).toEqual([404, 'noindex']);
  expect((await visit('/api/health', `localhost:${port}`)).text).toBe('{"status":"ok"}');
  expect((await visit('/api/auth/me', `localhost:${port}`)).status).toBe(404);
  expect((await visit('/docs', `localhost:${port}`)).status).toBe(404);
  expect(childrenOf(gateway.pid)).toHaveLength(2);
});

describe('a server', () => {
  const PROGRAM = `require('node:fs').appendFileSync('begun.txt', 'begun\\n');
require('node:http').createServer((request, response) => response.end('here')).listen(process.env.PORT);`;

  const reach = (slug: string) =>
    visit('/', `${slug}.servers.localhost:${port}`).then(
      ({ text }) => text,
      (error: NodeJS.ErrnoException) => error.code ?? error.message,
    );

  it('goes on, and is reached by the other process, when one that reaches it is killed', async () => {
    const ada = await service.person('Ada');
    const workspace = await service.workspace(ada);
    const file = { path: 'server.cjs', content: PROGRAM };
    expect((await ada.client.put(`/api/workspaces/${workspace}/files/content`, file)).status).toBe(200);
    const made = await ada.client.post('/api/tunnels', {
      workspace_id: workspace,
      name: 'Lasting',
      slug: 'lasting',
      command: 'exec node server.cjs',
      start: true,
    });
    expect(made.status).toBe(200);
    const { id } = made.body;
    await ada.client.put(`/api/tunnel-access/${id}`, { mode: 'public' });
    const instances = () =>
      service.database.query('select id, holder, state from server_instance where server_id = $1', [id]);
    expect(await reach('lasting')).toBe('here');
    const before = await instances();
    await until(listening, count => count === 2);
    const [first = 0, second = 0] = childrenOf(gateway.pid);
    // Enough that both have some, before and after.
    const answers: string[] = [];
    const visitors = Array.from({ length: 8 }, async () => {
      for (let n = 0; n < 50; n++) answers.push(await reach('lasting'));
    });
    await until(
      () => answers.length,
      count => count >= 100,
    );
    process.kill(first, 'SIGKILL');
    await Promise.all(visitors);
    // What the dead one had is lost, and no more: none is refused, and none answered by 502 or 503.
    const others = answers.filter(text => text !== 'here');
    expect(others.filter(text => !/^(?:ECONNRESET|EPIPE|socket hang up)$/.test(text))).toEqual([]);
    expect(others.length).toBeLessThan(answers.length / 2);
    expect(await reach('lasting')).toBe('here');
    expect(
      await until(
        () => childrenOf(gateway.pid),
        children => children.length === 2,
      ),
    ).toContain(second);
    expect(await instances()).toEqual(before);
    const begun = path.join(service.dataDir, 'workspaces', workspace, 'begun.txt');
    expect(readFileSync(begun, 'utf8')).toBe('begun\n');
    await ada.client.post(`/api/tunnels/${id}/stop`, {});
  });
});

it('one that dies is replaced, while the other goes on serving', async () => {
  await until(listening, count => count === 2);
  const [first = 0, second = 0] = childrenOf(gateway.pid);
  process.kill(first, 'SIGKILL');
  const now = await until(
    () => childrenOf(gateway.pid),
    children => children.length === 2 && !children.includes(first),
  );
  expect(now).toContain(second);
  // A connection that the dead one had is lost; the next is not.
  const answered = await until(
    () =>
      visit('/', `nobody.sites.localhost:${port}`).then(
        ({ status }) => status,
        () => 0,
      ),
    status => status === 404,
  );
  expect(answered).toBe(404);
});

it('all that die at once are replaced', async () => {
  await until(listening, count => count === 2);
  const before = childrenOf(gateway.pid);
  for (const pid of before) process.kill(pid, 'SIGKILL');
  const now = await until(
    () => childrenOf(gateway.pid),
    children => children.length === 2 && !children.some(pid => before.includes(pid)),
  );
  expect(now).toHaveLength(2);
  await until(listening, count => count === 2);
  expect((await visit('/', `nobody.sites.localhost:${port}`)).status).toBe(404);
});

it('all of them end with the one that started them', async () => {
  const children = childrenOf(gateway.pid);
  expect(await gateway.stop()).toBe(0);
  const isThere = (pid: number) => {
    try {
      return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
    } catch {
      return false;
    }
  };
  expect(children.filter(isThere)).toEqual([]);
});
