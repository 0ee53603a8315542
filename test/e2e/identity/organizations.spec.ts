import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../harness/client.js';
import { folderBecomes } from '../../harness/folder.js';
import { type Person, TestService } from '../../harness/service.js';

const NOBODYS = '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f';

let service: TestService;
let ada: Person;
let stranger: Person;

beforeAll(async () => {
  service = await TestService.start({ ORGANIZATION_CREATION: 'anyone' });
  ada = await service.person();
  stranger = await service.person('Mallory');
});
afterAll(() => service.stop());

const found = async (name: string, owner = ada): Promise<string> => {
  const { status, body } = await owner.client.post('/api/organizations', { name });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.id;
};

describe('an organization', () => {
  it('is made with its maker as owner, its name trimmed', async () => {
    const { status, body } = await ada.client.post('/api/organizations', { name: '  Engines  ' });
    expect(status).toBe(200);
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      name: 'Engines',
      role: 'owner',
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect((await ada.client.get(`/api/organizations/${body.id}`)).body).toEqual(body);
  });

  it('is renamed', async () => {
    const id = await found('Before');
    const before = (await ada.client.get(`/api/organizations/${id}`)).body;
    const { status, body } = await ada.client.patch(`/api/organizations/${id}`, { name: 'After' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ id, name: 'After', role: 'owner', created_at: before.created_at });
    expect(Date.parse(body.updated_at)).toBeGreaterThan(Date.parse(before.updated_at));
  });

  it.each([
    ['no name', {}, 'name '],
    ['a blank name', { name: ' \t' }, 'name must not be blank'],
    ['a long name', { name: 'x'.repeat(121) }, 'name must have 1 to 120 characters'],
    ['a name that is no text', { name: ['x'] }, 'name '],
    ['a name with NUL', { name: 'a\0b' }, 'name '],
    ['an unknown field', { name: 'x', plan: 'free' }, 'plan is not a field of this request'],
    [
      'an inherited name',
      '{"name": "x", "__proto__": {"name": "y"}}',
      '__proto__ is not a field of this request',
    ],
  ])('is refused with %s, at creation and at renaming', async (_, input, detail) => {
    const created = await ada.client.post('/api/organizations', input);
    const renamed = await ada.client.patch(`/api/organizations/${ada.organizationId}`, input);
    for (const { status, body } of [created, renamed]) {
      expect(body.detail).toContain(detail);
      expect(status).toBe(422);
    }
  });

  it('is not there for ids that are none', async () => {
    for (const id of ['x', '1', NOBODYS.slice(1), `${NOBODYS}0`, '%00', '..%2f', 'a'.repeat(900)])
      for (const method of ['GET', 'DELETE']) {
        const { status, body } = await ada.client.json(method, `/api/organizations/${id}`);
        expect([id, status, Object.keys(body)]).toEqual([id, 404, ['detail']]);
      }
  });
});

