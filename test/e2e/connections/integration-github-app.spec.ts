import { execFileSync } from 'node:child_process';
import { createPublicKey, generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { jwtVerify } from 'jose';
import type { Json } from '../../harness/client.js';
import { serveRepositories } from '../../harness/git-server.js';
import { type Person, TestService } from '../../harness/service.js';
import { TlsServers } from '../../harness/tls-servers.js';

const BASE = '/api/v3';
const HOUR_MS = 3_600_000;

/** What a token may: all repositories of the installation, or those that were named. */
interface Token {
  endsAt: number;
  repositories: string[];
  permissions: Record<string, string>;
}

/** What GitHub Enterprise Server does of a GitHub App: it checks who asks and makes tokens that end. */
const github = {
  appId: 'Iv23liApp',
  installation: '4711',
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }),
  isInstalled: true,
  repositories: ['site', 'shop'],
  permissions: { contents: 'write', issues: 'read', metadata: 'read' } as Record<string, string>,
  tokens: new Map<string, Token>(),
  made: 0,
  refused: [] as string[],
  /** What tokens were asked for: the bodies of these requests. */
  asked: [] as Json[],
  /** Who asked for repositories: the token, and its path. */
  git: [] as { token: string; path: string }[],
};
const LEVELS = ['read', 'write', 'admin'];
const permits = (has: string | undefined, wanted: string) =>
  has !== undefined && LEVELS.indexOf(has) >= LEVELS.indexOf(wanted);

/** A token that is limited by what the request names; undefined where the installation has less. */
function limited({
  repositories = github.repositories,
  permissions = github.permissions,
}: Json): Token | undefined {
  const isThere = (name: string) => github.repositories.includes(name.toLowerCase());
  const isGranted = ([name, level]: [string, unknown]) => permits(github.permissions[name], String(level));
  if (!repositories.every(isThere) || !Object.entries(permissions).every(isGranted)) return undefined;
  return { endsAt: Date.now() + HOUR_MS, repositories, permissions };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const json = (status: number, value: unknown) =>
    void response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(value === undefined ? '' : JSON.stringify(value));
  const bearer = (request.headers.authorization ?? '').replace(/^Bearer /, '');
  const asked = `${request.method} ${request.url}`;
  if (asked === `POST ${BASE}/app/installations/${github.installation}/access_tokens`) {
    try {
      const { payload } = await jwtVerify(bearer, createPublicKey(github.privateKey), {
        algorithms: ['RS256'],
        issuer: github.appId,
        maxTokenAge: '10m',
      });
      if ((payload.exp ?? Number.POSITIVE_INFINITY) - (payload.iat ?? 0) > 600)
        throw new Error('it lasts too long');
    } catch (error) {
      github.refused.push(String(error));
      return json(401, { message: 'A JSON web token could not be decoded' });
    }
    if (!github.isInstalled) return json(404, { message: 'Not Found' });
    const asked = JSON.parse((await text(request)) || '{}') as Json;
    github.asked.push(asked);
    const made = limited(asked);
    if (!made)
      return json(422, { message: 'The permissions requested are not granted to this installation.' });
    const token = `ghs_${randomUUID()}`;
    github.made++;
    github.tokens.set(token, made);
    return json(201, { token, expires_at: new Date(made.endsAt).toISOString() });
  }
  if (!request.url?.startsWith(BASE)) return git(request, response);
  const token = github.tokens.get(bearer);
  if (!token || token.endsAt < Date.now()) return json(401, { message: 'Bad credentials' });
  if (asked === `DELETE ${BASE}/installation/token`) {
    github.tokens.delete(bearer);
    return json(204, undefined);
  }
  if (request.url?.startsWith(`${BASE}/installation/repositories`)) return json(200, { total_count: 1 });
  const [, repository = ''] = new RegExp(`^GET ${BASE}/repos/acme/(\\w+)/issues$`).exec(asked) ?? [];
  if (!token.repositories.includes(repository)) return json(404, { message: 'Not Found' });
  if (!permits(token.permissions.issues, 'read')) return json(403, { message: 'Resource not accessible' });
  return json(200, [{ number: 1 }]);
}

