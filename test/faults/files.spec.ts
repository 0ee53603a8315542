import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import tar from 'tar-stream';
import { Client } from '../harness/client.js';
import { freePort } from '../harness/free-port.js';
import { type Person, TestService } from '../harness/service.js';
import { filesUnlikeTheirLog, namesBelow } from './files-and-log.js';
import { ServiceProcess } from './service-process.js';

/** How often the service is killed; each time costs a start. */
const ROUNDS = Number(process.env.FAULT_ROUNDS ?? 3);
/** The moments are the same for the same seed, as far as a machine is as fast. */
const SEED = Number(process.env.FAULT_SEED ?? 1);
const LATEST_MS = 400;
const QUOTA = 12_000_000;
const FILE_BYTES = 500_000;
const UNPACKED = 300;

let service: TestService;
let ada: Person;
let workspace: string;
let source: string;
const versions = ['one', 'two', 'three'].map(word => Buffer.alloc(FILE_BYTES, `${word} `));
const known = new Set(versions.map(digest));

beforeAll(async () => {
  service = await TestService.start({ ROLE: 'api' });
  ada = await service.person();
  workspace = await service.workspace(ada);
  source = await service.workspace(ada);
});
afterAll(() => service.stop());

const folderOf = (id: string) => path.join(service.dataDir, 'workspaces', id);
const on = (name: string) => path.join(folderOf(workspace), name);

function digest(bytes: Buffer): string {
  return createHash('sha1').update(bytes).digest('hex');
}

/** Numbers from 0 to 1 that look random and are the same each time (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A service of its own process, and who speaks to it. */
async function start(): Promise<{ process: ServiceProcess; client: Client }> {
  const port = await freePort();
  const settings = {
    PORT: `${port}`,
    WORKSPACE_LIMITS: `bytes=${QUOTA}`,
    RATE_LIMITS_PER_MINUTE: 'credential=0',
  };
  const started = await ServiceProcess.start(service, { ...settings, LOG_LEVEL: 'info' });
  const url = `http://127.0.0.1:${port}`;
  const authorization = { authorization: ada.client.headers.authorization ?? '' };
  return { process: started, client: new Client(url, authorization) };
}

/** Does it again and again until the service is gone. */
async function untilGone(
  client: Client,
  step: (client: Client, turn: number) => Promise<unknown>,
): Promise<void> {
  for (let turn = 0; ; turn++) {
    try {
      await step(client, turn);
    } catch {
      return; // the connection broke: it was killed
    }
  }
}

const files = () => `/api/workspaces/${workspace}/files`;
const upload = (client: Client, name: string, body: Buffer, of = workspace) =>
  client.raw('PUT', `/api/workspaces/${of}/files/upload?path=${name}`, { body: new Uint8Array(body) });

async function archive(): Promise<Buffer> {
  const pack = tar.pack();
  for (let n = 0; n < UNPACKED; n++)
    pack.entry({ name: `dir${n % 7}/f${n}` }, `content of ${n}\n`.repeat(50));
  pack.finalize();
  return buffer(pack as unknown as Readable);
}

const steps: ((client: Client, turn: number) => Promise<unknown>)[] = [
  (client, turn) => upload(client, 'same', versions[turn % 3] as Buffer),
  (client, turn) => upload(client, `folder/new${turn % 4}`, versions[turn % 3] as Buffer),
  async (client, turn) => {
    const [from, to] = turn % 2 ? ['b', 'a'] : ['a', 'b'];
    await client.post(`${files()}/move`, { from: `moved/${from}`, to: `moved/${to}` });
  },
  async (client, turn) => {
    await client.put(`${files()}/content`, { path: 'text', content: `${turn % 2 ? 'one' : 'two'} ` });
    await client.post(`${files()}/edit`, { path: 'text', old_text: ' ', new_text: ' and' });
    await client.post(`${files()}/copy`, { from: 'folder', to: 'twin', overwrite: true });
  },
  async client => {
    await client.post(`${files()}/extract`, { path: 'many.tar', to: 'out' });
    await client.delete(`${files()}?path=out&recursive=true`);
  },
];

function everyFile(root: string): string[] {
  return namesBelow(root).filter(name => statSync(path.join(root, name)).isFile());
}

/** What must hold at any moment at which nobody writes; who is left may delete temporary files of the killed one meanwhile. */
function checkFiles(): void {
  for (const name of everyFile(folderOf(workspace))) {
    if (name === 'many.tar') continue;
    const bytes = readFileSync(on(name));
    const [, number] = /^out\/dir\d\/f(\d+)$/.exec(name) ?? [];
    if (name === 'text') expect(`${bytes}`).toMatch(/^(one|two) (and)?$/);
    else if (number !== undefined)
      expect([name, `${bytes}`]).toEqual([name, `content of ${number}\n`.repeat(50)]);
    else expect([name, known.has(digest(bytes))]).toEqual([name, true]);
  }
  expect(['a', 'b'].filter(name => existsSync(on(`moved/${name}`)))).toHaveLength(1);
  expect(existsSync(on('same'))).toBe(true);
}

async function checkTidy(client: Client): Promise<void> {
  const names = [workspace, source].flatMap(id =>
    readdirSync(folderOf(id), { recursive: true, encoding: 'utf8' }),
  );
  expect(names.filter(name => name.includes('.atelier-tmp-'))).toEqual([]);
  for (const id of [workspace, source]) expect(await filesUnlikeTheirLog(service, id)).toEqual([]);
  const held = everyFile(folderOf(workspace)).reduce((sum, name) => sum + statSync(on(name)).size, 0);
  const refused = await client.raw('PUT', `${files()}/upload?path=too-much`, { body: new Uint8Array(QUOTA) });
  expect([refused.status, await refused.json()]).toEqual([
    413,
    { detail: expect.stringContaining(`holds ${held} of the ${QUOTA} bytes`) },
  ]);
}

it(
  'tears no file, loses none and leaves nothing behind, however often it is killed',
  async () => {
    const random = randomFrom(SEED);
    await upload(ada.client, 'same', versions[0] as Buffer);
    await upload(ada.client, 'moved/a', versions[1] as Buffer);
    await upload(ada.client, 'many.tar', await archive());
    for (let n = 0; n < 30; n++) await upload(ada.client, `f${n}`, versions[n % 3] as Buffer, source);
    const duplicate = await ada.client.post(`/api/workspaces/${source}/duplicate`, { name: 'Copy' });
    const operation: string = duplicate.body.operation_id;

    for (let round = 0; round < ROUNDS; round++) {
      const { process, client } = await start();
      await checkTidy(client);
      const work = steps.map(step => untilGone(client, step));
      await setTimeout(random() * LATEST_MS); // the moment of the crash, which is nobody's event
      await process.kill();
      await Promise.all(work);
      checkFiles();
    }

    const { process, client } = await start();
    await checkTidy(client);
    const last = (await client.events(`/api/operations/${operation}/events`)).at(-1);
    expect(last?.data).toMatchObject({ status: 'completed', done: 30, total: 30 });
    const copy = folderOf(last?.data.result.workspace_id);
    expect(readdirSync(copy).sort()).toEqual(readdirSync(folderOf(source)).sort());
    for (const name of readdirSync(copy))
      expect([name, known.has(digest(readFileSync(path.join(copy, name))))]).toEqual([name, true]);
    expect(await process.stop()).toBe(0);
  },
  (ROUNDS + 1) * 150_000,
);
