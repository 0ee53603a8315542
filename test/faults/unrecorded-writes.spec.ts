import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import tar from 'tar-stream';
import { AgentClient } from '../harness/agent.js';
import { Client, type Json } from '../harness/client.js';
import { freePort } from '../harness/free-port.js';
import { connected } from '../harness/raw-http.js';
import { type Person, TestService } from '../harness/service.js';
import { filesUnlikeTheirLog } from './files-and-log.js';
import { ServiceProcess } from './service-process.js';

const UNPACKED = 400;
const PATIENCE = 300_000;

/** This process lives on, and serves HTTP alone: those that are killed are others. */
let service: TestService;
let ada: Person;

beforeAll(async () => {
  service = await TestService.start({ ROLE: 'api' });
  ada = await service.person();
});
afterAll(() => service.stop());

async function startOther(): Promise<{ process: ServiceProcess; client: Client }> {
  const port = await freePort();
  const settings = {
    ROLE: 'api',
    PORT: `${port}`,
    DATABASE_POOL: '20',
    RATE_LIMITS_PER_MINUTE: 'credential=0',
  };
  const process = await ServiceProcess.start(service, { ...settings, LOG_LEVEL: 'info' });
  const authorization = ada.client.headers.authorization ?? '';
  return { process, client: new Client(`http://127.0.0.1:${port}`, { authorization }) };
}

interface Held {
  /** Ends the connections of those that wait, as a restart of the database would. */
  cut: () => Promise<void>;
  /** The same for those that wait now. */
  cutNow: () => Promise<boolean>;
  release: () => Promise<void>;
}

/** Keeps everybody else from a table, as slow disks or a restart would in the right moment. */
async function hold(table: string, mode: string): Promise<Held> {
  const client = new pg.Client({ connectionString: service.database.url });
  await client.connect();
  await client.query(`begin; lock table ${table} in ${mode} mode`);
  const { rows } = await client.query('select pg_backend_pid() as pid');
  const cutNow = async () => {
    const waiting = await service.database.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where $1 = any(pg_blocking_pids(pid))',
      [rows[0].pid],
    );
    return waiting.length > 0;
  };
  return { cutNow, cut: () => until(cutNow), release: () => client.end() };
}

/** Keeps everybody from recording changes. */
const holdLog = () => hold('workspace_change', 'share');

async function until(what: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + PATIENCE / 2; !(await what()); await sleep(20))
    if (Date.now() > end) throw new Error(`it did not come to pass: ${what}`);
}

async function archive(): Promise<Buffer> {
  const pack = tar.pack();
  for (let n = 0; n < UNPACKED; n++) pack.entry({ name: `d${n % 7}/f${n}` }, `content of ${n}\n`);
  pack.finalize();
  return buffer(pack as unknown as Readable);
}

/** Temporary files of writes. */
const temporaries = (root: string) => readdirSync(root).filter(name => name.startsWith('.atelier-tmp-'));

class Files {
  private readonly base: string;
  readonly root: string;

  constructor(readonly workspace: string) {
    this.base = `/api/workspaces/${workspace}/files`;
    this.root = path.join(service.dataDir, 'workspaces', workspace);
  }

  on = (name: string) => path.join(this.root, name);
  has = (name: string, content: string) =>
    existsSync(this.on(name)) && readFileSync(this.on(name), 'utf8') === content;
  put = (client: Client, name: string, content: string) =>
    client.put(`${this.base}/content`, { path: name, content });
  upload = (client: Client, name: string, body: Buffer) =>
    client.raw('PUT', `${this.base}/upload?path=${name}`, { body: new Uint8Array(body) });
  /** An upload of which half is sent, and the rest never. */
  async beginUpload({ url, headers }: Client, name: string): Promise<{ closed: Promise<unknown> }> {
    const socket = await connected(url);
    socket.on('error', () => undefined);
    const closed = new Promise(resolve => socket.resume().once('close', resolve));
    const lines = Object.entries({ host: 'localhost', 'content-length': '2000000', ...headers });
    socket.write(`PUT ${this.base}/upload?path=${name} HTTP/1.1\r\n`);
    socket.write(`${lines.map(([key, value]) => `${key}: ${value}`).join('\r\n')}\r\n\r\n`);
    socket.write(Buffer.alloc(1_000_000, 'x'));
    return { closed };
  }

  post = (client: Client, action: string, body: Json) => client.post(`${this.base}/${action}`, body);
  remove = (client: Client, name: string) => client.delete(`${this.base}?path=${name}&recursive=true`);
  history = async (name: string): Promise<Json[]> =>
    (await ada.client.get(`${this.base}/history?path=${name}`)).body.items;
  contentOf = async (version: string): Promise<string> =>
    (await ada.client.get(`${this.base}/history/${version}`)).body.content;
}