const repositories = mkdtempSync(path.join(tmpdir(), 'repositories-'));
/** Lets in whom a token is for: for this repository, to do this. */
const git = serveRepositories(repositories, (authorization = '', url) => {
  const [name, token = ''] = Buffer.from(authorization.replace(/^Basic /, ''), 'base64')
    .toString()
    .split(':');
  const known = github.tokens.get(token);
  if (!known || name !== 'x-access-token' || known.endsAt < Date.now()) return false;
  github.git.push({ token, path: url });
  const level = url.endsWith('/git-receive-pack') ? 'write' : 'read';
  const [, repository = ''] = /^\/acme\/(\w+)\.git\//.exec(url) ?? [];
  return known.repositories.includes(repository) && permits(known.permissions.contents, level);
});

const servers = new TlsServers();
let host: string;
let service: TestService;
let ada: Person;
let workspace_id: string;

beforeAll(async () => {
  host = await servers.start('127.0.0.3', (request, response) => void answer(request, response));
  for (const name of ['site', 'shop']) repository(name);
  service = await TestService.start({ OUTGOING_PRIVATE_HOSTS: host });
  ada = await service.person('Ada');
  workspace_id = await service.workspace(ada);
  const field = (name: string, secret: boolean) => ({ name, label: name, secret });
  const definition = {
    id: 'enterprise',
    name: 'Our GitHub',
    docs: 'https://docs.example.com',
    auth: 'github_app',
    api: {
      base_url: `https://${host}${BASE}`,
      hosts: [host],
      header: 'Authorization',
      template: 'Bearer {access_token}',
      probe: '/installation/repositories?per_page=1',
    },
    git: { hosts: [host], username: 'x-access-token' },
    fields: [field('app_id', false), field('installation_id', false), field('private_key', true)],
  };
  const made = await ada.client.post('/api/integrations/providers', {
    organization_id: ada.organizationId,
    definition,
  });
  expect([made.status, made.body.detail]).toEqual([200, undefined]);
});
beforeEach(() => {
  github.isInstalled = true;
  github.permissions.contents = 'write';
  github.asked = [];
  github.git = [];
});
afterAll(async () => {
  await service?.stop();
  servers.stop();
  rmSync(repositories, { recursive: true, force: true });
});

/** A bare one with a commit. */
function repository(name: string): void {
  const bare = path.join(repositories, 'acme', `${name}.git`);
  mkdirSync(bare, { recursive: true });
  const run = (...args: string[]) => execFileSync('git', args, { cwd: bare, encoding: 'utf8', input: '' });
  run('init', '-q', '--bare', '--initial-branch=main', '.');
  run('config', 'http.receivepack', 'true');
  const tree = run('mktree').trim();
  const who = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org'];
  run('update-ref', 'refs/heads/main', run(...who, 'commit-tree', '-m', 'first', tree).trim());
}

const pem = (key = github.privateKey) => String(key.export({ type: 'pkcs8', format: 'pem' }));
const create = (fields: Json = {}) =>
  ada.client.post('/api/integrations', {
    provider: 'enterprise',
    organization_id: ada.organizationId,
    owner: 'organization',
    fields: {
      app_id: github.appId,
      installation_id: github.installation,
      private_key: pem(),
      ...fields,
    },
  });
const issues = async (id: string, of = 'site', place = workspace_id): Promise<Json> =>
  (
    await ada.client.post(`/api/integrations/${id}/request`, {
      workspace_id: place,
      method: 'GET',
      path: `/repos/acme/${of}/issues`,
    })
  ).body;
const grant = (id: string, fields: Json = {}, place = workspace_id) =>
  ada.client.put(`/api/integrations/${id}/workspaces`, { grants: [{ workspace_id: place, ...fields }] });
async function connected(fields: Json = {}): Promise<string> {
  await service.database.query('delete from integration_connection');
  const { status, body } = await create();
  expect([status, body.connection?.state]).toEqual([200, 'active']);
  const { id } = body.connection;
  const granted = await grant(id, fields);
  expect([granted.status, granted.body.detail]).toEqual([200, undefined]);
  github.asked = [];
  return id;
}
async function cloned(name: string): Promise<Json> {
  const url = `https://${host}/acme/${name}.git`;
  const { status, body } = await ada.client.post('/api/git-repos', { workspace_id, url, path: randomUUID() });
  if (status !== 200) return body;
  let operation: Json = { status: 'queued' };
  while (['queued', 'running'].includes(operation.status)) {
    await new Promise(resolve => setTimeout(resolve, 50));
    operation = (await ada.client.get(`/api/operations/${body.operation_id}`)).body;
  }
  return { ...operation, id: body.id };
}
const end = (id: string) =>
  service.database.query(
    `update token_set set fresh_until = now() - interval '1 second', access_expires_at = now() - interval '1 second'
     where id = (select token_set_id from integration_connection where id = $1)`,
    [id],
  );

