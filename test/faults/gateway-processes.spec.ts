import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
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

it('one that dies is replaced, while the other goes on serving', async () => {
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
