import { once } from 'node:events';
import { existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { ORGANIZATION_ROLES, VISIBILITIES, WORKSPACE_ROLES } from '../../../src/platform/access/index.js';
import { Client, type Json } from '../../harness/client.js';
import { folderBecomes } from '../../harness/folder.js';
import { type Person, TestService } from '../../harness/service.js';
import { workspaceRole as roleThere, type Standing } from '../../harness/workspace-role.js';

const NOBODYS = '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f';
const WRONG_IDS = ['x', '1', NOBODYS.slice(1), `${NOBODYS}0`, '%00', '..%2f..', "'--", 'a'.repeat(900)];

let service: TestService;
let ada: Person;
let stranger: Person;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person();
  stranger = await service.person('Mallory');
});
afterAll(() => service.stop());

const folderOf = (id: string) => path.join(service.dataDir, 'workspaces', id);
const at = (id: string) => `/api/workspaces/${id}`;
const idsOf = ({ body }: Json): string[] => body.items.map(({ id }: Json) => id);

/** What the tables that belong to a workspace without a foreign key have of it. */
const rowsOf = (id: string): Promise<Json[]> =>
  service.database.query(
    `select 'change' as of from workspace_change where workspace_id = $1
     union all select 'write' from workspace_write where workspace_id = $1
     union all select 'version' from file_version where workspace_id = $1`,
    [id],
  );

async function everyId(client: Client, query: string): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const answer: Json = await client.get(
      `/api/workspaces?${query}${cursor === null ? '' : `&cursor=${cursor}`}`,
    );
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    ids.push(...idsOf(answer));
    cursor = answer.body.next_cursor;
  } while (cursor !== null);
  return ids;
}

/** A new person in Ada's organization. */
async function colleague(role: string, workspace?: string, workspaceRole?: string): Promise<Person> {
  const person = await service.person(role);
  await service.join(person, { organization: ada.organizationId, role, workspace, workspaceRole });
  return person;
}

