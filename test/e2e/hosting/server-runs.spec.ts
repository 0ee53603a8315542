/** Programs of servers: started, reached, looked after, ended and started again. */

import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { InstancesStore } from '../../../src/hosting/tunnels/records/instances.store.js';
import { ServerConnections } from '../../../src/hosting/tunnels/running/server-connections.js';
import { ServerMeter } from '../../../src/hosting/tunnels/running/server-meter.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
let workspace: string;
let serial = 0;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person('Ada');
  workspace = await service.workspace(ada);
  await write(
    'server.cjs',
    `require('node:http')
    .createServer((request, response) => response.end((process.env.GREETING ?? 'hello') + request.url))
    .listen(process.env.PORT, () => console.log('listening'));`,
  );
});
afterAll(() => service.stop());

async function write(path: string, content: string): Promise<void> {
  const { status } = await ada.client.put(`/api/workspaces/${workspace}/files/content`, { path, content });
  expect(status).toBe(200);
}

/** A server that was told to start, once it runs or has failed to. */
async function start(settings: Json = {}, wait = 60): Promise<Json> {
  const slug = `run-${++serial}`;
  const made = await ada.client.post('/api/tunnels', {
    workspace_id: workspace,
    name: slug,
    slug,
    command: 'node server.cjs',
    start: false,
    ...settings,
  });
  expect([made.status, made.body.detail]).toEqual([200, undefined]);
  const started = await ada.client.post(`/api/tunnels/${made.body.id}/start`, { wait });
  expect([started.status, started.body.detail]).toEqual([200, undefined]);
  return wait > 0 ? until(started.body, ({ state }) => state !== 'starting') : started.body;
}

const move = async ({ id }: Json, how: 'start' | 'stop' | 'restart', wait = 60): Promise<Json> =>
  (await ada.client.post(`/api/tunnels/${id}/${how}`, { wait })).body;

const now = async ({ id }: Json): Promise<Json> => (await ada.client.get(`/api/tunnels/${id}`)).body;