it(
  'what was on disk, and not in the log, when the process was killed is found: in log, history and events',
  async () => {
    const files = new Files(await service.workspace(ada));
    const names = ['over', 'edited', 'moved', 'copied', 'folder/a', 'folder/b', 'gone/a', 'gone/b', 'old/a'];
    for (const name of names) await files.put(ada.client, name, `${name} one`);
    await files.put(ada.client, 'taken/lost', 'in the way');
    await files.put(ada.client, 'home', 'one');
    await files.post(ada.client, 'move', { from: 'home', to: 'out-of-home' });
    await files.upload(ada.client, 'many.tar', await archive());
    const [first] = await files.history('over');
    await files.put(ada.client, 'back', 'other');
    await files.history(''); // all of it is in the history

    const { process, client } = await startOther();
    const log = await holdLog();
    const sent = [
      files.put(client, 'over', 'two'),
      files.put(client, 'new/file', 'two'),
      files.upload(client, 'raw', Buffer.from('two')),
      files.post(client, 'edit', { path: 'edited', old_text: 'one', new_text: 'two' }),
      files.post(client, 'move', { from: 'moved', to: 'away' }),
      files.post(client, 'move', { from: 'folder', to: 'taken', overwrite: true }),
      files.post(client, 'copy', { from: 'copied', to: 'twin' }),
      files.post(client, 'move', { from: 'out-of-home', to: 'home' }),
      files.post(client, 'mkdir', { path: 'made' }),
      files.remove(client, 'gone'),
      files.post(client, 'extract', { path: 'many.tar', to: 'out' }),
      files.post(client, 'restore', { path: 'back', version: first.id }),
    ];
    const answers = Promise.allSettled(sent);
    await until(
      () =>
        files.has('over', 'two') &&
        files.has('new/file', 'two') &&
        files.has('raw', 'two') &&
        files.has('edited', 'edited two') &&
        existsSync(files.on('away')) &&
        files.has('taken/a', 'folder/a one') &&
        existsSync(files.on('twin')) &&
        existsSync(files.on('home')) &&
        existsSync(files.on('made')) &&
        !existsSync(files.on('gone')) &&
        existsSync(files.on(`out/d${(UNPACKED - 1) % 7}/f${UNPACKED - 1}`)) &&
        files.has('back', 'over one'),
    );
    await process.kill();
    await log.release();
    expect((await answers).map(({ status }) => status)).toEqual(sent.map(() => 'rejected'));

    const over = await files.history('over');
    expect(over.map(({ kind }) => kind)).toEqual(['modified', 'created']);
    expect([await files.contentOf(over[0].id), await files.contentOf(over[1].id)]).toEqual([
      'two',
      'over one',
    ]);
    expect(over[0].writer).toEqual({ type: 'user', id: ada.id });
    expect((await files.history('away'))[0]).toMatchObject({ kind: 'moved', from: 'moved' });
    expect((await files.history('home'))[0]).toMatchObject({ kind: 'moved', from: 'out-of-home' });
    expect((await files.history('taken/a'))[0]).toMatchObject({ kind: 'moved', from: 'folder/a' });
    expect((await files.history('taken/lost'))[0]).toMatchObject({ kind: 'deleted' });
    expect((await files.history('gone/b'))[0]).toMatchObject({ kind: 'deleted' });
    expect((await files.history('back'))[0]).toMatchObject({ kind: 'modified' });
    expect(await filesUnlikeTheirLog(service, files.workspace)).toEqual([]);
    const events = await ada.client.events(`/api/workspaces/${files.workspace}/events`, {
      headers: { 'last-event-id': '0' },
      until: ({ data }) => data.path === 'over' && data.kind === 'modified',
    });
    expect(events.filter(({ data }) => data.path === 'over').map(({ data }) => data.kind)).toEqual([
      'created',
      'modified',
    ]);
    expect(await service.database.query('select 1 from workspace_write')).toEqual([]);
    const again = await files.post(ada.client, 'extract', { path: 'many.tar', to: 'out' });
    expect(again.body).toMatchObject({ files: 0, unchanged: UNPACKED });
  },
  PATIENCE,
);