describe('a workspace', () => {
  it('is made in the caller’s first organization, visible to it, with a folder that only its owner enters', async () => {
    const { status, body } = await ada.client.post('/api/workspaces', { name: '  Notes ' });
    expect(status).toBe(200);
    const { operation_id, next_steps, ...workspace } = body;
    expect([operation_id, next_steps]).toEqual([null, []]);
    expect(workspace).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      organization_id: ada.organizationId,
      name: 'Notes',
      visibility: 'org',
      role: 'admin',
      created_by: ada.id,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(statSync(folderOf(body.id)).mode & 0o777).toBe(0o700);
    expect((await ada.client.get(at(body.id))).body).toEqual(workspace);
  });

  it('is made in the organization of a key that is bound to one', async () => {
    const { body: other } = await ada.client.post('/api/organizations', { name: 'Other' });
    const key = await service.key(ada, { organization_id: other.id });
    expect((await key.post('/api/workspaces', { name: 'Bound' })).body).toMatchObject({
      organization_id: other.id,
    });
  });

  it('is not made in an organization that the caller is not in, or is only a guest of', async () => {
    const input = { name: 'Intruder', organization_id: ada.organizationId };
    expect((await stranger.client.post('/api/workspaces', input)).status).toBe(404);
    const guest = await colleague('guest');
    expect((await guest.client.post('/api/workspaces', input)).status).toBe(403);
    expect((await ada.client.post('/api/workspaces', { ...input, organization_id: NOBODYS })).status).toBe(
      404,
    );
  });

  it('is renamed, and keeps its files', async () => {
    const id = await service.workspace(ada);
    await ada.client.put(`${at(id)}/files/content`, { path: 'a.txt', content: 'A' });
    const { status, body } = await ada.client.patch(at(id), { name: ' New name ' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ id, name: 'New name' });
    expect(Date.parse(body.updated_at)).toBeGreaterThan(Date.parse(body.created_at));
    expect((await ada.client.get(`${at(id)}/files/content?path=a.txt`)).body.content).toBe('A');
  });

  it('is deleted with its chats and, by a job, its folder, however it is filled', async () => {
    const id = await service.workspace(ada);
    const outside = path.join(service.dataDir, 'outside');
    mkdirSync(outside);
    writeFileSync(path.join(outside, 'kept.txt'), 'kept');
    symlinkSync(outside, path.join(folderOf(id), 'link'));
    mkdirSync(path.join(folderOf(id), 'a/b/c'), { recursive: true });
    writeFileSync(Buffer.concat([Buffer.from(`${folderOf(id)}/a/`), Buffer.from([0xff, 0xfe])]), 'no UTF-8');
    const chat = await ada.client.post('/api/agent', { workspace_id: id });
    const removed = folderBecomes(path.dirname(folderOf(id)), names =>
      names.every(name => name !== id && !name.startsWith('.')),
    );

    expect((await ada.client.delete(at(id))).body).toEqual({ id, deleted: true });

    expect((await ada.client.get(at(id))).status).toBe(404);
    expect((await ada.client.get(`${at(id)}/files`)).status).toBe(404);
    expect((await ada.client.get(`/api/chats/${chat.body.chat_id ?? chat.body.id}`)).status).toBe(404);
    await removed;
    expect(existsSync(path.join(outside, 'kept.txt'))).toBe(true);
    expect((await ada.client.delete(at(id))).status).toBe(404);
  });

  it('is deleted once by three at once, and renamed meanwhile without a fault', async () => {
    for (let round = 0; round < 5; round++) {
      const id = await service.workspace(ada);
      const ways: (() => Promise<Json>)[] = [
        ...[1, 2, 3].map(() => () => ada.client.delete(at(id))),
        ...[1, 2, 3].map(n => () => ada.client.patch(at(id), { name: `N${n}` })),
        () => ada.client.patch(`${at(id)}/visibility`, { visibility: 'private' }),
      ];
      const [first, second, third, ...changes] = (await Promise.all(ways.map(go => go()))).map(
        ({ status }) => status,
      );
      expect([first, second, third].sort()).toEqual([200, 404, 404]);
      for (const status of changes) expect([200, 404]).toContain(status);
    }
  });

  it.each<[string, (id: string, n: number) => Promise<{ status: number }>]>([
    [
      'files are written',
      (id, n) => ada.client.put(`${at(id)}/files/content`, { path: `${n}`, content: 'x' }),
    ],
    [
      'files are copied',
      (id, n) => ada.client.post(`${at(id)}/files/copy`, { from: 'a.txt', to: `${n}.txt` }),
    ],
    ['chats begin', id => ada.client.post('/api/agent/message', { workspace_id: id, message: 'list' })],
    [
      'messages are sent to one chat',
      id => ada.client.post('/api/agent/message', { workspace_id: id, chat_id: id, message: 'list' }),
    ],
    ['its policy is set', id => ada.client.patch(`${at(id)}/approval-policy`, { write: 'ask' })],
    ['commands are run', id => ada.client.post(`${at(id)}/tools/bash`, { input: { command: 'echo a > a' } })],
  ])('is deleted while %s, without a fault', async (_, act) => {
    for (let round = 0; round < 4; round++) {
      const id = await service.workspace(ada);
      await ada.client.put(`${at(id)}/files/content`, { path: 'a.txt', content: 'A' });
      const acts = Promise.all(Array.from({ length: 15 }, (_, n) => act(id, n)));
      // Some come before it, some meanwhile, some after it.
      await sleep(20 + 40 * round);
      const deleted = await Promise.all([1, 2, 3].map(() => ada.client.delete(at(id))));
      expect(deleted.map(({ status }) => status).sort()).toEqual([200, 404, 404]);
      for (const { status } of await acts) expect([200, 404, 409, 429]).toContain(status);
      expect(await rowsOf(id)).toEqual([]);
    }
  });

  it('takes what is written beside its deletion along, or keeps it from being written', async () => {
    const id = await service.workspace(ada);
    const write = (name: string) => ada.client.put(`${at(id)}/files/content`, { path: name, content: name });
    expect((await write('before')).status).toBe(200);
    const deletion = new pg.Client({ connectionString: service.database.url });
    await deletion.connect();
    try {
      await deletion.query('begin');
      await deletion.query('delete from workspace where id = $1', [id]);
      const meanwhile = write('meanwhile');
      // Whoever writes waits for the workspace.
      const waits = `
        select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
          and query like '%insert into workspace_write%'`;
      while ((await service.database.query(waits)).length === 0) await sleep(20);
      await deletion.query('commit');
      expect((await meanwhile).status).toBe(404);
    } finally {
      await deletion.end();
    }
    expect((await write('after')).status).toBe(404);
    expect(await rowsOf(id)).toEqual([]);
    expect(existsSync(path.join(folderOf(id), 'meanwhile'))).toBe(false);
  });

  it('is changed by more at once than there are database connections', async () => {
    const id = await service.workspace(ada);
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => ada.client.patch(at(id), { name: `N${n}` })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(200));
  });
});

