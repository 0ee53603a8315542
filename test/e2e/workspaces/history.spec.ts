import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { GitHistory } from '../../../libs/git-history/index.js';
import { GitStore, HistoryTrim } from '../../../src/workspaces/history/index.js';
import { AgentClient } from '../../harness/agent.js';
import type { Client, Json } from '../../harness/client.js';
import { folderBecomes } from '../../harness/folder.js';
import { keepingOpen } from '../../harness/open-changes.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
let viewer: Person;
let stranger: Person;
let agent: AgentClient;

beforeAll(async () => {
  service = await TestService.start({
    WORKSPACE_LIMITS: `history_file_bytes=100000,history_bytes=${2 ** 20}`,
  });
  ada = await service.person();
  viewer = await service.person('Vera');
  stranger = await service.person('Sam');
  agent = new AgentClient(ada.client);
});
afterAll(() => service.stop());

const files = (workspace: string) => `/api/workspaces/${workspace}/files`;
const folderOf = (workspace: string) => path.join(service.dataDir, 'workspaces', workspace);
const storeOf = (workspace: string) => path.join(service.dataDir, 'history', workspace);
const write = (workspace: string, at: string, content: string, client: Client = ada.client) =>
  client.put(`${files(workspace)}/content`, { path: at, content });
const read = async (workspace: string, at: string): Promise<string> =>
  (await ada.client.raw('GET', `${files(workspace)}/download?path=${encodeURIComponent(at)}`)).text();
const history = async (workspace: string, query = ''): Promise<Json[]> => {
  const { status, body } = await ada.client.get(`${files(workspace)}/history${query}`);
  if (status !== 200) throw new Error(`the history answered ${status}: ${JSON.stringify(body)}`);
  return body.items;
};
const of = (workspace: string, at: string) => history(workspace, `?path=${encodeURIComponent(at)}`);
const bash = async (workspace: string, command: string): Promise<Json> =>
  (await ada.client.post(`/api/workspaces/${workspace}/tools/bash`, { input: { command } })).body;
const rollback = (run: Json, body: Json = {}, client = ada.client) =>
  client.post(`/api/agent/runs/${run.call_id}/rollback`, body);
const watching = async (workspace: string): Promise<void> => {
  await service.join(viewer, {
    organization: ada.organizationId,
    role: 'guest',
    workspace,
    workspaceRole: 'viewer',
  });
};

