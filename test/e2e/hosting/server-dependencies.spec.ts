/** The dependencies of servers: installed from a registry before the program starts. */

import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Json } from '../../harness/client.js';
import { itWithRegistry, LOCK, MS, registry } from '../../harness/project-build.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
let workspace: string;
let serial = 0;

beforeAll(async () => {
  service = await TestService.start({ SITE_BUILD_REGISTRIES: registry() });
  ada = await service.person();
  workspace = await service.workspace(ada);
});
afterAll(() => service.stop());

const PROGRAM = `const said = (() => { try { return String(require('ms')('2h')); } catch { return 'no ms'; } })();
console.log('began with', said);
require('node:http').createServer((_, response) => response.end(said)).listen(process.env.PORT);`;

const onDisk = (at: string): string => path.join(service.dataDir, 'workspaces', workspace, at);

async function write(at: string, content: string | object): Promise<void> {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  const { status } = await ada.client.put(`/api/workspaces/${workspace}/files/content`, {
    path: at,
    content: text,
  });
  expect(status).toBe(200);
}

/** A folder with the program, and what else is given. */
async function folderWith(files: Record<string, string | object> = {}): Promise<string> {
  const folder = `app-${++serial}`;
  for (const [at, content] of Object.entries({ 'server.cjs': PROGRAM, ...files }))
    await write(`${folder}/${at}`, content);
  return folder;
}

async function start(folder: string, settings: Json = {}): Promise<Json> {
  const { status, body } = await ada.client.post('/api/tunnels', {
    workspace_id: workspace,
    name: `Server ${++serial}`,
    folder,
    command: 'node server.cjs',
    ...settings,
  });
  expect([status, body.detail]).toEqual([200, undefined]);
  return move(body, 'start');
}

async function move({ id }: Json, how: 'start' | 'stop' | 'restart'): Promise<Json> {
  let { body } = await ada.client.post(`/api/tunnels/${id}/${how}`, { wait: 60 });
  while (body.state === 'starting') {
    await new Promise(resolve => setTimeout(resolve, 50));
    ({ body } = await ada.client.get(`/api/tunnels/${id}`));
  }
  return body;
}

async function logOf({ id }: Json): Promise<string> {
  const { body } = await ada.client.get(`/api/tunnels/${id}/logs?tail=1000`);
  return body.entries.map(({ text }: Json) => text).join('');
}

async function untilItSays(server: Json, text: string, often = 1): Promise<string> {
  for (;;) {
    const log = await logOf(server);
    if (times(log, text) >= often) return log;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

const app = { 'package.json': MS, 'package-lock.json': LOCK };
const installed = 'The dependencies are installed.';
const times = (log: string, text: string): number => log.split(text).length - 1;

itWithRegistry('are installed before it starts, once for the same lock file', async () => {
  const server = await start(await folderWith(app));
  expect(await untilItSays(server, 'began with 7200000')).toContain('$ npm ci');
  await move(server, 'restart');
  const log = await untilItSays(server, 'began with 7200000', 2);
  expect(times(log, installed)).toBe(1);
});

itWithRegistry('are in the log of the workspace, by who started it', async () => {
  const folder = await folderWith(app);
  const server = await start(folder);
  await untilItSays(server, 'began with 7200000');
  const rows = await service.database.query(
    'select kind, writer_type, writer_id from workspace_change where workspace_id = $1 and path = $2',
    [workspace, `${folder}/node_modules/ms/index.js`],
  );
  expect(rows).toEqual([{ kind: 'created', writer_type: 'sandbox', writer_id: ada.id }]);
});

itWithRegistry('are installed again when what is wanted has changed', async () => {
  const folder = await folderWith(app);
  const server = await start(folder);
  await untilItSays(server, 'began with 7200000');
  await write(`${folder}/package.json`, { ...MS, version: '1.0.1' });
  await move(server, 'restart');
  const log = await untilItSays(server, installed, 2);
  expect(times(log, installed)).toBe(2);
});

itWithRegistry('see manifests and no data, and their scripts do not run', async () => {
  const folder = await folderWith({
    ...app,
    'secret.txt': 'data',
    '.npmrc': '//registry.example.com/:_authToken=SECRET\nignore-scripts=false\n',
  });
  const command = 'ls -A; cat .npmrc; npm ci';
  const server = await start(folder, { install_command: command });
  const log = await untilItSays(server, 'began with 7200000');
  expect(log).not.toMatch(/secret\.txt|SECRET/);
  expect(log).toContain('package-lock.json');
});

it('are left alone where the folder, or one above it, has its own, and where nothing is to be installed', async () => {
  const own = await folderWith(app);
  mkdirSync(onDisk(`${own}/node_modules/ms`), { recursive: true });
  const above = await folderWith();
  mkdirSync(onDisk(`${above}/node_modules`));
  await write(`${above}/inner/server.cjs`, PROGRAM);
  await write(`${above}/inner/package.json`, MS);
  const never = await folderWith(app);
  const none = await folderWith({ 'package.json': { name: 'app', scripts: { start: 'node server.cjs' } } });
  for (const server of [
    await start(own),
    await start(`${above}/inner`),
    await start(never, { install_command: '' }),
    await start(none),
  ])
    expect(await untilItSays(server, 'began with no ms')).not.toContain('npm');
});

it('that were only detected and cannot be had keep no program from starting', async () => {
  const folder = await folderWith({ 'package.json': { name: 'app', dependencies: { ms: 'file:../ms' } } });
  const log = await untilItSays(await start(folder), 'began with no ms');
  expect(log).toContain('Its dependencies were not installed, and it starts without them.');
  expect(log).toContain('lies outside of its folder');
});

it('whose own command fails keep it from starting, and the reason says why', async () => {
  const settings = { install_command: 'echo broken >&2; exit 3', restart: 'never' };
  const server = await start(await folderWith(app), settings);
  expect(server).toMatchObject({ state: 'failed', reason: expect.stringContaining('exit code 3') });
  expect(await logOf(server)).toContain('broken');
});

it('are not put elsewhere by a link', async () => {
  const folder = await folderWith({ 'package.json': MS });
  const outside = path.join(service.dataDir, 'elsewhere');
  mkdirSync(outside);
  symlinkSync(outside, onDisk(`${folder}/node_modules`));
  const settings = { install_command: 'mkdir -p node_modules/x', restart: 'never' };
  await start(folder, settings);
  expect(existsSync(path.join(outside, 'x'))).toBe(false);
  rmSync(onDisk(folder), { recursive: true });
  symlinkSync(outside, onDisk(folder));
  const linked = await start(folder, settings);
  expect(linked.state).toBe('failed');
  expect(existsSync(path.join(outside, 'node_modules'))).toBe(false);
});

it('whose installation takes long end with a stop', async () => {
  const { body } = await ada.client.post('/api/tunnels', {
    workspace_id: workspace,
    name: 'Long',
    folder: await folderWith(app),
    command: 'node server.cjs',
    install_command: 'echo begun; sleep 1000',
  });
  await untilItSays(body, 'begun');
  const { body: view } = await ada.client.get(`/api/tunnels/${body.id}`);
  expect(view).toMatchObject({ state: 'starting', reason: 'Its dependencies are being installed.' });
  expect((await move(body, 'stop')).state).toBe('stopped');
});
