import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import path from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import { ZipWriter } from '#libs/zip-writer/index.js';
import { Extraction } from '../../../src/workspaces/archives/index.js';
import { TreeScan } from '../../../src/workspaces/files/index.js';
import type { Answer, Json } from '../../harness/client.js';
import { folderBecomes } from '../../harness/folder.js';
import { type Person, TestService } from '../../harness/service.js';
import { SHARE_HOST } from '../../harness/visitor.js';

let service: TestService;
let ada: Person;

beforeAll(async () => {
  service = await TestService.start({ SANDBOX_LIMITS: 'workspace=2,organization=3' });
  ada = await service.person();
});
afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(() => service.stop());

const folderOf = (workspace: string) => path.join(service.dataDir, 'workspaces', workspace);
const bash = (workspace: string, command: string) =>
  ada.client.post(`/api/workspaces/${workspace}/tools/bash`, { input: { command } });

/** Comes again when it is refused for want of a place. */
async function persistently(call: () => Promise<Answer<Json>>): Promise<Answer<Json>> {
  for (; ; await sleep(20)) {
    const answer = await call();
    if (answer.status !== 429) return answer;
  }
}

/** Asks for a folder as a visitor of a share who reads nothing of the answer. */
function ask(address: string): Promise<IncomingMessage> {
  const { hostname, port } = new URL(service.url);
  return new Promise((resolve, reject) => {
    const headers = { host: `${SHARE_HOST}:${port}` };
    request({ hostname, port, path: address, headers, agent: false }, resolve).once('error', reject).end();
  });
}

it('refuses a command with 429 where it waited in vain, and loses none that got a place', async () => {
  const [workspace, other] = [await service.workspace(ada), await service.workspace(ada)];
  const held = ['a', 'b'].map(name =>
    bash(workspace, `touch began-${name}; until [ -e go ]; do sleep 0.05; done; echo x > ${name}`),
  );
  await folderBecomes(
    folderOf(workspace),
    names => names.filter(name => name.startsWith('began')).length === 2,
  );
  const [refused, elsewhere] = await Promise.all([bash(workspace, 'echo x > c'), bash(other, 'echo x > d')]);
  expect([refused.status, refused.body, refused.headers.get('retry-after')]).toEqual([
    429,
    { detail: expect.stringContaining('2 commands run in this workspace at once') },
    '5',
  ]);
  expect([elsewhere.status, elsewhere.body.is_error]).toEqual([200, false]);

  const later = ['e', 'f', 'g'].map(name => persistently(() => bash(workspace, `echo x > ${name}`)));
  writeFileSync(path.join(folderOf(workspace), 'go'), '');
  const ended = await Promise.all([...held, ...later]);
  expect(ended.map(({ status, body }) => [status, body.is_error])).toEqual(ended.map(() => [200, false]));
  // A command that ends may see the file of another before that has its content, and log it, too.
  const rows = await service.database.query<Json>(
    `select distinct path from workspace_change where workspace_id = $1 and path !~ '^began|go' order by path`,
    [workspace],
  );
  expect(rows.map(row => row.path)).toEqual(['a', 'b', 'e', 'f', 'g']);
});

it('refuses a command where its organization has as many under way as may be, and no others', async () => {
  const [first, second, third] = await Promise.all([1, 2, 3].map(() => service.workspace(ada)));
  if (!first || !second || !third) throw new Error('There are no workspaces');
  const held = [first, first, second].map((workspace, n) =>
    bash(workspace, `touch began-${n}; until [ -e go ]; do sleep 0.05; done`),
  );
  for (const [workspace, count] of [[first, 2] as const, [second, 1] as const])
    await folderBecomes(
      folderOf(workspace),
      names => names.filter(name => name.startsWith('began')).length === count,
    );
  const bob = await service.person('Bob');
  const ofBob = await service.workspace(bob);
  const [one, two, elsewhere] = await Promise.all([
    bash(third, 'true'),
    bash(third, 'true'),
    bob.client.post(`/api/workspaces/${ofBob}/tools/bash`, { input: { command: 'true' } }),
  ]);
  const detail = expect.stringContaining('3 commands run in the workspaces of this organization at once');
  expect([one, two].map(({ status, body }) => [status, body])).toEqual([
    [429, { detail }],
    [429, { detail }],
  ]);
  expect(elsewhere.status).toBe(200);

  for (const workspace of [first, second]) writeFileSync(path.join(folderOf(workspace), 'go'), '');
  for (const answer of await Promise.all(held)) expect(answer.status).toBe(200);
  // Who was refused has left its place of the workspace, too.
  expect((await bash(third, 'true')).status).toBe(200);
});

