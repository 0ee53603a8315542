import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import { AgentClient } from '../../harness/agent.js';
import type { Answer, Json } from '../../harness/client.js';
import { folderBecomes } from '../../harness/folder.js';
import { serveRepositories } from '../../harness/git-server.js';
import { type Person, TestService } from '../../harness/service.js';
import { TlsServers } from '../../harness/tls-servers.js';

const SECRET = 'frg_4c1e-the-key-of-the-team';
const HERS = 'frg_99ab-the-key-of-ada';

let model: FakeOpenAi;
let service: TestService;
let servers: TlsServers;
let forge: string;
let ada: Person;
/** A member of the organization, an editor of its workspace. */
let bob: Person;
/** One who only reads. */
let vera: Person;
let stranger: Person;
let workspace: string;
let repositories: string;
let connection: string;
let seen: { url: string; authorization: string | undefined }[];
/** Runs before the server answers. */
let before: (url: string) => Promise<void>;
let count = 0;

const basic = (password: string) => `Basic ${Buffer.from(`git:${password}`).toString('base64')}`;

beforeAll(async () => {
  repositories = mkdtempSync(path.join(tmpdir(), 'repositories-'));
  servers = new TlsServers();
  const git = serveRepositories(
    repositories,
    (header, url) => header === basic(SECRET) || (header === basic(HERS) && url.startsWith('/hers')),
  );
  forge = await servers.start('127.0.0.3', (request: IncomingMessage, response: ServerResponse) => {
    const { url = '', headers } = request;
    seen.push({ url, authorization: headers.authorization });
    if (url.startsWith('/v1')) return void response.end('fine');
    if (url.startsWith('/down')) return void response.writeHead(503).end();
    void before(url).then(() => {
      if (!response.destroyed) git(request, response);
    });
  });
  model = await FakeOpenAi.start();
  service = await TestService.start({
    OUTGOING_PRIVATE_HOSTS: forge,
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'small',
    DEFAULT_MODEL: 'local/small',
  });
  [ada, bob] = [await service.person('Ada Lovelace'), await service.person('Bob')];
  [vera, stranger] = [await service.person('Vera'), await service.person('Eve')];
  workspace = await service.workspace(ada, { visibility: 'restricted' });
  const organization = { organization: ada.organizationId, role: 'member', workspace };
  await service.join(bob, { ...organization, workspaceRole: 'editor' });
  await service.join(vera, { ...organization, workspaceRole: 'viewer' });
  const definition = {
    id: 'forge',
    name: 'Forge',
    docs: 'https://forge.example.com/docs',
    auth: 'api_key',
    api: {
      base_url: `https://${forge}/v1`,
      hosts: [],
      header: 'Authorization',
      template: 'Bearer {api_key}',
      probe: '/me',
    },
    git: { hosts: [forge], username: 'git' },
    fields: [{ name: 'api_key', label: 'Key', secret: true }],
  };
  await ada.client.post('/api/integrations/providers', { organization_id: ada.organizationId, definition });
  seen = [];
  before = () => Promise.resolve();
  connection = await connect(SECRET);
  await grant(connection);
});
beforeEach(() => {
  seen = [];
  before = () => Promise.resolve();
});
afterAll(async () => {
  await service?.stop();
  await model?.stop();
  servers?.stop();
  rmSync(repositories, { recursive: true, force: true });
});

async function connect(api_key: string, owner = 'organization'): Promise<string> {
  const { status, body } = await ada.client.post('/api/integrations', {
    provider: 'forge',
    organization_id: ada.organizationId,
    owner,
    fields: { api_key },
  });
  if (status !== 200) throw new Error(`connecting answered ${status}: ${JSON.stringify(body)}`);
  return body.connection.id;
}
const grant = (id: string, fields: Json = {}) =>
  ada.client.put(`/api/integrations/${id}/workspaces`, { grants: [{ workspace_id: workspace, ...fields }] });

const IDENTITY = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org'];
const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', [...IDENTITY, ...args], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });

/** A bare repository with a commit, and a clone of it outside, as another person has one. */
function remote(files: Json = { 'README.md': 'one\n' }): {
  name: string;
  url: string;
  bare: string;
  outside: string;
} {
  const name = `r${++count}.git`;
  const bare = path.join(repositories, name);
  git(repositories, 'init', '-q', '--bare', '--initial-branch=main', bare);
  git(bare, 'config', 'http.receivepack', 'true');
  const outside = mkdtempSync(path.join(repositories, 'outside-'));
  git(outside, 'init', '-q', '--initial-branch=main', '.');
  git(outside, 'remote', 'add', 'origin', bare);
  commitOutside(outside, files, 'first');
  return { name, url: `https://${forge}/${name}`, bare, outside };
}
function commitOutside(folder: string, files: Json, message: string): void {
  for (const [file, content] of Object.entries(files))
    writeFileSync(path.join(folder, file), String(content));
  git(folder, 'add', '--all');
  git(folder, 'commit', '-qm', message);
  git(folder, 'push', '-q', 'origin', 'HEAD:main');
}