describe('the list of workspaces', () => {
  it('goes page by page, oldest first, by organization where asked', async () => {
    const { body: organization } = await ada.client.post('/api/organizations', { name: 'Paged' });
    const made: string[] = [];
    for (let n = 0; n < 5; n++) made.push(await service.workspace(ada, { organization_id: organization.id }));
    expect(await everyId(ada.client, `limit=2&organization_id=${organization.id}`)).toEqual(made);
    const all = await everyId(ada.client, 'limit=3');
    expect(all).toEqual([...all].sort());
    expect(new Set(all).size).toBe(all.length);
    expect(all).toEqual(expect.arrayContaining(made));
  });

  it('neither repeats nor loses one while others come and go', async () => {
    const { body: organization } = await ada.client.post('/api/organizations', { name: 'Moving' });
    const create = () => service.workspace(ada, { organization_id: organization.id });
    const made = [await create(), await create(), await create(), await create()];
    const first = await ada.client.get(`/api/workspaces?limit=2&organization_id=${organization.id}`);
    await ada.client.delete(at(made[1] as string));
    const late = await create();
    const rest = await ada.client.get(
      `/api/workspaces?limit=50&organization_id=${organization.id}&cursor=${first.body.next_cursor}`,
    );
    expect([...idsOf(first), ...idsOf(rest)]).toEqual([...made, late]);
  });

  it('is empty for an organization that the caller is not in', async () => {
    const { body } = await stranger.client.get(`/api/workspaces?organization_id=${ada.organizationId}`);
    expect(body).toEqual({ items: [], next_cursor: null });
  });

  it.each([
    'limit=0',
    'limit=201',
    'limit=2.5',
    'cursor=!',
    'cursor=WyJ4Il0',
    'organization_id=x',
    'colour=red',
    'limit[]=1',
  ])('refuses ?%s', async query => {
    const { status, body } = await ada.client.get(`/api/workspaces?${query}`);
    expect(status).toBe(422);
    expect(body.detail).toMatch(/^(limit|cursor|organization_id|colour|limit\[\]) /);
  });
});

describe('visibility', () => {
  const standings = ORGANIZATION_ROLES.flatMap(organization_role =>
    VISIBILITIES.flatMap(visibility =>
      [null, ...WORKSPACE_ROLES].flatMap(workspace_role =>
        [true, false].map(creator => ({ organization_role, visibility, workspace_role, creator })),
      ),
    ),
  );

  it('is the same in the list and at each address, for every combination', async () => {
    const { body: organization } = await ada.client.post('/api/organizations', { name: 'Every' });
    const people = new Map<string, Person>();
    for (const role of ORGANIZATION_ROLES) {
      const person = await service.person(role);
      await service.join(person, { organization: organization.id, role });
      people.set(role, person);
    }
    for (const standing of standings) {
      const person = people.get(standing.organization_role) as Person;
      const { organization_role: role, workspace_role: workspaceRole, visibility } = standing;
      const workspace = await service.workspace(ada, { organization_id: organization.id, visibility });
      if (workspaceRole)
        await service.join(person, { organization: organization.id, role, workspace, workspaceRole });
      if (standing.creator)
        await service.database.query('update workspace set created_by = $2 where id = $1', [
          workspace,
          person.id,
        ]);
      Object.assign(standing, { id: workspace });
    }
    for (const [role, { client }] of people) {
      const listed = await client.get(`/api/workspaces?limit=200&organization_id=${organization.id}`);
      const roles = new Map(listed.body.items.map(({ id, role }: Json) => [id, role]));
      for (const standing of standings.filter(
        ({ organization_role }) => organization_role === role,
      ) as Json[]) {
        const expected = roleThere(standing as Standing);
        const read = await client.get(at(standing.id));
        expect([standing, roles.get(standing.id) ?? null, read.status]).toEqual([
          standing,
          expected,
          expected === null ? 404 : 200,
        ]);
      }
    }
  });

  it('is set by admins of the workspace; private by its creator alone', async () => {
    const id = await service.workspace(ada);
    const set = (client: Client, visibility: string) => client.patch(`${at(id)}/visibility`, { visibility });
    const admin = await colleague('admin');
    const member = await colleague('member');
    const added = await colleague('guest', id, 'viewer');
    expect((await set(member.client, 'restricted')).status).toBe(403);
    expect((await set(added.client, 'restricted')).status).toBe(403);
    expect((await set(stranger.client, 'restricted')).status).toBe(404);
    const refused = await set(admin.client, 'private');
    expect([refused.status, refused.body.detail]).toEqual([
      403,
      'Only its creator can make a workspace private',
    ]);
    expect((await set(admin.client, 'restricted')).body).toMatchObject({
      visibility: 'restricted',
      role: 'admin',
    });
    expect((await member.client.get(at(id))).status).toBe(404);
    expect((await added.client.get(at(id))).body.role).toBe('viewer');
    expect((await set(ada.client, 'private')).body).toMatchObject({ visibility: 'private' });
    for (const { client } of [admin, member, added]) expect((await client.get(at(id))).status).toBe(404);
    expect((await set(ada.client, 'public')).status).toBe(422);
  });
});