describe('versions', () => {
  it('tell who wrote what when, are read, compared, downloaded and put back', async () => {
    const workspace = await service.workspace(ada);
    await write(workspace, 'notes/plan.md', 'one\ntwo\n');
    const [first] = await of(workspace, 'notes/plan.md');
    expect(first).toMatchObject({
      path: 'notes/plan.md',
      kind: 'created',
      size: 8,
      kept: true,
      previous: null,
      writer: { type: 'user', id: ada.id },
      run_id: null,
    });
    await write(workspace, 'notes/plan.md', 'one\n2\n');
    const [second] = await of(workspace, 'notes/plan.md');
    expect(second).toMatchObject({ kind: 'modified', previous: first.id });
    const at = `${files(workspace)}/history/${second.id}`;
    expect((await ada.client.get(at)).body).toMatchObject({ content: 'one\n2\n', binary: false });
    expect((await ada.client.get(`${at}/diff`)).body).toEqual({
      path: 'notes/plan.md',
      against: first.id,
      version: second.id,
      diff: '--- a/notes/plan.md\n+++ b/notes/plan.md\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n',
      binary: false,
      truncated: false,
      additions: 1,
      deletions: 1,
    });
    const reverse = await ada.client.get(`${files(workspace)}/history/${first.id}/diff?against=${second.id}`);
    expect(reverse.body.diff).toContain('-2\n+two\n');
    const fromNothing = await ada.client.get(`${files(workspace)}/history/${first.id}/diff`);
    expect(fromNothing.body).toMatchObject({ against: null, additions: 2, deletions: 0 });
    expect(fromNothing.body.diff).toMatch(/^--- \/dev\/null\n/);
    expect(await (await ada.client.raw('GET', `${at}/download`)).text()).toBe('one\n2\n');

    const restored = await ada.client.post(`${files(workspace)}/restore`, {
      path: 'notes/plan.md',
      version: first.id,
    });
    expect(restored).toMatchObject({ status: 200, body: { created: false, size: 8 } });
    expect(await read(workspace, 'notes/plan.md')).toBe('one\ntwo\n');
    expect((await of(workspace, 'notes/plan.md')).map(({ kind }) => kind)).toEqual([
      'modified',
      'modified',
      'created',
    ]);
  });

  it('are for those who see the files, and put back by those who may write', async () => {
    const workspace = await service.workspace(ada, { visibility: 'restricted' });
    await watching(workspace);
    await write(workspace, 'a.txt', 'a');
    const [version] = await of(workspace, 'a.txt');
    const restore = { path: 'a.txt', version: version.id };
    const list = `${files(workspace)}/history`;
    for (const at of [list, `${list}/${version.id}`, `${list}/${version.id}/diff`]) {
      expect((await viewer.client.get(at)).status).toBe(200);
      expect((await stranger.client.get(at)).status).toBe(404);
    }
    expect((await viewer.client.post(`${files(workspace)}/restore`, restore)).status).toBe(403);
    expect((await stranger.client.post(`${files(workspace)}/restore`, restore)).status).toBe(404);
    expect((await ada.client.post(`${files(workspace)}/restore`, { path: 'a.txt' })).status).toBe(422);
    expect((await ada.client.get(`${list}?path=../x`)).status).toBe(422);
    expect((await ada.client.get(`${list}?cursor=x`)).status).toBe(422);
    expect((await ada.client.get(`${list}/${workspace}`)).status).toBe(404);
    const other = await service.workspace(ada);
    expect((await ada.client.get(`${files(other)}/history/${version.id}`)).status).toBe(404);
  });

  it('are listed by page, for a file, a folder, the workspace and a run', async () => {
    const workspace = await service.workspace(ada);
    for (const at of ['d/a', 'd/b', 'd-e', 'd/c/f']) await write(workspace, at, at);
    const run = await agent.run('write d/r: by a run', { workspace_id: workspace });
    const paths = async (query: string) => (await history(workspace, query)).map(item => item.path);
    expect(await paths('')).toEqual(['d/r', 'd/c/f', 'd-e', 'd/b', 'd/a']);
    expect(await paths('?path=d')).toEqual(['d/r', 'd/c/f', 'd/b', 'd/a']);
    expect(await paths('?path=d/a')).toEqual(['d/a']);
    expect(await paths(`?run_id=${run.call_id}`)).toEqual(['d/r']);
    const { body } = await ada.client.get(`${files(workspace)}/history?limit=2`);
    expect(body.items).toHaveLength(2);
    expect(await paths(`?limit=3&cursor=${body.next_cursor}`)).toEqual(['d-e', 'd/b', 'd/a']);
  });

  it('are made of what a command wrote, deleted and moved, with mode and odd names', async () => {
    const workspace = await service.workspace(ada);
    await bash(
      workspace,
      String.raw`mkdir -p 'a"b'; echo hi > 'a"b/x\y'$'\n''z'; echo '#!/bin/sh' > run.sh; chmod +x run.sh; echo A > Case; echo a > case; touch -- '-rf' ':(top)'; echo x > .gitattributes; echo '*' > .gitignore`,
    );
    const odd = 'a"b/x\\y\nz';
    const names = (await history(workspace)).map(item => item.path).sort();
    expect(names).toEqual(
      ['-rf', '.gitattributes', '.gitignore', ':(top)', 'Case', odd, 'case', 'run.sh'].sort(),
    );
    const [version] = await of(workspace, odd);
    expect(version.writer).toEqual({ type: 'sandbox', id: ada.id });
    expect((await ada.client.get(`${files(workspace)}/history/${version.id}/diff`)).body.diff).toContain(
      '+++ "b/a\\"b/x\\\\y\\nz"',
    );
    await bash(workspace, 'mv case moved; rm run.sh; rm Case; mkdir Case; echo in > Case/f');
    expect(await of(workspace, 'moved')).toMatchObject([
      { path: 'moved', kind: 'moved', from: 'case', kept: true },
      { path: 'case', kind: 'created', kept: true },
    ]);
    expect((await of(workspace, 'case'))[0]).toMatchObject({ kind: 'deleted', not_kept_because: 'deleted' });
    expect((await history(workspace, '?path=Case')).map(({ path, kind }) => [path, kind])).toEqual(
      expect.arrayContaining([
        ['Case/f', 'created'],
        ['Case', 'deleted'],
        ['Case', 'created'],
      ]),
    );
    const [gone, made] = await of(workspace, 'run.sh');
    const deletion = await ada.client.post(`${files(workspace)}/restore`, {
      path: 'run.sh',
      version: gone.id,
    });
    expect(deletion).toMatchObject({ status: 409, body: { detail: expect.stringContaining('deleted') } });
    const back = { path: 'run.sh', version: made.id };
    expect((await ada.client.post(`${files(workspace)}/restore`, back)).status).toBe(200);
    expect(statSync(path.join(folderOf(workspace), 'run.sh')).mode & 0o111).toBe(0o111);
    const [inTheWay] = (await of(workspace, 'Case')).filter(item => item.path === 'Case' && item.kept);
    const onto = await ada.client.post(`${files(workspace)}/restore`, { path: 'Case', version: inTheWay.id });
    expect(onto.status).toBe(409);
    expect(
      (await ada.client.post(`${files(workspace)}/restore`, { path: 'new/Case', version: inTheWay.id }))
        .status,
    ).toBe(200);
  });

  it('follow files through moves, of themselves and of folders, and can be put back across them', async () => {
    const workspace = await service.workspace(ada);
    const move = async (from: string, to: string) =>
      expect((await ada.client.post(`${files(workspace)}/move`, { from, to })).status).toBe(200);
    const told = (items: Json[]) => items.map(({ path, kind }) => `${kind} ${path}`);

    await write(workspace, 'a', 'another file');
    await of(workspace, 'a'); // what is read becomes a version of its own
    await ada.client.delete(`${files(workspace)}?path=a`);
    await of(workspace, 'a');
    await bash(workspace, 'echo one > a'); // of another writer, which does not melt
    await of(workspace, 'a');
    await write(workspace, 'a', 'two');
    await move('a', 'dir/b');
    await write(workspace, 'dir/b', 'three');
    await of(workspace, 'dir/b');
    await bash(workspace, 'mv dir other');
    await write(workspace, 'a', 'a file after it');
    const lineage = ['moved other/b', 'modified dir/b', 'moved dir/b', 'modified a', 'created a'];
    const versions = await of(workspace, 'other/b');
    expect(told(versions)).toEqual(lineage);
    expect(told(await of(workspace, 'other'))).toEqual(lineage);
    expect(told(await of(workspace, 'dir'))).toEqual(['deleted dir/b', ...lineage.slice(1)]);

    const pages: Json[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await ada.client.get(
        `${files(workspace)}/history?path=other/b&limit=2${cursor && `&cursor=${cursor}`}`,
      );
      pages.push(...body.items);
      if (body.next_cursor === null) break;
      cursor = body.next_cursor;
    }
    expect(pages).toEqual(versions);

    const first = { path: 'other/b', version: versions[4].id };
    expect((await ada.client.post(`${files(workspace)}/restore`, first)).status).toBe(200);
    expect(await read(workspace, 'other/b')).toBe('one\n');

    // There and back: everything once.
    await move('other/b', 'c');
    await move('c', 'other/b');
    expect(told(await of(workspace, 'other/b'))).toEqual([
      'moved other/b',
      'moved c',
      'deleted other/b',
      'modified other/b',
      ...lineage,
    ]);
  });

  it('are compared with what they were before they were moved', async () => {
    const workspace = await service.workspace(ada);
    const diffOf = async (version: string) =>
      (await ada.client.get(`${files(workspace)}/history/${version}/diff`)).body;
    await write(workspace, 'plan', 'one\ntwo\n');
    const [plan] = await of(workspace, 'plan');
    await bash(workspace, 'mv plan notes');
    const [notes] = await of(workspace, 'notes');
    expect([notes.kind, notes.previous]).toEqual(['moved', null]);
    expect(await diffOf(notes.id)).toMatchObject({ against: plan.id, diff: '', additions: 0, deletions: 0 });

    // Over another file, and what comes after it at the old path is another file too.
    await write(workspace, 'over', 'something else\n');
    await of(workspace, 'over');
    const move = { from: 'notes', to: 'over', overwrite: true };
    expect((await ada.client.post(`${files(workspace)}/move`, move)).status).toBe(200);
    await write(workspace, 'notes', 'new notes\n');
    const [over] = await of(workspace, 'over');
    expect(over.kind).toBe('moved');
    expect(await diffOf(over.id)).toMatchObject({ against: notes.id, diff: '' });
    await write(workspace, 'over', 'one\n');
    const [changed] = await of(workspace, 'over');
    expect(await diffOf(changed.id)).toMatchObject({
      against: over.id,
      diff: '--- a/over\n+++ b/over\n@@ -1,2 +1 @@\n one\n-two\n',
    });
  });

  it('keep the conditions of a restore', async () => {
    const workspace = await service.workspace(ada);
    const etag = (await write(workspace, 'a.txt', 'one')).body.etag;
    const [version] = await of(workspace, 'a.txt');
    await write(workspace, 'a.txt', 'two');
    const restore = { path: 'a.txt', version: version.id };
    const client = ada.client.with({ 'if-match': etag });
    expect((await client.post(`${files(workspace)}/restore`, restore)).status).toBe(412);
    const onlyNew = ada.client.with({ 'if-none-match': '*' });
    expect((await onlyNew.post(`${files(workspace)}/restore`, restore)).status).toBe(412);
    expect(await read(workspace, 'a.txt')).toBe('two');
  });

  it('have no content where a file is too large, and say so; bytes are no text', async () => {
    const workspace = await service.workspace(ada);
    const upload = (name: string, bytes: Buffer) =>
      ada.client.raw('PUT', `${files(workspace)}/upload?path=${name}`, {
        body: new Uint8Array(bytes),
        headers: { 'content-type': 'application/octet-stream' },
      });
    await upload('big.bin', Buffer.alloc(100_001, 1));
    await upload('small.bin', Buffer.from([0, 255, 254, 10]));
    const [big] = await of(workspace, 'big.bin');
    expect(big).toMatchObject({ size: 100_001, kept: false, not_kept_because: 'too_large' });
    const restore = await ada.client.post(`${files(workspace)}/restore`, {
      path: 'big.bin',
      version: big.id,
    });
    expect(restore).toMatchObject({ status: 409, body: { detail: expect.stringContaining('too large') } });
    const [small] = await of(workspace, 'small.bin');
    const at = `${files(workspace)}/history/${small.id}`;
    expect((await ada.client.get(at)).body).toMatchObject({ content: null, binary: true });
    expect((await ada.client.get(`${at}/diff`)).body).toMatchObject({
      diff: 'Binary files /dev/null and b/small.bin differ\n',
      binary: true,
    });
    const bytes = Buffer.from(await (await ada.client.raw('GET', `${at}/download`)).arrayBuffer());
    expect(bytes).toEqual(Buffer.from([0, 255, 254, 10]));
  });

  it('are not led astray by links, nor do they look into folders that others keep', async () => {
    const workspace = await service.workspace(ada);
    await bash(
      workspace,
      'ln -s /etc/passwd link; ln -s . loop; mkdir -p x/.git/hooks node_modules/m; echo 1 > x/.git/config; echo 1 > node_modules/m/i.js; mkfifo pipe; echo y > x/y',
    );
    expect((await history(workspace)).map(item => item.path)).toEqual(['x/y']);
    // A file that is logged and then swapped for a link is not followed.
    await write(workspace, 'swapped', 'harmless');
    rmSync(path.join(folderOf(workspace), 'swapped'));
    symlinkSync('/etc/passwd', path.join(folderOf(workspace), 'swapped'));
    expect((await of(workspace, 'swapped'))[0]).toMatchObject({
      kept: false,
      not_kept_because: 'overwritten',
    });
  });

  it('never hold what is outside, whatever is swapped while they are made', async () => {
    const workspace = await service.workspace(ada);
    writeFileSync(path.join(service.dataDir, 'secret'), 'SECRET');
    chmodSync(path.join(service.dataDir, 'secret'), 0o644);
    const swapping = bash(
      workspace,
      `for n in $(seq 120); do ln -sfn ${service.dataDir}/secret link; mv -T link a; echo $n >own; mv own a; mkdir -p d; echo $n >d/f; mv d was; ln -s ${service.dataDir} d; rm -r d was; done`,
    );
    for (let n = 0; n < 8; n++) {
      for (const at of ['a', 'd/f', 'd/secret']) await write(workspace, at, `${n}`);
      await history(workspace, '?limit=1');
    }
    await swapping;
    for (const { id, kept } of await history(workspace, '?limit=200')) {
      if (!kept) continue;
      const { body } = await ada.client.get(`${files(workspace)}/history/${id}`);
      expect(body.content).toMatch(/^\d+\n?$/);
    }
  });

  it('each have their content although they follow each other at once', async () => {
    const workspace = await service.workspace(ada);
    const bob = await service.person('Bob');
    await service.join(bob, { organization: ada.organizationId, role: 'admin' });
    for (let n = 0; n < 6; n++) await write(workspace, 'a.txt', `${n}`, n % 2 ? bob.client : ada.client);
    const versions = await of(workspace, 'a.txt');
    expect(versions).toHaveLength(6);
    expect(versions.every(({ kept }) => kept)).toBe(true);
    expect(new Set(versions.map(({ writer }) => writer.id))).toEqual(new Set([ada.id, bob.id]));
  });

  it('begin with what was there before', async () => {
    const workspace = await service.workspace(ada);
    mkdirSync(path.join(folderOf(workspace), 'old'));
    for (let n = 0; n < 30; n++) writeFileSync(path.join(folderOf(workspace), 'old', `f${n}`), `${n}`);
    // Commands run as somebody else.
    for (const name of ['old', 'old/f7']) chmodSync(path.join(folderOf(workspace), name), 0o777);
    await service.database.query('delete from workspace_history where workspace_id = $1', [workspace]);
    await bash(workspace, 'echo changed > old/f7; rm old/f8');
    const [changed, before] = await of(workspace, 'old/f7');
    expect(changed).toMatchObject({ kind: 'modified', previous: before.id });
    expect(before).toMatchObject({ kind: 'found', writer: null, kept: true });
    const deleted = (await of(workspace, 'old/f8'))[1];
    await ada.client.post(`${files(workspace)}/restore`, { path: 'old/f8', version: deleted.id });
    expect(await read(workspace, 'old/f8')).toBe('8');
    expect(await history(workspace, '?path=old&limit=200')).toHaveLength(33);
  });

  it('of a file from before the history are made before it is overwritten, without all the others', async () => {
    const workspace = await service.workspace(ada);
    for (let n = 0; n < 1500; n++) writeFileSync(path.join(folderOf(workspace), `f${n}`), `${n}`);
    await service.database.query(
      `update chore set due_at = now() + interval '10 minutes' where name = 'catch_up_histories'`,
    );
    const commit = jest.spyOn(GitHistory.prototype, 'commit');
    // Both writes are one change.
    await keepingOpen(service, async () => {
      for (const content of ['a', 'b']) expect((await write(workspace, 'f7', content)).status).toBe(200);
    });
    const commits = commit.mock.calls.map(([changed]) => changed.map(file => file.path));
    commit.mockRestore();
    expect(commits.find(paths => paths.includes('f7'))).toEqual(['f7']);
    const versions = await of(workspace, 'f7');
    expect(versions.map(({ kind }) => kind)).toEqual(['modified', 'found']);
    const { body } = await ada.client.get(`${files(workspace)}/history/${versions[1].id}`);
    expect(body.content).toBe('7');
    const [{ paths, all }] = await service.database.query<Json>(
      'select count(distinct path)::int as paths, count(*)::int as all from file_version where workspace_id = $1',
      [workspace],
    );
    expect({ paths, all }).toEqual({ paths: 1500, all: 1501 });
  });

  it('of ten thousand files are one commit', async () => {
    const workspace = await service.workspace(ada);
    const command = 'mkdir many; cd many; for n in $(seq 10000); do echo $n > f$n; done';
    expect(await bash(workspace, command)).toMatchObject({ is_error: false });
    const [{ logged }] = await service.database.query<Json>(
      'select count(*)::int as logged from workspace_change where workspace_id = $1',
      [workspace],
    );
    expect(logged).toBe(10_001);
    expect((await history(workspace, '?limit=1'))[0].kept).toBe(true);
    const [{ commits }] = await service.database.query<Json>(
      'select count(*)::int as commits from history_commit where workspace_id = $1',
      [workspace],
    );
    expect(commits).toBe(1);
    const [{ kept }] = await service.database.query<Json>(
      'select count(*)::int as kept from file_version where workspace_id = $1 and blob is not null',
      [workspace],
    );
    expect(kept).toBe(10_000);
  });

  it('are made soon, in many workspaces, although nobody reads them and no job says so', async () => {
    const workspaces = await Promise.all([1, 2, 3].map(() => service.workspace(ada)));
    for (const workspace of workspaces) for (const n of [1, 2, 3]) await write(workspace, `f${n}`, `${n}`);
    const [{ jobs }] = await service.database.query<Json>(
      `select count(*)::int as jobs from accepted_job where payload ->> 'workspace_id' = any($1)`,
      [workspaces],
    );
    expect(jobs).toBe(0);
    for (let kept = 0; kept < 9; )
      [{ kept }] = await service.database.query<Json>(
        `select count(*)::int as kept, pg_sleep(0.05) from file_version v join workspace_change c on c.seq = v.change_seq
         where v.workspace_id = any($1::uuid[]) and v.blob is not null and c.captured`,
        [workspaces],
      );
  });

  it('are kept one by one where they are overwritten before they are captured, and by whomever', async () => {
    const workspace = await service.workspace(ada);
    await of(workspace, 'f');
    await service.join(viewer, {
      organization: ada.organizationId,
      role: 'guest',
      workspace,
      workspaceRole: 'editor',
    });
    const capturing = new pg.Client({ connectionString: service.database.url });
    await capturing.connect();
    await capturing.query(`select pg_advisory_lock(hashtextextended('history:' || $1, 0))`, [workspace]);
    await bash(workspace, 'for n in $(seq 3000); do echo $n > f$n; done');
    const versions = ['a', 'b', 'c', 'd'];
    for (const [n, text] of versions.entries()) {
      const writer = n % 2 === 0 ? ada : viewer;
      expect((await write(workspace, 'f7', text, writer.client)).status).toBe(200);
    }
    await ada.client.post(`${files(workspace)}/move`, { from: 'f8', to: 'moved' });
    await write(workspace, 'f8', 'new');
    await ada.client.delete(`${files(workspace)}?path=f9`);
    expect(readdirSync(path.join(storeOf(workspace), 'kept')).length).toBeGreaterThan(4);
    await capturing.end();
    const contents = async (at: string) =>
      Promise.all(
        (await of(workspace, at)).map(async ({ id, kind }) =>
          kind === 'deleted'
            ? null
            : (await ada.client.get(`${files(workspace)}/history/${id}`)).body.content,
        ),
      );
    expect(await contents('f7')).toEqual([...versions.reverse(), '7\n']);
    expect(await contents('f8')).toEqual(['new', null, '8\n']);
    expect(await contents('f9')).toEqual([null, '9\n']);
    await folderBecomes(path.join(storeOf(workspace), 'kept'), names => names.length === 0);
    const [named] = await service.database.query<Json>('select id, number from workspace where id = $1', [
      workspace,
    ]);
    await service.app.get(HistoryTrim, { strict: false }).trim(named as { id: string; number: number });
    expect(await contents('f7')).toEqual([...versions, '7\n']);
  });

  it('go with the workspace', async () => {
    const workspace = await service.workspace(ada);
    await write(workspace, 'a', 'a');
    await of(workspace, 'a');
    expect(readdirSync(storeOf(workspace))).toEqual(['git']);
    await ada.client.delete(`/api/workspaces/${workspace}`);
    expect((await ada.client.get(`${files(workspace)}/history`)).status).toBe(404);
    await folderBecomes(path.dirname(storeOf(workspace)), names => !names.includes(workspace));
  });

  it('begin in no workspace that is deleted at that moment', async () => {
    const workspace = await service.workspace(ada);
    mkdirSync(path.join(folderOf(workspace), 'notes'));
    writeFileSync(path.join(folderOf(workspace), 'notes/old'), 'from before');
    const deleting = new pg.Client({ connectionString: service.database.url });
    await deleting.connect();
    await deleting.query('begin');
    await deleting.query('delete from workspace where id = $1', [workspace]);
    const reading = ada.client.get(`${files(workspace)}/history`);
    for (let waits = 0; waits === 0; )
      [{ waits }] = await service.database.query<Json>(
        `select count(*)::int as waits, pg_sleep(0.05) from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and query like '%workspace_history%'`,
      );
    await deleting.query('commit');
    await deleting.end();
    expect((await reading).status).not.toBe(500);
    expect((await ada.client.get(`${files(workspace)}/history`)).status).toBe(404);
  });
});