const post = (id: string, what: string, fields: Json = {}, person = ada): Promise<Answer> =>
  person.client.post(`/api/git-repos/${id}/${what}`, fields);
const get = async (id: string, what = '', person = ada): Promise<Json> =>
  (await person.client.get(`/api/git-repos/${id}${what}`)).body;
const inside = (...parts: string[]) => path.join(service.dataDir, 'workspaces', workspace, ...parts);
const write = (file: string, content: string) =>
  ada.client.put(`/api/workspaces/${workspace}/files/content`, { path: file, content });

async function ended(operation_id: string): Promise<Json> {
  for (;;) {
    const { body } = await ada.client.get(`/api/operations/${operation_id}`);
    if (!['queued', 'running'].includes(body.status)) return body;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}
/** A repository that was cloned. */
async function cloned(url: string, fields: Json = {}, person = ada): Promise<{ id: string; folder: string }> {
  const { status, body } = await person.client.post('/api/git-repos', {
    workspace_id: workspace,
    url,
    ...fields,
  });
  if (status !== 200) throw new Error(`cloning answered ${status}: ${JSON.stringify(body)}`);
  const operation = await ended(body.operation_id);
  if (operation.status !== 'completed') throw new Error(JSON.stringify(operation));
  const { path: folder } = await get(body.id);
  return { id: body.id, folder };
}
async function output(command: string, person = ada): Promise<string> {
  const { status, body } = await person.client.post(`/api/workspaces/${workspace}/tools/bash`, {
    input: { command, timeout_seconds: 120 },
  });
  if (status !== 200) throw new Error(`bash answered ${status}: ${JSON.stringify(body)}`);
  return body.output;
}

describe('a clone', () => {
  it('is there whole, with its remote, its branches and nothing of the credential', async () => {
    const { url, outside, name } = remote({ 'README.md': 'one\n', 'a b.txt': 'two\n' });
    git(outside, 'push', '-q', 'origin', 'HEAD:feature/x');
    git(outside, 'tag', 'v1');
    git(outside, 'push', '-q', 'origin', 'v1');
    const { id, folder } = await cloned(url);
    expect(folder).toBe(name.replace('.git', ''));
    expect(readFileSync(inside(folder, 'a b.txt'), 'utf8')).toBe('two\n');
    expect(await get(id)).toMatchObject({
      url,
      path: folder,
      branch: 'main',
      connection_id: connection,
      state: 'ready',
      reason: null,
    });
    expect(await get(id, '/status')).toEqual({
      branch: 'main',
      upstream: 'origin/main',
      ahead: 0,
      behind: 0,
      truncated: false,
      commit: git(outside, 'rev-parse', 'HEAD').trim(),
      staged: [],
      changed: [],
      untracked: [],
      conflicted: [],
    });
    const { items, current } = await get(id, '/branches');
    expect([current, items.map((branch: Json) => `${branch.is_remote} ${branch.name}`)]).toEqual([
      'main',
      ['false main', 'true feature/x', 'true main'],
    ]);
    expect(readFileSync(inside(folder, '.git', 'config'), 'utf8')).not.toMatch(/frg_|Basic|extraheader/i);
    expect(seen.every(each => each.authorization === basic(SECRET))).toBe(true);
    // Programs see an ordinary clone.
    expect(await output(`cd ${folder} && git status -sb && git fetch -q && git tag`)).toBe(
      '## main...origin/main\nv1',
    );
    const logged = await service.database.query(
      'select kind, writer_type, writer_id from workspace_change where workspace_id = $1 and path = $2',
      [workspace, `${folder}/a b.txt`],
    );
    expect(logged).toEqual([{ kind: 'created', writer_type: 'git', writer_id: id }]);
    const { body: page } = await ada.client.get(`/api/git-repos?workspace_id=${workspace}`);
    expect(page.items.map((repo: Json) => repo.id)).toContain(id);
    expect(
      (await ada.client.get(`/api/organizations/${ada.organizationId}/audit?limit=20`)).body.items,
    ).toContainEqual(expect.objectContaining({ action: 'git_repo.clone' }));
  });

  it('has a branch, a depth, a folder of its own; an empty repository has no commit yet', async () => {
    const { url, outside } = remote();
    commitOutside(outside, { 'README.md': 'two\n' }, 'second');
    git(outside, 'push', '-q', 'origin', 'HEAD:other');
    const { id } = await cloned(url, { path: 'deep/er/place', branch: 'other', depth: 1 });
    expect(await get(id, '/commits')).toMatchObject({ items: [{ message: 'second' }], next_cursor: null });
    expect(await get(id, '/status')).toMatchObject({ branch: 'other', upstream: 'origin/other' });
    const bare = path.join(repositories, 'empty.git');
    git(repositories, 'init', '-q', '--bare', '--initial-branch=main', bare);
    git(bare, 'config', 'http.receivepack', 'true');
    const empty = await cloned(`https://${forge}/empty.git`);
    expect(await get(empty.id, '/commits')).toEqual({ items: [], next_cursor: null });
    await write('empty/new.md', 'new\n');
    expect((await post(empty.id, 'commit', { message: 'begin', all: true })).status).toBe(200);
    expect((await post(empty.id, 'push')).body).toMatchObject({ branch: 'main', updated: true });
    expect(git(bare, 'log', '--format=%s', 'main')).toBe('begin\n');
  });

  it('that fails leaves nothing, and says why', async () => {
    const { url } = remote();
    const tell = async (fields: Json): Promise<Json> => {
      const { body } = await ada.client.post('/api/git-repos', { workspace_id: workspace, url, ...fields });
      return ended(body.operation_id);
    };
    expect(await tell({ url: `https://${forge}/none.git` })).toMatchObject({
      status: 'error',
      error: expect.stringContaining('no such repository'),
    });
    expect(await tell({ branch: 'none', path: 'nowhere/at-all' })).toMatchObject({
      status: 'error',
      error: 'The remote has no branch none',
    });
    // It is tried again a few times, and the last reason is told.
    expect(await tell({ url: `https://${forge}/down.git` })).toMatchObject({
      status: 'error',
      error: expect.stringContaining('The server cannot be reached'),
    });
    expect(existsSync(inside('nowhere'))).toBe(false);
    await folderBecomes(inside(), names => !names.some(name => name.startsWith('.atelier-tmp')));
    const { body: page } = await ada.client.get(`/api/git-repos?workspace_id=${workspace}`);
    const failed = page.items.find((repo: Json) => repo.path === 'nowhere/at-all');
    expect(failed).toMatchObject({ state: 'error', reason: 'The remote has no branch none' });
    expect((await post(failed.id, 'pull')).body.detail).toContain('clone it again');
    await cloned(url, { path: 'nowhere/at-all' });
  });

  it('is cancelled while it is under way', async () => {
    const { url } = remote();
    let arrived: () => void = () => undefined;
    const asked = new Promise<void>(resolve => {
      arrived = resolve;
    });
    let release: () => void = () => undefined;
    before = () =>
      new Promise(resolve => {
        release = resolve;
        arrived();
      });
    const { body } = await ada.client.post('/api/git-repos', { workspace_id: workspace, url });
    await asked;
    expect((await post(body.id, 'pull')).status).toBe(409);
    await ada.client.post(`/api/operations/${body.operation_id}/cancel`);
    before = () => Promise.resolve();
    release();
    expect(['cancelled', 'completed']).toContain((await ended(body.operation_id)).status);
  });

  it('ends where its credential is taken away while it is under way', async () => {
    const { url } = remote();
    let arrived: () => void = () => undefined;
    const asked = new Promise<void>(resolve => {
      arrived = resolve;
    });
    before = at =>
      at.endsWith('/git-upload-pack')
        ? new Promise(() => {
            arrived();
          })
        : Promise.resolve();
    const { body } = await ada.client.post('/api/git-repos', { workspace_id: workspace, url });
    await asked;
    await ada.client.put(`/api/integrations/${connection}/workspaces`, { grants: [] });
    expect(await ended(body.operation_id)).toMatchObject({
      status: 'error',
      error: expect.stringContaining('This connection is not granted to the workspace'),
    });
    expect((await grant(connection)).status).toBe(200);
  });

  it.each([
    ['http://example.com/a.git', 'https'],
    ['git@example.com:a.git', 'https'],
    ['https://me:secret@example.com/a.git', 'no user name or token'],
    ['https://example.com/a.git?x=1', 'no query'],
    ['https://example.com/', 'repository'],
    ['ext::sh -c evil', 'https'],
    ['file:///etc', 'https'],
    ['https://example.com/%2e%2e/a.git', 'without %'],
  ])('of %s is refused', async (url, why) => {
    const { status, body } = await ada.client.post('/api/git-repos', { workspace_id: workspace, url });
    expect([status, body.detail]).toEqual([422, expect.stringContaining(why)]);
  });

  it('goes into no folder that is taken, and to no host that the workspace may not reach', async () => {
    const { url } = remote();
    await write('taken/file', 'x');
    const ask = (fields: Json) =>
      ada.client.post('/api/git-repos', { workspace_id: workspace, url, ...fields });
    expect((await ask({ path: 'taken' })).body.detail).toContain('something at taken already');
    expect((await ask({ path: '../x' })).status).toBe(422);
    expect((await ask({ path: 'a/.git/hooks' })).status).toBe(422);
    const alone = await ask({ connection_id: null });
    expect([alone.status, alone.body.detail]).toEqual([
      409,
      expect.stringContaining('cannot be reached from this workspace'),
    ]);
    const elsewhere = await ask({ url: 'https://elsewhere.example.com/a.git', connection_id: connection });
    expect([elsewhere.status, elsewhere.body.detail]).toEqual([
      409,
      expect.stringContaining('is for no repositories of'),
    ]);
    const both = await Promise.all([ask({ path: 'once' }), ask({ path: 'once' })]);
    expect(both.map(answer => answer.status).toSorted()).toEqual([200, 409]);
    // The server notes what is asked; what comes next is to be asked by others alone.
    const begun = both.find(({ status }) => status === 200);
    expect((await ended(begun?.body.operation_id)).status).toBe('completed');
  });
});

describe('who may', () => {
  it('is an editor; those who see the workspace read, others find nothing', async () => {
    const { url } = remote();
    const { id } = await cloned(url);
    for (const what of ['', '/status', '/commits', '/diff', '/branches'])
      expect([what, (await vera.client.get(`/api/git-repos/${id}${what}`)).status]).toEqual([what, 200]);
    const calls: [string, Json][] = [
      ['checkout', { branch: 'main' }],
      ['commit', { message: 'x', all: true }],
      ['pull', {}],
      ['push', {}],
    ];
    for (const [what, fields] of calls) {
      expect([what, (await post(id, what, fields, vera)).status]).toEqual([what, 403]);
      expect([what, (await post(id, what, fields, stranger)).status]).toEqual([what, 404]);
    }
    const { status } = await vera.client.post('/api/git-repos', { workspace_id: workspace, url, path: 'v' });
    expect(status).toBe(403);
    expect((await stranger.client.get(`/api/git-repos/${id}/status`)).status).toBe(404);
    expect((await vera.client.delete(`/api/git-repos/${id}`)).status).toBe(403);
    expect((await ada.client.delete(`/api/git-repos/${id}`)).body).toEqual({ id, deleted: true });
    expect((await ada.client.get(`/api/git-repos/${id}`)).status).toBe(404);
  });

  it('uses a personal connection is its owner alone', async () => {
    await grant(connection, { paths: ['/none'] });
    const refused = remote();
    const { status, body } = await ada.client.post('/api/git-repos', {
      workspace_id: workspace,
      url: refused.url,
    });
    expect([status, body.detail]).toEqual([
      403,
      expect.stringContaining('is not granted to this workspace for'),
    ]);
    await ada.client.put(`/api/integrations/${connection}/workspaces`, { grants: [] });
    const hers = await connect(HERS, 'user');
    await grant(hers);
    const bare = path.join(repositories, 'hers.git');
    git(repositories, 'init', '-q', '--bare', '--initial-branch=main', bare);
    const { id } = await cloned(`https://${forge}/hers.git`);
    seen = [];
    expect((await post(id, 'pull', {}, bob)).status).toBe(403);
    expect(seen).toEqual([]);
    await ada.client.delete(`/api/integrations/${hers}`);
    expect(await get(id)).toMatchObject({ connection_id: null });
    expect((await grant(connection)).status).toBe(200);
    expect((await ada.client.patch(`/api/git-repos/${id}`, { connection_id: connection })).status).toBe(200);
  });
});

describe('work', () => {
  it('is told, compared, committed in the name of the person, and pushed', async () => {
    const { url, bare, outside } = remote();
    const { id, folder } = await cloned(url);
    await write(`${folder}/README.md`, 'changed\n');
    await write(`${folder}/new.md`, 'new\n');
    expect(await get(id, '/status')).toMatchObject({
      changed: [{ path: 'README.md', kind: 'modified', from: null }],
      untracked: ['new.md'],
      staged: [],
    });
    expect((await get(id, '/diff')).diff).toMatch(/-one\n\+changed/);
    expect((await post(id, 'commit', { message: 'nothing staged' })).body.detail).toContain('nothing staged');
    const { body } = await post(id, 'commit', { message: 'Change the text', paths: ['README.md'] });
    expect(body).toMatchObject({ branch: 'main', commit: expect.stringMatching(/^[0-9a-f]{40}$/) });
    expect(await get(id, '/status')).toMatchObject({ ahead: 1, untracked: ['new.md'], changed: [] });
    expect((await post(id, 'commit', { message: 'All', all: true })).status).toBe(200);
    expect((await post(id, 'commit', { message: 'Again', all: true })).status).toBe(409);
    const { items } = await get(id, '/commits?limit=1');
    expect(items).toMatchObject([{ message: 'All', author: { name: 'Ada Lovelace', email: ada.email } }]);
    const first = await get(id, '/commits?limit=2');
    expect((await get(id, `/commits?limit=2&cursor=${first.next_cursor}`)).items).toMatchObject([
      { message: 'first' },
    ]);
    expect((await get(id, '/commits?path=new.md')).items).toHaveLength(1);
    expect((await get(id, '/diff?from=HEAD~2&to=HEAD&path=new.md')).diff).toContain('+new');
    expect((await ada.client.get(`/api/git-repos/${id}/commits?ref=none`)).status).toBe(404);
    expect((await ada.client.get(`/api/git-repos/${id}/diff?from=--output=x`)).status).toBe(422);
    expect((await post(id, 'push')).body).toMatchObject({ branch: 'main', updated: true });
    expect((await post(id, 'push')).body).toMatchObject({ updated: false });
    expect(git(bare, 'log', '--format=%s', 'main')).toBe('All\nChange the text\nfirst\n');
    expect(await get(id, '/status')).toMatchObject({ ahead: 0, behind: 0 });
    expect(outside).toBeTruthy();
    const rows = await service.database.query(
      `select details from audit_entry where action = 'git_repo.push' and target_id = $1`,
      [id],
    );
    expect(rows).toHaveLength(2);
  });

  it('goes on in branches', async () => {
    const { url, outside, bare } = remote();
    git(outside, 'push', '-q', 'origin', 'HEAD:theirs');
    const { id, folder } = await cloned(url);
    expect((await post(id, 'checkout', { branch: 'mine', create: true })).body.current).toBe('mine');
    expect((await post(id, 'checkout', { branch: 'mine', create: true })).status).toBe(409);
    expect((await post(id, 'checkout', { branch: 'theirs' })).body.current).toBe('theirs');
    expect(await get(id, '/status')).toMatchObject({ upstream: 'origin/theirs' });
    expect((await post(id, 'checkout', { branch: 'none' })).status).toBe(404);
    expect((await post(id, 'checkout', { branch: '--orphan' })).status).toBe(422);
    await post(id, 'checkout', { branch: 'mine' });
    await write(`${folder}/mine.md`, 'mine\n');
    await post(id, 'commit', { message: 'mine', all: true });
    expect((await post(id, 'push')).body).toMatchObject({ branch: 'mine', updated: true });
    expect(git(bare, 'branch', '--list', 'mine')).toContain('mine');
    expect(await get(id, '/status')).toMatchObject({ upstream: 'origin/mine', ahead: 0 });
  });

  it('of others is pulled, joined or put below; a push that would lose it is refused', async () => {
    const { url, outside, bare } = remote();
    const { id, folder } = await cloned(url);
    commitOutside(outside, { 'theirs.md': 'theirs\n' }, 'theirs');
    expect((await post(id, 'pull')).body).toMatchObject({ updated: true, conflicted: [] });
    expect(readFileSync(inside(folder, 'theirs.md'), 'utf8')).toBe('theirs\n');
    expect((await post(id, 'pull')).body).toMatchObject({ updated: false });
    commitOutside(outside, { 'theirs.md': 'more\n' }, 'more of theirs');
    await write(`${folder}/ours.md`, 'ours\n');
    await post(id, 'commit', { message: 'ours', all: true });
    const rejected = await post(id, 'push');
    expect([rejected.status, rejected.body.detail]).toEqual([409, expect.stringContaining('pull first')]);
    const lease = await post(id, 'push', { force_with_lease: true });
    expect([lease.status, lease.body.detail]).toEqual([
      409,
      expect.stringContaining('other commits than were last fetched'),
    ]);
    const ff = await post(id, 'pull');
    expect([ff.status, ff.body.detail]).toEqual([409, expect.stringContaining('mode merge or rebase')]);
    expect(await get(id, '/status')).toMatchObject({ ahead: 1, behind: 1 });
    expect((await post(id, 'pull', { mode: 'rebase' })).status).toBe(200);
    expect(await get(id, '/status')).toMatchObject({ ahead: 1, behind: 0 });
    expect((await post(id, 'push')).status).toBe(200);
    expect(git(bare, 'log', '-1', '--format=%s', 'main')).toBe('ours\n');
  });

  it('in conflict is named, and all stays as it was, unless the conflicts are asked for', async () => {
    const { url, outside } = remote();
    const { id, folder } = await cloned(url);
    commitOutside(outside, { 'README.md': 'theirs\n' }, 'theirs');
    await write(`${folder}/README.md`, 'ours\n');
    await post(id, 'commit', { message: 'ours', all: true });
    await write(`${folder}/unsaved.md`, 'not committed\n');
    const was = await get(id, '/status');
    for (const mode of ['merge', 'rebase']) {
      const { status, body } = await post(id, 'pull', { mode });
      expect([mode, status, body.detail]).toEqual([
        mode,
        409,
        expect.stringContaining('Both have changed README.md. Nothing was changed'),
      ]);
      expect(await get(id, '/status')).toEqual({ ...was, behind: 1 });
      expect(readFileSync(inside(folder, 'README.md'), 'utf8')).toBe('ours\n');
    }
    const kept = await post(id, 'pull', { mode: 'merge', keep_conflicts: true });
    expect(kept.body).toMatchObject({ conflicted: ['README.md'] });
    expect(await get(id, '/status')).toMatchObject({ conflicted: ['README.md'] });
    expect(readFileSync(inside(folder, 'README.md'), 'utf8')).toContain('<<<<<<<');
    expect((await post(id, 'commit', { message: 'too early' })).status).toBe(409);
    await write(`${folder}/README.md`, 'both\n');
    expect((await post(id, 'commit', { message: 'both', all: true })).status).toBe(200);
    expect((await post(id, 'push')).status).toBe(200);
  });

  it('is done one at a time', async () => {
    const { url } = remote();
    const { id, folder } = await cloned(url);
    for (const at of [1, 2, 3, 4]) await write(`${folder}/${at}.md`, `${at}\n`);
    const all = await Promise.all(
      [1, 2, 3, 4].map(at => post(id, 'commit', { message: `number ${at}`, paths: [`${at}.md`] })),
    );
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await get(id, '/commits')).items).toHaveLength(5);
  });

  it('ends where the folder is gone, and goes on where it is back', async () => {
    const { url } = remote();
    const { id, folder } = await cloned(url);
    await output(`mv ${folder} moved`);
    expect((await ada.client.get(`/api/git-repos/${id}/status`)).status).toBe(409);
    expect(await get(id)).toMatchObject({ state: 'missing', reason: 'Its folder is gone' });
    expect((await ada.client.patch(`/api/git-repos/${id}`, { path: 'moved' })).status).toBe(200);
    expect((await ada.client.get(`/api/git-repos/${id}/status`)).status).toBe(200);
    expect(await get(id)).toMatchObject({ state: 'ready', reason: null });
  });

  it('has to be let in by the server', async () => {
    const { url } = remote();
    const { id } = await cloned(url);
    await ada.client.patch(`/api/integrations/${connection}`, { fields: { api_key: 'frg_wrong-by-now' } });
    const { status, body } = await post(id, 'pull');
    expect([status, body.detail]).toEqual([409, expect.stringContaining('did not accept the credential')]);
    await ada.client.patch(`/api/integrations/${connection}`, { fields: { api_key: SECRET } });
    expect((await post(id, 'pull')).status).toBe(200);
  });
});