describe('access', () => {
  const writes: [string, string, Json?][] = [
    ['PATCH', '', { name: 'Mine' }],
    ['PATCH', '/visibility', { visibility: 'org' }],
    ['DELETE', ''],
  ];

  it('answers a stranger, and whoever does not see it, as if it did not exist', async () => {
    const id = await service.workspace(ada, { visibility: 'restricted' });
    const member = await colleague('member');
    for (const { client } of [stranger, member])
      for (const [method, below, input] of [['GET', ''] as [string, string, Json?], ...writes]) {
        const real = await client.json(method, at(id) + below, input);
        const none = await client.json(method, at(NOBODYS) + below, input);
        expect([method, real.status, real.body]).toEqual([method, 404, none.body]);
      }
  });

  it.each(['editor', 'viewer'])('refuses an added %s every change of the workspace', async workspaceRole => {
    const id = await service.workspace(ada);
    const person = await colleague('guest', id, workspaceRole);
    expect((await person.client.get(at(id))).body.role).toBe(workspaceRole);
    for (const [method, below, input] of writes) {
      const { status, body } = await person.client.json(method, at(id) + below, input);
      expect([method, status]).toEqual([method, 403]);
      expect(body.detail).toContain(workspaceRole);
    }
  });

  it('asks a key for the scope', async () => {
    const id = await service.workspace(ada);
    const reader = await service.key(ada, { scopes: ['workspaces:read'] });
    expect((await reader.get(at(id))).status).toBe(200);
    for (const [method, below, input] of writes) {
      const { status, body } = await reader.json(method, at(id) + below, input);
      expect([method, status, body.detail]).toEqual([
        method,
        403,
        'This key lacks the scope workspaces:write',
      ]);
    }
    const other = await service.key(ada, { scopes: ['files:read'] });
    expect((await other.get(at(id))).status).toBe(403);
    expect((await other.get('/api/workspaces')).status).toBe(403);
  });

  it('keeps a key in its organization', async () => {
    const inside = await service.workspace(ada);
    const { body: organization } = await ada.client.post('/api/organizations', { name: 'Elsewhere' });
    const outside = await service.workspace(ada, { organization_id: organization.id });
    const key = await service.key(ada, { organization_id: organization.id });
    expect(await everyId(key, 'limit=200')).toEqual([outside]);
    expect((await key.get(at(inside))).status).toBe(404);
    expect((await key.get(`${at(inside)}/files`)).status).toBe(404);
    expect(
      (await key.post('/api/workspaces', { name: 'X', organization_id: ada.organizationId })).status,
    ).toBe(404);
  });

  it('keeps a key in its workspaces', async () => {
    const [mine, other] = [await service.workspace(ada), await service.workspace(ada)];
    const key = await service.key(ada, { workspace_ids: [mine] });
    expect(await everyId(key, 'limit=200')).toEqual([mine]);
    expect((await key.get(at(other))).status).toBe(404);
    expect((await key.get(`${at(other)}/files`)).status).toBe(404);
    expect((await key.delete(at(other))).status).toBe(404);
    expect((await key.post('/api/workspaces', { name: 'Another' })).status).toBe(403);
    expect((await key.patch(at(mine), { name: 'Renamed' })).status).toBe(200);
  });

  it('keeps a key that is limited to no workspace out of all', async () => {
    const id = await service.workspace(ada);
    const made = await ada.client.post('/api/keys', { name: 'none', workspace_ids: [] });
    if (made.status !== 200) return expect(made.status).toBe(422);
    const key = service.stranger.with({ 'x-api-key': made.body.api_key });
    expect(await everyId(key, 'limit=200')).toEqual([]);
    expect((await key.get(at(id))).status).toBe(404);
  });

  it('is nobody’s without a credential', async () => {
    for (const path of ['/api/workspaces', at(NOBODYS), `${at(NOBODYS)}/files`])
      expect((await service.stranger.get(path)).status).toBe(401);
  });
});