describe('the list of organizations', () => {
  it('goes page by page through all of the caller, oldest first, and nobody else’s', async () => {
    const grace = await service.person('Grace');
    const made = [];
    for (const name of ['A', 'B', 'C', 'D']) made.push(await found(name, grace));
    const ids: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`;
      const { body } = await grace.client.get(`/api/organizations?limit=2${query}`);
      expect(body.items.length).toBeLessThanOrEqual(2);
      ids.push(...body.items.map(({ id }: Json) => id));
      cursor = body.next_cursor;
    } while (cursor !== null);
    expect(ids).toEqual([grace.organizationId, ...made]);
  });

  it.each([
    'limit=0',
    'limit=201',
    'limit=ten',
    'cursor=x',
    'cursor=WyJ4Il0',
    'cursor=W10',
    'cursor=bnVsbA',
    'page=2',
    'limit=1&limit=2',
  ])('refuses ?%s', async query => {
    const { status, body } = await ada.client.get(`/api/organizations?${query}`);
    expect(status).toBe(422);
    expect(body.detail).toMatch(/^(limit|cursor|page) /);
  });
});

describe('access', () => {
  it('answers a stranger as if it did not exist', async () => {
    const ways: [string, Json?][] = [['GET'], ['PATCH', { name: 'Mine' }], ['DELETE']];
    for (const [method, input] of ways) {
      const theirs = await stranger.client.json(method, `/api/organizations/${ada.organizationId}`, input);
      const nobodys = await stranger.client.json(method, `/api/organizations/${NOBODYS}`, input);
      expect([method, theirs.status]).toEqual([method, 404]);
      expect(theirs.body).toEqual(nobodys.body);
    }
  });

  it.each([
    ['owner', 200, 200],
    ['admin', 200, 403],
    ['member', 403, 403],
    ['guest', 403, 403],
  ])('lets %s read, rename (%i) and delete (%i)', async (role, rename, remove) => {
    const id = await found(`With ${role}`);
    const person = await service.person(role);
    await service.join(person, { organization: id, role });
    expect((await person.client.get(`/api/organizations/${id}`)).body).toMatchObject({ id, role });
    expect((await person.client.patch(`/api/organizations/${id}`, { name: 'New' })).status).toBe(rename);
    expect((await person.client.delete(`/api/organizations/${id}`)).status).toBe(remove);
  });

  it('asks a key for its scope, and keeps it in its organization', async () => {
    const id = await found('Keyed');
    const reader = await service.key(ada, { scopes: ['organizations:read'] });
    expect((await reader.get(`/api/organizations/${id}`)).status).toBe(200);
    const refused = await reader.patch(`/api/organizations/${id}`, { name: 'No' });
    expect(refused.status).toBe(403);
    expect(refused.body.detail).toContain('organizations:write');
    const bound = await service.key(ada, { organization_id: id });
    expect((await bound.get(`/api/organizations/${ada.organizationId}`)).status).toBe(404);
    expect((await bound.delete(`/api/organizations/${ada.organizationId}`)).status).toBe(404);
    expect((await bound.post('/api/organizations', { name: 'Another' })).status).toBe(403);
  });
});

describe('deletion', () => {
  it('takes workspaces, folders, chats and keys along, and leaves the rest', async () => {
    const id = await found('Doomed');
    const workspaces = [
      await service.workspace(ada, { organization_id: id }),
      await service.workspace(ada, { organization_id: id }),
    ];
    const other = await service.workspace(ada);
    const key = await service.key(ada, { organization_id: id });
    const { body: chat } = await ada.client.post('/api/agent', {
      organization_id: id,
      workspace_id: workspaces[0],
    });
    const { body: kept } = await ada.client.post('/api/agent', {
      organization_id: ada.organizationId,
      workspace_id: other,
    });
    const folders = path.join(service.dataDir, 'workspaces');
    for (const workspace of workspaces)
      await ada.client.put(`/api/workspaces/${workspace}/files/content`, { path: 'a/b.txt', content: 'x' });
    const removed = folderBecomes(folders, names => names.every(name => name === other));

    const { status, body } = await ada.client.delete(`/api/organizations/${id}`);

    expect(status).toBe(200);
    expect(body).toEqual({ id, deleted: true });
    for (const gone of [
      `organizations/${id}`,
      ...workspaces.map(one => `workspaces/${one}`),
      `chats/${chat.chat_id ?? chat.id}`,
    ])
      expect([gone, (await ada.client.get(`/api/${gone}`)).status]).toEqual([gone, 404]);
    expect((await key.get('/api/auth/me')).status).toBe(401);
    await removed;
    expect(existsSync(path.join(folders, other))).toBe(true);
    expect((await ada.client.get(`/api/workspaces/${other}`)).status).toBe(200);
    expect((await ada.client.get(`/api/chats/${kept.chat_id ?? kept.id}`)).status).toBe(200);
    const rows = await service.database.query(
      'select 1 from organization_member where organization_id = $1',
      [id],
    );
    expect(rows).toEqual([]);
  });
});

describe('two callers at once', () => {
  it('delete it once, and the other is told that it is gone', async () => {
    for (let round = 0; round < 5; round++) {
      const id = await found('Twice');
      const answers = await Promise.all([1, 2, 3].map(() => ada.client.delete(`/api/organizations/${id}`)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404]);
    }
  });

  it('rename and delete it without a fault', async () => {
    for (let round = 0; round < 5; round++) {
      const id = await found('Both');
      const [deleted, ...renamed] = await Promise.all([
        ada.client.delete(`/api/organizations/${id}`),
        ...[1, 2, 3].map(n => ada.client.patch(`/api/organizations/${id}`, { name: `N${n}` })),
      ]);
      expect(deleted.status).toBe(200);
      for (const { status } of renamed) expect([200, 404]).toContain(status);
    }
  });

  it('never leave a workspace, or its folder, behind in an organization that goes', async () => {
    for (let round = 0; round < 5; round++) {
      const id = await found('Growing');
      const [deleted, ...created] = await Promise.all([
        ada.client.delete(`/api/organizations/${id}`),
        ...[1, 2, 3].map(() => ada.client.post('/api/workspaces', { name: 'New', organization_id: id })),
      ]);
      expect(deleted.status).toBe(200);
      for (const { status } of created) expect([200, 404]).toContain(status);
      const kept = (await service.database.query<{ id: string }>('select id from workspace')).map(
        row => row.id,
      );
      await folderBecomes(path.join(service.dataDir, 'workspaces'), names =>
        names.every(name => kept.includes(name)),
      );
    }
  });

  it('are more than there are database connections', async () => {
    const id = await found('Busy');
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        ada.client.patch(`/api/organizations/${id}`, { name: `Name ${n}` }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(200));
  });
});

describe('what the operator sets for organizations', () => {
  it('lets owners of the installation alone create them, unless anyone may', async () => {
    const strict = await TestService.start();
    const owner = await strict.person();
    const guest = await strict.person('Grace');
    await strict.join(guest, { organization: owner.organizationId, role: 'guest' });
    const refused = await guest.client.post('/api/organizations', { name: 'A way around' });
    expect(refused.status).toBe(403);
    expect(refused.body.detail).toMatch(/owner of this installation/);
    const key = await strict.key(guest);
    expect((await key.post('/api/organizations', { name: 'A way around' })).status).toBe(403);
    const run = await guest.client.post('/api/actions/organization_create/run', {
      input: { name: 'A way around' },
    });
    expect(run.status).toBe(403);
    expect((await owner.client.post('/api/organizations', { name: 'Fine' })).status).toBe(200);
    await strict.stop();
  });

  it('gives each a budget that only owners of the installation may exceed, and models', async () => {
    const limited = await TestService.start({
      ORGANIZATION_CREATION: 'anyone',
      ORGANIZATION_MONTHLY_BUDGET_USD: '0.5',
      ORGANIZATION_MODELS: 'local/small',
      OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:9',
      OPENAI_COMPATIBLE_MODELS: 'small,large',
    });
    try {
      const owner = await limited.person('Olga');
      const newcomer = await limited.person('Nora');
      const { body: made } = await newcomer.client.post('/api/organizations', { name: 'Another' });
      for (const id of [newcomer.organizationId, made.id]) {
        const address = `/api/organizations/${id}/billing`;
        const { body } = await newcomer.client.get(address);
        expect(body.budget).toMatchObject({ monthly_usd: 0.5, hard_stop: true });
        const set = (fields: Json) => newcomer.client.put(`${address}/budget`, fields);
        expect((await set({ monthly_usd: 1 })).status).toBe(403);
        expect((await set({ monthly_usd: null })).status).toBe(403);
        expect((await set({ monthly_usd: 0.5, hard_stop: false })).status).toBe(403);
        expect((await set({ monthly_usd: 0.2 })).status).toBe(200);
        expect((await owner.client.put(`${address}/budget`, { monthly_usd: 9 })).status).toBe(404);
      }
      const own = `/api/organizations/${owner.organizationId}/billing/budget`;
      expect((await owner.client.put(own, { monthly_usd: 50 })).status).toBe(200);
      const { body } = await newcomer.client.get(`/api/models?organization_id=${newcomer.organizationId}`);
      const usable = body.items.filter(({ reason }: Json) => !reason).map(({ id }: Json) => id);
      expect(usable).toEqual(['local/small']);
    } finally {
      await limited.stop();
    }
  });
});