describe('a hostile repository', () => {
  it('runs nothing: no hook, monitor, filter, driver, helper or other protocol', async () => {
    const { url, outside } = remote({
      '.gitattributes': '* filter=evil merge=evil diff=evil\n',
      'README.md': 'one\n',
    });
    const { id, folder } = await cloned(url);
    const evil = 'touch /workspace/pwned; false';
    const settings = [
      ['core.fsmonitor', evil],
      ['core.hooksPath', 'hooks'],
      ['core.sshCommand', evil],
      ['core.askPass', evil],
      ['core.pager', evil],
      ['core.editor', evil],
      ['core.gitProxy', evil],
      ['core.worktree', '/tmp'],
      ['credential.helper', `!${evil}`],
      ['filter.evil.clean', evil],
      ['filter.evil.smudge', evil],
      ['filter.evil.process', evil],
      ['filter.evil.required', 'true'],
      ['merge.evil.driver', evil],
      ['diff.evil.command', evil],
      ['diff.evil.textconv', evil],
      ['diff.external', evil],
      ['gpg.program', evil],
      ['commit.gpgSign', 'true'],
      ['alias.status', `!${evil}`],
      ['remote.origin.url', 'ext::sh -c touch% /workspace/pwned'],
      ['url.ext::sh -c evil.insteadOf', url],
      ['remote.origin.vcs', 'evil'],
      ['remote.origin.uploadpack', evil],
      ['protocol.ext.allow', 'always'],
      ['http.proxy', 'http://127.0.0.1:1'],
      ['http.sslVerify', 'false'],
      ['submodule.recurse', 'true'],
      ['sequence.editor', evil],
      ['uploadpack.packObjectsHook', evil],
    ];
    const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
    await output(
      [
        `cd ${folder} && mkdir hooks`,
        ...[
          'pre-commit',
          'post-checkout',
          'post-merge',
          'pre-push',
          'reference-transaction',
          'post-index-change',
        ].flatMap(hook => [
          `for d in hooks .git/hooks; do mkdir -p $d; printf '#!/bin/sh\\n${evil}\\n' > $d/${hook}; chmod +x $d/${hook}; done`,
        ]),
        ...settings.map(([name = '', value = '']) => `git config ${quoted(name)} ${quoted(value)}`),
        'rm -f /workspace/pwned',
      ].join('\n'),
    );
    commitOutside(outside, { 'README.md': 'theirs\n' }, 'theirs');
    await write(`${folder}/README.md`, 'ours\n');
    for (const what of ['/status', '/commits', '/diff', '/branches'])
      expect([what, (await ada.client.get(`/api/git-repos/${id}${what}`)).status]).toEqual([what, 200]);
    expect((await post(id, 'commit', { message: 'ours', all: true })).status).toBe(200);
    expect((await post(id, 'pull', { mode: 'merge' })).body.detail).toContain('Both have changed README.md');
    expect((await post(id, 'checkout', { branch: 'mine', create: true })).status).toBe(200);
    seen = [];
    expect((await post(id, 'push')).body).toMatchObject({ branch: 'mine', updated: true });
    expect(existsSync(inside('pwned'))).toBe(false);
  });

  it('does nothing to a clone beside it', async () => {
    const { url, name } = remote();
    await output(
      'git init -q . && git config http.proxy http://127.0.0.1:1 && git config http.sslVerify false && ' +
        `git config url.https://elsewhere.example.com/.insteadOf https://${forge}/ && git config core.bare true`,
    );
    seen = [];
    const { id } = await cloned(url);
    await output('rm -rf .git');
    expect(seen.length).toBeGreaterThan(1);
    expect(seen.every(each => each.url.startsWith(`/${name}`))).toBe(true);
    expect(await get(id, '/status')).toMatchObject({ branch: 'main', upstream: 'origin/main' });
  });

  it('fetches no submodules, follows no link, and needs a folder of git of its own', async () => {
    const { url, outside, name } = remote();
    git(
      outside,
      'update-index',
      '--add',
      '--cacheinfo',
      `160000,${git(outside, 'rev-parse', 'HEAD').trim()},sub`,
    );
    writeFileSync(
      path.join(outside, '.gitmodules'),
      `[submodule "sub"]\n\tpath = sub\n\turl = https://user:pw@${forge}/secret.git\n`,
    );
    execFileSync('ln', ['-s', '/etc/passwd', path.join(outside, 'out')]);
    execFileSync('ln', ['-s', '..', path.join(outside, 'up')]);
    git(outside, 'add', '.gitmodules', 'out', 'up');
    git(outside, 'commit', '-qm', 'hostile');
    git(outside, 'push', '-q', 'origin', 'HEAD:main');
    seen = [];
    const { id, folder } = await cloned(url);
    expect(seen.every(each => each.url.startsWith(`/${name}`))).toBe(true);
    expect(lstatSync(inside(folder, 'out')).isSymbolicLink()).toBe(true);
    const read = await ada.client.get(`/api/workspaces/${workspace}/files/content?path=${folder}/out`);
    expect(read.status).not.toBe(200);
    expect((await ada.client.get(`/api/git-repos/${id}/status`)).status).toBe(200);
    const through = await ada.client.post('/api/git-repos', {
      workspace_id: workspace,
      url,
      path: `${folder}/up/elsewhere`,
    });
    if (through.status === 200) expect((await ended(through.body.operation_id)).status).toBe('error');
    await output(
      `cd ${folder} && mv .git ../elsewhere.git && echo "gitdir: /workspace/elsewhere.git" > .git`,
    );
    const { status, body } = await post(id, 'pull');
    expect([status, body.detail]).toEqual([409, expect.stringContaining('no .git folder of its own')]);
  });

  it('of a hundred thousand files, deep paths, long names and zeros is cloned, read and compared', async () => {
    const name = `r${++count}.git`;
    const bare = path.join(repositories, name);
    git(repositories, 'init', '-q', '--bare', '--initial-branch=main', bare);
    const zeros = '\0'.repeat(32 * 1024 * 1024);
    const input = [
      'blob\nmark :1\ndata 2\nx\n',
      'blob\nmark :2\ndata 11\n/etc/passwd',
      `blob\nmark :3\ndata ${zeros.length}\n${zeros}`,
      'commit refs/heads/main\ncommitter T <t@example.org> 1700000000 +0000\ndata 5\nfirst',
      ...Array.from({ length: 100_000 }, (_, at) => `M 100644 :1 d${at % 300}/f${at}`),
      `M 100644 :1 ${'deep/'.repeat(400)}end`,
      `M 100644 :1 ${'n'.repeat(255)}`,
      'M 120000 :2 out',
      'M 100644 :3 zeros',
      '',
    ].join('\n');
    execFileSync('git', ['fast-import', '--quiet'], { cwd: bare, input });
    const { id, folder } = await cloned(`https://${forge}/${name}`);
    expect(await get(id, '/status')).toMatchObject({ changed: [], untracked: [], truncated: false });
    await output(
      `cd ${folder} && find d1 d2 d3 d4 d5 -type f -exec sh -c 'for f; do echo y > "$f"; done' _ {} + && echo y >> zeros`,
    );
    const { changed, truncated } = await get(id, '/status');
    expect([changed.length, truncated]).toEqual([1000, true]);
    const { diff, truncated: isCut } = await get(id, '/diff');
    expect([diff.length <= 1024 * 1024, isCut || diff.includes('Binary files a/zeros')]).toEqual([
      true,
      true,
    ]);
    // What leads out is a link, and is not followed.
    const read = await ada.client.get(`/api/workspaces/${workspace}/files/content?path=${folder}/out`);
    expect([read.status >= 400, JSON.stringify(read.body).includes('root:')]).toEqual([true, false]);
    expect((await post(id, 'commit', { message: 'Some', paths: ['d1'] })).status).toBe(200);
  });

  it('of many files is told in part', async () => {
    const { url } = remote();
    const { id, folder } = await cloned(url);
    await output(`cd ${folder} && for i in $(seq 1 3000); do echo $i > f$i; done`);
    const status = await get(id, '/status');
    expect([status.untracked.length, status.truncated]).toEqual([1000, true]);
  });
});