it('packs so many shared folders at once, and takes no places from the members', async () => {
  const workspace = await service.workspace(ada);
  mkdirSync(path.join(folderOf(workspace), 'site'));
  // More than any buffer on the way holds.
  writeFileSync(path.join(folderOf(workspace), 'site', 'large'), randomBytes(32 * 1024 * 1024));
  const shared = await ada.client.post('/api/share', {
    workspace_id: workspace,
    path: 'site',
    allow: 'download',
  });
  const address = `${new URL(shared.body.url).pathname}?download`;
  const held = await Promise.all([1, 2, 3, 4].map(() => ask(address)));
  expect(held.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
  const refused = await ask(address);
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '5']);
  refused.destroy();
  const download = `/api/workspaces/${workspace}/files/download?path=site`;
  const ofMember = await ada.client.raw('GET', download);
  expect(ofMember.status).toBe(200);
  await ofMember.body?.cancel();
  for (const answer of held) answer.destroy();
  const next = await ask(address);
  expect(next.statusCode).toBe(200);
  next.destroy();
});

it('unpacks so many archives of a workspace at once, and those of others meanwhile', async () => {
  const [workspace, other] = [await service.workspace(ada), await service.workspace(ada)];
  const extract = (where: string, to = 'out') =>
    ada.client.post(`/api/workspaces/${where}/files/extract`, { path: 'a.zip', to });
  const zip = new ZipWriter();
  const archive = Buffer.concat([
    ...zip.file({ name: 'a', modified: new Date(0) }, Buffer.from('a')),
    ...zip.end(),
  ]);
  for (const where of [workspace, other]) writeFileSync(path.join(folderOf(where), 'a.zip'), archive);
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const { plan } = Extraction.prototype;
  let isHeld = true;
  const planned = jest.spyOn(Extraction.prototype, 'plan').mockImplementation(async function (
    this: Extraction,
    ...asked
  ) {
    if (isHeld) await gate;
    return plan.apply(this, asked);
  });
  const all = Array.from({ length: 5 }, (_, n) => extract(workspace, `out${n}`));
  const refused = await Promise.race(all);
  expect([refused.status, refused.body.detail]).toEqual([
    429,
    expect.stringContaining('4 archives are unpacked in this workspace at once'),
  ]);
  expect(planned).toHaveBeenCalledTimes(4);
  isHeld = false;
  expect((await extract(other)).status).toBe(200);
  open();
  expect((await Promise.all(all)).filter(({ status }) => status === 200)).toHaveLength(4);
  expect((await extract(workspace)).status).toBe(200);
});

it('searches so much of a workspace at once, and others meanwhile', async () => {
  const [workspace, other] = [await service.workspace(ada), await service.workspace(ada)];
  const search = (where: string) => ada.client.get(`/api/workspaces/${where}/search?q=x`);
  const { promise: gate, resolve: open } = Promise.withResolvers<null>();
  const scan = jest
    .spyOn(service.app.get(TreeScan, { strict: false }), 'filesWith')
    .mockImplementation(async ({ id }) => (id === workspace ? gate : null));
  // Whichever comes last finds no place.
  const all = Array.from({ length: 9 }, () => search(workspace));
  const refused = await Promise.race(all);
  expect([refused.status, refused.body.detail]).toEqual([
    429,
    expect.stringContaining('8 searches run in this workspace at once'),
  ]);
  expect((await search(other)).status).toBe(200);
  expect(scan.mock.calls.filter(([{ id }]) => id === workspace)).toHaveLength(8);
  open(null);
  expect((await Promise.all(all)).filter(({ status }) => status === 200)).toHaveLength(8);
  expect((await search(workspace)).status).toBe(200);
});

it('searches so much in this process at once; the others wait for their turns', async () => {
  const workspaces = await Promise.all([1, 2, 3].map(() => service.workspace(ada)));
  const { promise: gate, resolve: open } = Promise.withResolvers<null>();
  const { promise: all, resolve: allCame } = Promise.withResolvers<void>();
  const scan = jest
    .spyOn(service.app.get(TreeScan, { strict: false }), 'filesWith')
    .mockImplementation(() => gate);
  const { run } = ConcurrencyLimit.prototype;
  let [came, begun] = [0, 0];
  jest.spyOn(ConcurrencyLimit.prototype, 'run').mockImplementation(function (
    this: ConcurrencyLimit,
    work,
    turn,
  ) {
    if (!turn?.whose) return run.call(this, work, turn);
    if (++came === 24) allCame();
    const counted = () => {
      begun++;
      return work();
    };
    return run.call(this, counted, turn);
  } as typeof run);
  const searches = workspaces.flatMap(workspace =>
    Array.from({ length: 8 }, () => ada.client.get(`/api/workspaces/${workspace}/search?q=x`)),
  );
  await all;
  await setImmediate();
  expect(begun).toBe(16);
  open(null);
  for (const { status } of await Promise.all(searches)) expect(status).toBe(200);
  expect(scan).toHaveBeenCalledTimes(24);
});