it('its installation is asked with tokens that are made when the last one has ended', async () => {
  const id = await connected();
  const before = github.made;
  expect(await issues(id)).toMatchObject({ status: 200 });
  expect(github.made).toBe(before);
  await end(id);
  const answers = await Promise.all(Array.from({ length: 20 }, () => issues(id)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(github.made).toBe(before + 1);
  expect(github.refused).toEqual([]);
});

it('it needs a person where the app is not installed any more', async () => {
  const id = await connected();
  await end(id);
  github.isInstalled = false;
  expect((await issues(id)).detail).toContain('not installed');
  const { body } = await ada.client.get(`/api/integrations/${id}`);
  expect(body).toMatchObject({ state: 'needs_reauth', reason: expect.stringContaining('not installed') });
});

it('the token ends with the connection', async () => {
  const id = await connected();
  const before = github.tokens.size;
  const [{ token_set_id: set } = {}] = await service.database.query<Json>(
    'select token_set_id from integration_connection where id = $1',
    [id],
  );
  expect((await ada.client.delete(`/api/integrations/${id}`)).status).toBe(200);
  while ((await service.database.query('select 1 from token_set where id = $1', [set])).length > 0);
  expect(github.tokens.size).toBe(before - 1);
});

it.each([
  [
    'the key of another app',
    { private_key: pem(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey) },
  ],
  ['what is no key', { private_key: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----' }],
  ['another app', { app_id: 'Iv23liOther' }],
  ['another installation', { installation_id: '../../user' }],
])('it is not made with %s, of which nothing is shown', async (_, fields) => {
  const { status, body } = await create(fields);
  expect([409, 422]).toContain(status);
  expect(JSON.stringify(body)).not.toContain('PRIVATE KEY');
  github.refused.splice(0);
});

describe('tokens for less than the installation has', () => {
  it('are what a grant names, the same one for all that ask for the same', async () => {
    const id = await connected({ repositories: ['Site'], permissions: { issues: 'read' } });
    const answers = await Promise.all(Array.from({ length: 20 }, () => issues(id)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(github.asked).toEqual([{ repositories: ['site'], permissions: { issues: 'read' } }]);
    // What GitHub says of the other one, not what we do.
    expect(await issues(id, 'shop')).toMatchObject({ status: 404, body: { message: 'Not Found' } });
    const { body } = await ada.client.get(`/api/integrations/${id}`);
    expect(body.grants).toEqual([
      { workspace_id, methods: [], paths: [], repositories: ['site'], permissions: { issues: 'read' } },
    ]);
  });

  it('are others for each workspace, and for what is granted later', async () => {
    const id = await connected({ repositories: ['site'] });
    const other = await service.workspace(ada);
    const both = [
      { workspace_id, repositories: ['site'] },
      { workspace_id: other, repositories: ['shop'] },
    ];
    await ada.client.put(`/api/integrations/${id}/workspaces`, { grants: both });
    const asked = [issues(id), issues(id, 'shop'), issues(id, 'site', other), issues(id, 'shop', other)];
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 404, 404, 200]);
    expect(github.asked).toHaveLength(2);
    await grant(id);
    expect(await issues(id, 'shop')).toMatchObject({ status: 200 });
    expect(github.asked).toHaveLength(2);
  });

  it('are for one repository where git asks: to read it, and to write where it pushes', async () => {
    const id = await connected();
    const repo = await cloned('site');
    expect(repo).toMatchObject({ status: 'completed' });
    expect(github.asked).toEqual([{ repositories: ['site'], permissions: { contents: 'read' } }]);
    const { path: folder } = (await ada.client.get(`/api/git-repos/${repo.id}`)).body;
    await ada.client.put(`/api/workspaces/${workspace_id}/files/content`, {
      path: `${folder}/README.md`,
      content: 'new\n',
    });
    await ada.client.post(`/api/git-repos/${repo.id}/commit`, { message: 'A file', all: true });
    const pushed = await ada.client.post(`/api/git-repos/${repo.id}/push`);
    expect([pushed.status, pushed.body.detail]).toEqual([200, undefined]);
    expect(github.asked).toEqual([
      { repositories: ['site'], permissions: { contents: 'read' } },
      { repositories: ['site'], permissions: { contents: 'write' } },
    ]);
    const whole = [...github.tokens].filter(([, { repositories: names }]) => names.length > 1);
    for (const { token } of github.git) expect(whole.map(([name]) => name)).not.toContain(token);
    expect(id).toBeDefined();
  });

  it('of git are within the grant', async () => {
    await connected({ repositories: ['shop'] });
    expect((await cloned('site')).detail).toContain('names the repositories shop, and not site');
    await connected({ permissions: { issues: 'read' } });
    expect((await cloned('site')).detail).toContain('has contents: none, and this needs contents: read');
    await connected({ permissions: { contents: 'read' } });
    const { id } = await cloned('site');
    const pushed = await ada.client.post(`/api/git-repos/${id}/push`);
    expect([pushed.status, pushed.body.detail]).toEqual([
      403,
      expect.stringContaining('has contents: read, and this needs contents: write'),
    ]);
  });

  it('say what is missing where the installation has less', async () => {
    const id = await connected({ repositories: ['secret'], permissions: { contents: 'write' } });
    const { detail } = await issues(id, 'secret');
    expect(detail).toMatch(
      /not installed for the repositories secret and contents: write; .* it is tried again in/,
    );
    expect((await ada.client.get(`/api/integrations/${id}`)).body.state).toBe('active');
  });

  it('tell that the app is not installed any more, as the others do', async () => {
    const id = await connected({ repositories: ['site'] });
    github.isInstalled = false;
    expect((await issues(id)).detail).toContain('not installed');
    expect((await ada.client.get(`/api/integrations/${id}`)).body.state).toBe('needs_reauth');
    github.isInstalled = true;
    const { status } = await ada.client.patch(`/api/integrations/${id}`, { fields: { private_key: pem() } });
    expect(status).toBe(200);
    expect(await issues(id)).toMatchObject({ status: 200 });
  });

  it('end with the connection, and with the key that they were made with', async () => {
    const id = await connected({ repositories: ['site'] });
    await issues(id);
    const few = () =>
      [...github.tokens.values()].filter(({ repositories: names }) => names.length === 1).length;
    const before = few();
    await ada.client.patch(`/api/integrations/${id}`, { fields: { private_key: pem() } });
    while (few() === before) await new Promise(resolve => setTimeout(resolve, 20));
    expect(few()).toBe(before - 1);
    await issues(id);
    expect(few()).toBe(before);
    await ada.client.delete(`/api/integrations/${id}`);
    while (few() === before) await new Promise(resolve => setTimeout(resolve, 20));
    expect(few()).toBe(before - 1);
  });

  it.each([
    [{ repositories: ['acme/site'] }, /repositories .*without the account/],
    [{ permissions: { contents: 'all' } }, /permissions must be such as/],
    [{ permissions: { 'Contents!': 'read' } }, /permissions must be such as/],
    [{ repositories: Array.from({ length: 101 }, (_, at) => `r${at}`) }, /repositories/],
  ])('are refused where a grant names %p', async (fields, said) => {
    const id = await connected();
    const { status, body } = await grant(id, fields as Json);
    expect([status, body.detail]).toEqual([422, expect.stringMatching(said)]);
  });

  it('are not for providers that cannot limit them', async () => {
    const made = await ada.client.post('/api/integrations', {
      provider: 'api_key',
      organization_id: ada.organizationId,
      owner: 'organization',
      fields: { base_url: `https://${host}${BASE}`, api_key: 'key-of-mine' },
    });
    expect(made.body.detail).toBeUndefined();
    const { status, body } = await grant(made.body.connection.id, { repositories: ['site'] });
    expect([status, body.detail]).toEqual([
      422,
      expect.stringContaining('limits no tokens to them; name paths'),
    ]);
  });
});