it('is what an agent works with: it clones, mends, commits, and pushes when a person lets it', async () => {
  const { url, bare } = remote({ 'sum.mjs': 'export const sum = (a, b) => a - b;\n' });
  const [name = ''] = new URL(url).pathname.slice(1).split('.git');
  const run = (action: string, input: Json) => ({
    tool: { name: 'actions_run', input: { name: action, input } },
  });
  const agent = new AgentClient(ada.client);
  model.reply([
    run('git_repo_create', { workspace_id: workspace, url, path: `agent/${name}` }),
    { text: 'Cloning.' },
  ]);
  const begun = await agent.run('clone it', { workspace_id: workspace });
  expect(begun.status).toBe('completed');
  const { body: page } = await ada.client.get(`/api/git-repos?workspace_id=${workspace}&limit=200`);
  const { id, operation_id } = page.items.find((repo: Json) => repo.path === `agent/${name}`);
  expect((await ended(operation_id)).status).toBe('completed');
  model.reply([
    { tool: { name: 'bash', input: { command: `sed -i 's/a - b/a + b/' agent/${name}/sum.mjs` } } },
    run('git_repo_commit', { id, message: 'Add, not subtract', all: true }),
    run('git_repo_push', { id }),
    { text: 'Done.' },
  ]);
  const sent = await agent.send('mend it', { workspace_id: workspace, chat_id: begun.chat_id });
  await agent.until(sent, ({ event }) => event === 'approval.requested');
  const { body: pending } = await ada.client.get(
    `/api/agent/approvals?chat_id=${sent.chat_id}&status=pending`,
  );
  expect(pending.items).toMatchObject([{ effect: 'expose' }]);
  const decided = await ada.client.post(`/api/agent/approvals/${pending.items[0].id}`, { decision: 'allow' });
  expect(decided.status).toBe(200);
  const { result } = await agent.ended(sent);
  expect(JSON.stringify(result.toolOutputs)).toContain('updated');
  expect(git(bare, 'log', '-1', '--format=%an %s%n%b', 'main')).toMatch(
    /^Ada Lovelace Add, not subtract\n\s*Atelier-Run: [0-9a-f-]{36}\nCo-authored-by: Atelier </,
  );
  expect(git(bare, 'show', 'main:sum.mjs')).toContain('a + b');
});