describe('requests that make no sense', () => {
  const send = (
    body: string | Buffer,
    headers: Record<string, string> = { 'content-type': 'application/json' },
  ) => ada.client.raw('POST', '/api/workspaces', { body, headers });
  const nested = (depth: number) => `{"name":${'['.repeat(depth)}${']'.repeat(depth)}}`;

  it.each([
    ['an array', '[]', 422, 'The body must be a JSON object'],
    ['an array of arrays', `${'['.repeat(90)}${']'.repeat(90)}`, 422, 'The body must be a JSON object'],
    ['arrays that never end', '['.repeat(1_000_000), 422, 'The body is nested more than 100 deep'],
    [
      'more values than it can have',
      `[${'0,'.repeat(200_000)}0]`,
      422,
      'The body has more than 100000 values',
    ],
    ['a text', '"x"', 422, 'The body must be a JSON object'],
    ['a number', '7', 422, 'The body must be a JSON object'],
    ['null', 'null', 422, 'name '],
    ['nothing', '', 422, 'name '],
    ['a nested field', nested(90), 422, 'name must be text'],
    ['a field nested 10,000 deep', nested(10_000), 422, 'The body is nested more than 100 deep'],
    ['an unknown field', '{"name":"x","color":"red"}', 422, 'color is not a field of this request'],
    ['a prototype', '{"name":"x","__proto__":{"visibility":"private"}}', 422, '__proto__ is not a field'],
    ['a constructor', '{"name":"x","constructor":{}}', 422, 'constructor is not a field'],
    ['a lone surrogate', '{"name":"\\ud800"}', 422, 'name must be well-formed'],
    ['malformed JSON', '{"name": "x"', 400, 'The body is not valid JSON'],
    ['two values', '{} {}', 400, 'The body is not valid JSON'],
    ['NaN', '{"name": NaN}', 400, 'The body is not valid JSON'],
  ])('are refused for %s', async (_, body, status, detail) => {
    const answer = await send(body);
    expect(await answer.json()).toEqual({ detail: expect.stringContaining(detail) });
    expect(answer.status).toBe(status);
  });

  it('without a valid credential are refused before their body is read', async () => {
    const { hostname, port } = new URL(service.url);
    for (const credential of ['', 'authorization: Bearer no\r\n', 'x-api-key: no\r\n']) {
      // The service may break it off while we end it.
      const socket = connect(Number(port), hostname).on('error', () => undefined);
      socket.write(
        `POST /api/workspaces HTTP/1.1\r\nhost: x\r\n${credential}content-type: application/json\r\ncontent-length: 5000000\r\n\r\n`,
      );
      const [answer] = await once(socket, 'data');
      expect(String(answer)).toMatch(/^HTTP\/1.1 401 /);
      socket.destroy();
    }
  });

  it('to a public route have a short body', async () => {
    const email = 'x'.repeat(70_000);
    const anonymous = await service.stranger.post('/api/auth/login', { email, password: 'x' });
    expect([anonymous.status, anonymous.body]).toEqual([
      413,
      { detail: 'The body is larger than 65536 bytes' },
    ]);
    const known = await ada.client.post('/api/workspaces', { name: email });
    expect(known.status).toBe(422);
  });

  it('are refused for text that is not UTF-8', async () => {
    const latin1 = await send(Buffer.from('{"name":"caf\xe9"}', 'latin1'));
    expect([latin1.status, await latin1.json()]).toEqual([400, { detail: 'The body is not valid UTF-8' }]);
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
  ])('are refused for a body of type %s', async type => {
    const answer = await send('{"name":"x"}', { 'content-type': type });
    expect(answer.status).toBe(415);
    expect(await answer.json()).toEqual({ detail: expect.stringContaining('application/json') });
  });

  it('are refused for ids that are none, as unknown', async () => {
    for (const id of WRONG_IDS)
      for (const [method, below, input] of [
        ['GET', ''],
        ['DELETE', ''],
        ['PATCH', '', { name: 'x' }],
        ['PATCH', '/visibility', { visibility: 'org' }],
        ['GET', '/files'],
      ] as [string, string, Json?][]) {
        const { status, body } = await ada.client.json(method, at(id) + below, input);
        expect([id, method, status, Object.keys(body)]).toEqual([id, method, 404, ['detail']]);
      }
  });

  it('are refused for a change of nothing, and one that names another workspace', async () => {
    const id = await service.workspace(ada);
    const nothing = await ada.client.patch(at(id), {});
    expect([nothing.status, nothing.body.detail.split(' ')[0]]).toEqual([422, 'name']);
    expect((await ada.client.json('PATCH', at(id))).status).toBe(422);
    expect((await ada.client.patch(at(id), { name: null })).status).toBe(422);
    const other = await ada.client.patch(at(id), { name: 'x', workspace_id: NOBODYS });
    expect([other.status, other.body.detail]).toEqual([422, 'workspace_id is already given by the address']);
  });
});