describe('taking a run back', () => {
  it('makes its files what they were: created ones go, changed and deleted ones come back', async () => {
    const workspace = await service.workspace(ada);
    await write(workspace, 'changed.txt', 'before');
    await write(workspace, 'gone.txt', 'was here');
    await write(workspace, 'file-then-folder', 'a file');
    await write(workspace, 'folder/inner', 'in a folder');
    const run = await agent.run(
      'write changed.txt: after\nrun rm gone.txt; mkdir -p new/deep; echo n > new/deep/n; rm file-then-folder; mkdir file-then-folder; echo x > file-then-folder/x; rm -r folder; echo f > folder; ln -s / link; mv changed.txt moved.txt; echo again > changed.txt',
      { workspace_id: workspace },
    );
    const record = (await ada.client.get(`/api/agent/runs/${run.call_id}`)).body;
    const changed = new Map(record.files_changed.map((file: Json) => [file.path, file]));
    expect(changed.get('changed.txt')).toMatchObject({
      kind: 'modified',
      before: { size: 6, kept: true },
      after: { size: 6, kept: true },
    });
    expect(changed.get('gone.txt')).toMatchObject({ kind: 'deleted', before: { size: 8 }, after: null });
    expect(changed.get('new/deep/n')).toMatchObject({ kind: 'created', before: null });

    const both = await Promise.all([rollback(run), rollback(run)]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect(await read(workspace, 'changed.txt')).toBe('before');
    expect(await read(workspace, 'gone.txt')).toBe('was here');
    expect(await read(workspace, 'file-then-folder')).toBe('a file');
    expect(await read(workspace, 'folder/inner')).toBe('in a folder');
    expect(readdirSync(folderOf(workspace)).sort()).toEqual([
      'changed.txt',
      'file-then-folder',
      'folder',
      'gone.txt',
    ]);
    expect(await rollback(run)).toMatchObject({ status: 200, body: { reverted: [], skipped: [] } });
    expect((await of(workspace, 'gone.txt'))[0].writer).toEqual({ type: 'user', id: ada.id });
  });

  it('is refused where somebody changed files since, naming them, unless those are to be left', async () => {
    const workspace = await service.workspace(ada);
    await write(workspace, 'a.txt', 'a');
    await write(workspace, 'b.txt', 'b');
    const run = await agent.run('write a.txt: A\nwrite b.txt: B\nwrite c.txt: C', {
      workspace_id: workspace,
    });
    await write(workspace, 'b.txt', 'mine');
    const refused = await rollback(run);
    expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining('"b.txt"') } });
    expect(await read(workspace, 'a.txt')).toBe('A');
    const { status, body } = await rollback(run, { skip_changed: true });
    expect(status).toBe(200);
    expect(body.skipped).toEqual(['b.txt']);
    expect(body.reverted).toEqual([
      { path: 'c.txt', action: 'removed' },
      { path: 'a.txt', action: 'restored' },
    ]);
    expect(await read(workspace, 'b.txt')).toBe('mine');
    // Also what nobody has logged yet counts as changed.
    const next = await agent.run('write d.txt: D', { workspace_id: workspace });
    writeFileSync(path.join(folderOf(workspace), 'd.txt'), 'by nobody known');
    expect((await rollback(next)).status).toBe(409);
  });

  it('is for those who may write, and for runs that have ended', async () => {
    const workspace = await service.workspace(ada);
    await watching(workspace);
    const run = await agent.run('write a.txt: A', { workspace_id: workspace });
    expect((await rollback(run, {}, viewer.client)).status).toBe(403);
    expect((await rollback(run, {}, stranger.client)).status).toBe(404);
    expect((await rollback(run, { force: true })).status).toBe(422);
    const going = await agent.send('run sleep 300', { workspace_id: workspace });
    expect(await rollback(going)).toMatchObject({ status: 409 });
    await ada.client.post('/api/agent/stop', { call_id: going.call_id });
  });

  it('goes for what its tasks did as well', async () => {
    const workspace = await service.workspace(ada);
    await write(workspace, 'a.txt', 'mine');
    const run = await agent.run('write a.txt: by the run\nwrite r.txt: r', { workspace_id: workspace });
    const task = await agent.run('write a.txt: by the task\nwrite t.txt: t', { workspace_id: workspace });
    expect((await rollback(run)).status).toBe(409);
    await service.database.query(
      'update run set parent_id = $1, parent_step = 1, parent_position = 0, depth = 1 where id = $2',
      [run.call_id, task.call_id],
    );
    const { files_changed } = (await ada.client.get(`/api/agent/runs/${run.call_id}`)).body;
    expect(files_changed.map((file: Json) => file.path)).toEqual(['a.txt', 'r.txt', 't.txt']);
    expect((await rollback(run)).status).toBe(200);
    expect(readdirSync(folderOf(workspace))).toEqual(['a.txt']);
    expect(await read(workspace, 'a.txt')).toBe('mine');
  });

  it('finds what was written just before the run began, and between its steps', async () => {
    const workspace = await service.workspace(ada);
    await write(workspace, 'a.txt', 'mine');
    const run = await agent.run('run echo one > a.txt\nrun echo two > a.txt; echo b > b.txt\nrun rm b.txt', {
      workspace_id: workspace,
    });
    expect((await of(workspace, 'a.txt')).at(-1)).toMatchObject({ kept: true, writer: { type: 'user' } });
    expect((await rollback(run)).status).toBe(200);
    expect(await read(workspace, 'a.txt')).toBe('mine');
  });
});