async function until(server: Json, isSo: (view: Json) => boolean): Promise<Json> {
  for (;;) {
    const view = await now(server);
    if (isSo(view)) return view;
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

/** What its program answers. */
async function ask({ id }: Json, path = '/'): Promise<string> {
  const [instances, connections] = [InstancesStore, ServerConnections].map(it =>
    service.app.get(it as never, { strict: false }),
  ) as [InstancesStore, ServerConnections];
  const instance = await instances.current(id);
  if (!instance) throw new Error('It does not run');
  const socket = await connections.connect(instance, AbortSignal.timeout(120_000));
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  return (await text(socket)).split('\r\n\r\n')[1] ?? '';
}

async function printed({ id }: Json, texts: string[]): Promise<void> {
  for (;;) {
    const { body } = await ada.client.get(`/api/tunnels/${id}/logs`);
    if (texts.every(part => JSON.stringify(body).includes(part))) return;
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

it('none that crashed is none to wait for', async () => {
  const instances = service.app.get(InstancesStore, { strict: false });
  expect(await instances.secondsToRetry()).toBeUndefined();
});

describe('a server', () => {
  it('runs its command with its variables, and answers on its port', async () => {
    const server = await start({ env: { GREETING: { value: 'good day ' } } });
    expect(server).toMatchObject({ state: 'running', instance: { started_at: expect.any(String) } });
    expect(await ask(server, '/a')).toContain('good day /a');
    await printed(server, ['listening']);
    expect(await move(server, 'stop')).toMatchObject({ state: 'stopped', instance: null });
    await expect(ask(server)).rejects.toThrow();
  });

  it('is reached on the only port that it opens, where none is named', async () => {
    const server = await start({
      command: "sed 's/process.env.PORT/4321/' server.cjs > other.cjs; exec node other.cjs",
    });
    expect(server.state).toBe('running');
    expect(await ask(server)).toContain('hello/');
    await move(server, 'stop');
  });

  it('says that it listens on another port than it should', async () => {
    const server = await start({ port: 5000, command: 'PORT=5001 node server.cjs' }, 0);
    const view = await until(server, ({ reason }) => reason !== null);
    expect(view).toMatchObject({ state: 'starting' });
    expect(view.reason).toContain('It listens on port 5001 instead of 5000');
    await move(server, 'stop');
  });

  it('says which hosts it could not reach, as long as it listens on no port', async () => {
    await ada.client.patch(`/api/workspaces/${workspace}/egress`, { mode: 'allow', hosts: ['other.test'] });
    const ask = `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT npm.test:443 HTTP/1.1\\r\\nHost: npm.test:443\\r\\n\\r\\n' >&3; cat <&3`;
    const server = await start({ command: `for n in 1 2 3; do (${ask}); done; sleep 1000` }, 0);
    const view = await until(server, ({ reason }) => reason?.includes('npm.test'));
    expect(view).toMatchObject({ state: 'starting' });
    expect(view.reason).toMatch(/^It listens on no port\. .*npm\.test is not one of the hosts .*PATCH/);
    await printed(server, ['npm.test is not one of the hosts']);
    await move(server, 'stop');
    await ada.client.patch(`/api/workspaces/${workspace}/egress`, { mode: 'none' });
    const alone = await start({ command: 'node -e "fetch(\'http://npm.test\')"', restart: 'never' });
    expect(alone).toMatchObject({ state: 'failed' });
    expect(alone.reason).toContain('npm.test cannot be reached from here. To let it through');
  });

  it('is restarted with the files as they are, and never runs twice', async () => {
    await write(
      'exclusive.cjs',
      `const fs = require('node:fs');
      fs.mkdirSync('lock');
      process.on('SIGTERM', () => setTimeout(() => { fs.rmdirSync('lock'); process.exit(0); }, 200));
      require('node:http').createServer((request, response) => response.end('one')).listen(process.env.PORT);`,
    );
    const server = await start({ command: 'node exclusive.cjs' });
    expect(await ask(server)).toContain('one');
    await write(
      'exclusive.cjs',
      `require('node:fs').mkdirSync('lock');
      require('node:http').createServer((request, response) => response.end('two')).listen(process.env.PORT);`,
    );
    expect(await move(server, 'restart')).toMatchObject({ state: 'running', restarts: 0 });
    expect(await ask(server)).toContain('two');
    await move(server, 'stop');
  });

  it('runs actions on the authority of who started it, as far as it may', async () => {
    await write('note.txt', 'a note');
    const command = `actions run file_read '{"path": "note.txt"}'; actions run file_delete '{"path": "note.txt"}'; exec node server.cjs`;
    const server = await start({ command, actions: ['file_read'] });
    await printed(server, ['a note', 'file_delete']);
    expect((await ada.client.get(`/api/workspaces/${workspace}/files/content?path=note.txt`)).status).toBe(
      200,
    );
    await move(server, 'stop');
    const valid = () =>
      service.database.query(
        `select from exec_token where caller_kind = 'server' and caller_id = $1 and revoked_at is null`,
        [server.id],
      );
    while ((await valid()).length > 0) await new Promise(resolve => setTimeout(resolve, 20));
  });
});

describe('a server that bears two programs at once', () => {
  const program = (greeting: string) => `require('node:http')
    .createServer((request, response) => request.url === '/slow' ? setTimeout(() => response.end('slow'), 1000) : response.end('${greeting}'))
    .listen(process.env.PORT);`;

  it('answers all the time while it is restarted, and ends what it began', async () => {
    await write('overlap.cjs', program('first'));
    const server = await start({ command: 'node overlap.cjs', overlap: true });
    await write('overlap.cjs', program('second'));
    const slow = ask(server, '/slow');
    let isOver = false;
    const answers = new Set<string>();
    const asking = (async () => {
      while (!isOver) answers.add(await ask(server));
    })();
    expect(await move(server, 'restart')).toMatchObject({ state: 'running' });
    isOver = true;
    await asking;
    expect([...answers].join()).toMatch(/first.*second|first/s);
    expect(await ask(server)).toContain('second');
    expect(await slow).toContain('slow');
    await move(server, 'stop');
  });

  it('keeps the one that runs where the new one fails', async () => {
    await write('overlap.cjs', program('good'));
    const server = await start({ command: 'node overlap.cjs', overlap: true });
    await write('overlap.cjs', 'process.exit(4)');
    await move(server, 'restart', 0);
    const view = await until(server, ({ reason }) => reason !== null);
    expect(view).toMatchObject({ state: 'running' });
    expect(view.reason).toContain(
      'The one before goes on, as the new one failed. The program ended with exit code 4.',
    );
    expect(await ask(server)).toContain('good');
    await write('overlap.cjs', program('better'));
    expect(await move(server, 'restart')).toMatchObject({ state: 'running', reason: null });
    expect(await ask(server)).toContain('better');
    await move(server, 'stop');
  });
});

describe('a server whose program ends', () => {
  it('is started again, and says why', async () => {
    const server = await start({ command: 'echo something is wrong >&2; exit 3' });
    const view = await until(server, ({ state }) => state === 'crashed');
    expect(view).toMatchObject({ last_exit: { code: 3 }, next_attempt_at: expect.any(String) });
    expect(view.restarts).toBeGreaterThan(0);
    expect(view.reason).toContain('The program ended with exit code 3. It printed last:\nsomething is wrong');
    await until(server, ({ restarts }) => restarts > view.restarts);
    await move(server, 'stop');
  });

  it.each([
    ['on_failure', 'exit 0', 'stopped'],
    ['never', 'exit 1', 'failed'],
    ['always', 'exit 0', 'crashed'],
  ])('with %s and %s is %s', async (restart, command, state) => {
    const server = await start({ restart, command });
    const view = await until(server, found => found.state !== 'starting');
    expect(view.state).toBe(state);
    await move(server, 'stop');
  });

  it('fails after ten times within ten minutes', async () => {
    const server = await start({ command: 'exit 1' });
    await until(server, ({ state }) => state === 'crashed');
    await service.database.query(
      `insert into server_instance (id, server_id, generation, state, exit, started_at, ended_at)
       select gen_random_uuid(), id, generation, 'ended', '{"code": 1}', now(), now() from server, generate_series(1, 9)
       where id = $1`,
      [server.id],
    );
    const view = await until(server, ({ state }) => state === 'failed');
    expect(view.reason).toContain('is not started again');
    expect(await move(server, 'start', 0)).toMatchObject({ state: 'starting' });
    await move(server, 'stop');
  });

  it('for memory says so', async () => {
    const command = `node -e "const all = []; for (;;) all.push(Buffer.alloc(1024 * 1024, 1))"`;
    const server = await start({ command, memory_bytes: 64 * 1024 * 1024, restart: 'never' });
    const view = await until(server, ({ state }) => state === 'failed');
    expect(view.reason).toContain('needed more than 64 MiB of memory');
  });
});

describe('a server without requests', () => {
  it('sleeps until it is woken', async () => {
    const server = await start();
    expect(server.state).toBe('running');
    await ada.client.patch(`/api/tunnels/${server.id}`, { sleep_after_seconds: 1 });
    const view = await until(server, ({ state }) => state === 'sleeping');
    expect(view.instance).toBeNull();
    await move(server, 'stop');
  });
});

it('enters how long it ran into the usage, once', async () => {
  const server = await start();
  const seconds = async () => {
    await service.app.get(ServerMeter, { strict: false }).meter();
    const usage = await ada.client.get(
      `/api/organizations/${ada.organizationId}/billing/usage?group_by=workspace`,
    );
    return usage.body.items.find(({ key }: Json) => key === workspace).server_seconds;
  };
  const before = await seconds();
  await service.database.query(
    "update server_instance set metered_until = now() - interval '1 hour' where server_id = $1 and state = 'running'",
    [server.id],
  );
  const after = await seconds();
  expect(after - before).toBeGreaterThan(3599);
  expect((await seconds()) - after).toBeLessThan(600);
  await service.database.query(
    "update server_instance set metered_until = now() - interval '1 hour' where server_id = $1 and state = 'running'",
    [server.id],
  );
  expect((await ada.client.delete(`/api/tunnels/${server.id}`)).status).toBe(200);
  expect((await seconds()) - after).toBeGreaterThan(3599);
});