it(
  'what an agent wrote, and its worker did not live to record, is of its run, and taken back with it',
  async () => {
    const files = new Files(await service.workspace(ada));
    await files.put(ada.client, 'kept.txt', 'one');
    await files.history('');
    const settings = { ROLE: 'worker', LOG_LEVEL: 'info' };
    const first = await ServiceProcess.start(service, settings);
    const agent = new AgentClient(ada.client);
    const log = await holdLog();
    const sent = await agent.send('write kept.txt: two\nwrite new.txt: two', {
      workspace_id: files.workspace,
      model: 'atelier/demo',
    });
    await until(() => files.has('kept.txt', 'two'));
    await first.kill();
    await log.release();
    const run = { writer: { type: 'run', id: sent.call_id }, run_id: sent.call_id };
    expect(await files.history('kept.txt')).toMatchObject([
      { kind: 'modified', ...run },
      { kind: 'created', run_id: null },
    ]);
    const second = await ServiceProcess.start(service, settings);
    expect(await agent.ended(sent)).toMatchObject({ status: 'completed' });
    const { status, body } = await ada.client.post(`/api/agent/runs/${sent.call_id}/rollback`, {});
    expect([status, body.skipped]).toEqual([200, []]);
    expect(body.reverted).toContainEqual({ path: 'kept.txt', action: 'restored' });
    expect(files.has('kept.txt', 'one')).toBe(true);
    expect(existsSync(files.on('new.txt'))).toBe(false);
    expect(await filesUnlikeTheirLog(service, files.workspace)).toEqual([]);
    expect(await second.stop()).toBe(0);
  },
  PATIENCE,
);

it(
  'a write whose process was killed before it took effect leaves nothing to be recorded',
  async () => {
    const files = new Files(await service.workspace(ada));
    await files.put(ada.client, 'kept', 'one');
    await files.history('');
    const { process, client } = await startOther();
    const uploading = await files.beginUpload(client, 'kept');
    await until(() => temporaries(files.root).length > 0);
    await process.kill();
    await uploading.closed;
    const restarted = await startOther();
    expect(temporaries(files.root)).toEqual([]);
    expect((await files.history('')).map(({ path }) => path)).toEqual(['kept']);
    expect(files.has('kept', 'one')).toBe(true);
    expect(await filesUnlikeTheirLog(service, files.workspace)).toEqual([]);
    expect(await restarted.process.stop()).toBe(0);
  },
  PATIENCE,
);

it(
  'an extraction that was killed in the middle is repeated',
  async () => {
    const files = new Files(await service.workspace(ada));
    await files.upload(ada.client, 'many.tar', await archive());
    const { process, client } = await startOther();
    // It is not recorded, and so not over, however late this process sees its files.
    const log = await holdLog();
    const answer = files.post(client, 'extract', { path: 'many.tar', to: 'out' }).catch(() => 'broken');
    await until(() => existsSync(files.on('out/d6/f6')));
    await process.kill();
    await log.release();
    expect(await answer).toBe('broken');
    // Also temporary files are gone, though no process was started since.
    await until(async () => (await filesUnlikeTheirLog(service, files.workspace)).length === 0);
    const { status, body } = await files.post(ada.client, 'extract', { path: 'many.tar', to: 'out' });
    expect([status, body.files + body.unchanged]).toEqual([200, UNPACKED]);
    expect(body.unchanged).toBeGreaterThan(0);
    expect(await filesUnlikeTheirLog(service, files.workspace)).toEqual([]);
  },
  PATIENCE,
);

it(
  'nothing is overwritten while the database cannot say whether it is in the history',
  async () => {
    const files = new Files(await service.workspace(ada));
    await files.put(ada.client, 'kept', 'one');
    const history = await hold('workspace_history', 'access exclusive');
    const answer = files.put(ada.client, 'kept', 'two');
    await history.cut();
    expect(await answer).toMatchObject({ status: 503 });
    expect(files.has('kept', 'one')).toBe(true);
    await history.release();
    expect(await files.put(ada.client, 'kept', 'three')).toMatchObject({ status: 200 });
    expect(await filesUnlikeTheirLog(service, files.workspace)).toEqual([]);
    await until(async () => (await service.database.query('select 1 from workspace_write')).length === 0);
  },
  PATIENCE,
);

it(
  'a write that took effect is answered as such, and recorded once, though the connection broke meanwhile',
  async () => {
    const files = new Files(await service.workspace(ada));
    const log = await holdLog();
    const answer = files.put(ada.client, 'kept', 'one');
    await log.cut();
    await log.release();
    expect(await answer).toMatchObject({ status: 200, body: { created: true } });
    expect((await files.history('kept')).map(({ kind }) => kind)).toEqual(['created']);
    expect(await filesUnlikeTheirLog(service, files.workspace)).toEqual([]);
  },
  PATIENCE,
);

it(
  'a write that took effect is answered as such, and recorded later, though the database stays away',
  async () => {
    const files = new Files(await service.workspace(ada));
    const log = await holdLog();
    let isOver = false;
    const answer = files.put(ada.client, 'kept', 'one').finally(() => {
      isOver = true;
    });
    for (; !isOver; await sleep(50)) await log.cutNow();
    expect(await answer).toMatchObject({ status: 200, body: { created: true } });
    expect(await filesUnlikeTheirLog(service, files.workspace)).toHaveLength(1);
    await log.release();
    await until(async () => (await filesUnlikeTheirLog(service, files.workspace)).length === 0);
    expect((await files.history('kept')).map(({ kind }) => kind)).toEqual(['created']);
  },
  PATIENCE,
);