describe('forgetting', () => {
  const age = async (workspace: string): Promise<void> => {
    for (const table of ['history_commit', 'workspace_history'])
      await service.database.query(
        `update ${table} set ${table === 'history_commit' ? 'committed_at' : 'tended_at'} = now() - interval '100 days' where workspace_id = $1`,
        [workspace],
      );
  };

  it('leaves what is there now, and what came after', async () => {
    const workspace = await service.workspace(ada);
    await write(workspace, 'a.txt', 'first');
    await of(workspace, 'a.txt');
    await write(workspace, 'gone.txt', 'gone');
    await of(workspace, 'a.txt');
    const old = await agent.run('write a.txt: second', { workspace_id: workspace });
    await bash(workspace, 'rm gone.txt');
    await of(workspace, 'a.txt');
    await age(workspace);
    await write(workspace, 'a.txt', 'third');
    await of(workspace, 'a.txt');
    const oldest = (await of(workspace, 'a.txt')).at(-1);
    await service.app.get(HistoryTrim, { strict: false }).due();
    const left = await of(workspace, 'a.txt');
    expect(left.map(({ kept }) => kept)).toEqual([true, true]);
    expect((await ada.client.get(`${files(workspace)}/history/${left[1].id}`)).body.content).toBe('second');
    expect((await ada.client.get(`${files(workspace)}/history/${oldest.id}`)).status).toBe(404);
    expect(await of(workspace, 'gone.txt')).toEqual([]);
    await service.database.query("update run set started_at = now() - interval '101 days' where id = $1", [
      old.call_id,
    ]);
    expect(await rollback(old)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('too long ago') },
    });
    await write(workspace, 'a.txt', 'fourth');
    expect(await of(workspace, 'a.txt')).toHaveLength(3);
  });
});