describe('a caller who lost a workspace', () => {
  it('reads and writes nothing in it with the next request', async () => {
    const id = await service.workspace(ada);
    const bob = await colleague('guest', id, 'editor');
    const { body } = await bob.client.post('/api/keys', { name: 'CI' });
    for (const client of [bob.client, new Client(service.url, { 'x-api-key': body.api_key })]) {
      await ada.client.put(`${at(id)}/members/${bob.id}`, { role: 'editor' });
      const write = () => client.put(`${at(id)}/files/content`, { path: 'note.txt', content: 'Hello' });
      expect([(await client.get(at(id))).status, (await write()).status]).toEqual([200, 200]);
      await ada.client.put(`${at(id)}/members/${bob.id}`, { role: 'viewer' });
      expect([(await client.get(at(id))).body.role, (await write()).status]).toEqual(['viewer', 403]);
      await ada.client.delete(`${at(id)}/members/${bob.id}`);
      expect([(await client.get(at(id))).status, (await write()).status]).toEqual([404, 404]);
    }
  });

  it('writes nothing with a request whose body comes afterwards', async () => {
    const id = await service.workspace(ada);
    const bob = await colleague('guest', id, 'editor');
    const { body: key } = await bob.client.post('/api/keys', { name: 'CI' });
    const content = JSON.stringify({ path: 'late.txt', content: 'Hello' });
    const request = http.request(`${service.url}${at(id)}/files/content`, {
      method: 'PUT',
      headers: {
        'x-api-key': key.api_key,
        'content-type': 'application/json',
        'content-length': content.length,
      },
    });
    const answered = once(request, 'response');
    request.write(content.slice(0, 10));
    const used = async () =>
      (await service.database.query('select last_used_at as at from api_key where id = $1', [key.id]))[0]?.at;
    while (!(await used())) await sleep(5);
    await ada.client.delete(`${at(id)}/members/${bob.id}`);
    request.end(content.slice(10));
    const [response] = await answered;
    response.resume();
    expect(response.statusCode).toBe(404);
    expect(existsSync(path.join(folderOf(id), 'late.txt'))).toBe(false);
  });
});

// Last, as another service takes the strategies of sign-in over from the first.
it('belong to user ids of their installation alone, also after a restart of it', async () => {
  const uidOf = (of: TestService, id: string) => statSync(path.join(of.dataDir, 'workspaces', id)).uid;
  const asRoot = process.getuid?.() === 0;
  const baseOf = async (of: TestService) =>
    Number((await of.database.query('select sandbox_uid_base as base from installation'))[0]?.base);
  const [mine, id] = [await baseOf(service), await service.workspace(ada)];
  const other = await TestService.start();
  const chosen = await TestService.start({ SANDBOX_UID_BASE: '300000' });
  try {
    expect(await baseOf(other)).not.toBe(mine);
    expect(await baseOf(chosen)).toBe(300_000);
    const owner = await chosen.person();
    const workspace = await chosen.workspace(owner);
    if (asRoot) {
      expect(uidOf(service, id)).toBeGreaterThan(mine);
      expect(uidOf(chosen, workspace)).toBeGreaterThan(300_000);
      expect(uidOf(chosen, workspace)).toBeLessThan(300_100);
    }
    const { body } = await owner.client.post(`/api/workspaces/${workspace}/tools/bash`, {
      input: { command: 'echo works > made.txt && cat made.txt' },
    });
    expect(JSON.stringify(body)).toContain('works');
  } finally {
    await other.stop();
    await chosen.stop();
  }
});