describe('a history that outgrows its size', () => {
  const put = (workspace: string, bytes: Buffer) =>
    ada.client.put(`${files(workspace)}/content`, {
      path: 'data.bin',
      content: bytes.toString('base64'),
      encoding: 'base64',
    });
  const download = async (workspace: string, version: string): Promise<Buffer> => {
    const answer = await ada.client.raw('GET', `${files(workspace)}/history/${version}/download`);
    return Buffer.from(await answer.arrayBuffer());
  };

  it('takes no more contents, forgets the oldest, and takes contents again', async () => {
    const workspace = await service.workspace(ada);
    // Of these, eleven are a mebibyte; none can be packed any smaller.
    const contents = Array.from({ length: 12 }, () => randomBytes(95_000));
    for (const bytes of contents) {
      await put(workspace, bytes);
      await of(workspace, 'data.bin');
    }
    const [newest, ...before] = await of(workspace, 'data.bin');
    expect(newest).toMatchObject({ size: 95_000, kept: false, not_kept_because: 'full' });
    expect(before.map(({ kept }) => kept)).toEqual(Array(11).fill(true));
    const restored = await ada.client.post(`${files(workspace)}/restore`, {
      path: 'data.bin',
      version: newest.id,
    });
    expect([restored.status, restored.body.detail]).toEqual([409, expect.stringContaining('had no room')]);

    await service.database.query(
      `update workspace_history set tended_at = now() - interval '1 hour' where workspace_id = $1`,
      [workspace],
    );
    await service.app.get(HistoryTrim, { strict: false }).due();
    const left = await of(workspace, 'data.bin');
    expect(left.length).toBeGreaterThan(1);
    expect(left.length).toBeLessThan(12);
    expect(left.map(({ id }) => id)).toEqual([newest, ...before].slice(0, left.length).map(({ id }) => id));
    expect(await download(workspace, left[1].id)).toEqual(contents.at(-2));
    expect((await ada.client.get(`${files(workspace)}/history/${before.at(-1)?.id}`)).status).toBe(404);
    const again = randomBytes(95_000);
    await put(workspace, again);
    const [latest] = await of(workspace, 'data.bin');
    expect(latest).toMatchObject({ kept: true, not_kept_because: null });
    expect(await download(workspace, latest.id)).toEqual(again);
  });
});

describe('a machine without git', () => {
  it('says so, and writes all the same', async () => {
    const workspace = await service.workspace(ada);
    await write(workspace, 'a.txt', 'a');
    const git = service.app.get(GitStore, { strict: false });
    const sentence = 'There is no history of files on this machine because git is missing';
    Object.assign(git, { known: { fault: sentence, until: Number.POSITIVE_INFINITY } });
    try {
      expect(await ada.client.get(`${files(workspace)}/history`)).toMatchObject({
        status: 503,
        body: { detail: sentence },
      });
      expect((await write(workspace, 'a.txt', 'b')).status).toBe(200);
      const run = await agent.run('write c.txt: c', { workspace_id: workspace });
      expect((await ada.client.get(`/api/agent/runs/${run.call_id}`)).body.files_changed).toEqual([
        { path: 'c.txt', kind: 'created', before: null, after: expect.objectContaining({ kept: false }) },
      ]);
      expect((await rollback(run)).status).toBe(503);
    } finally {
      Object.assign(git, { known: undefined });
    }
  });
});
