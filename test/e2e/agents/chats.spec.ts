import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AgentClient } from '../../harness/agent.js';
import type { Client, Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
let grace: Person;
let viewer: Person;
let workspace_id: string;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person();
  grace = await service.person('Grace');
  viewer = await service.person('Viewer');
  workspace_id = await service.workspace(ada);
  await service.join(viewer, {
    organization: ada.organizationId,
    role: 'guest',
    workspace: workspace_id,
    workspaceRole: 'viewer',
  });
  const agents = path.join(service.dataDir, 'workspaces', workspace_id, '.agents');
  mkdirSync(agents, { recursive: true });
  writeFileSync(path.join(agents, 'reviewer.md'), '---\ndescription: Reviews\n---\nReview.');
  writeFileSync(path.join(agents, 'broken.md'), '---\ntool: bash\n---\nBroken.');
});
afterAll(() => service.stop());

const create = async (fields?: Json, client: Client = ada.client): Promise<Json> => {
  const { status, body } = await client.post('/api/agent', fields);
  if (status !== 200) throw new Error(`creating answered ${status}: ${JSON.stringify(body)}`);
  return body;
};
const titles = ({ body }: Json): string[] => body.items.map(({ title }: Json) => title);

describe('creating', () => {
  it('needs no body at all', async () => {
    const chat = await create();
    expect(chat).toEqual({
      id: expect.any(String),
      title: 'New Chat',
      organization_id: ada.organizationId,
      workspace_id: null,
      agent_name: null,
      model: null,
      pinned: false,
      archived: false,
      created_by: ada.id,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      last_message_at: null,
      run: null,
      plan: null,
      context: null,
    });
    expect((await ada.client.get(`/api/chats/${chat.id}`)).body).toEqual(chat);
  });

  it('takes an empty object, and a blank title as none', async () => {
    expect((await create({})).title).toBe('New Chat');
    expect((await create({ title: '  ' })).title).toBe('New Chat');
    expect((await create({ title: ' Plan ' })).title).toBe('Plan');
  });

  it('is named by its first message, unless somebody has named it', async () => {
    const send = async (input: Json) => {
      const model = 'atelier/demo';
      const { body } = await ada.client.post('/api/agent/message', { model, ...input });
      const { body: chat } = await ada.client.get(`/api/chats/${body.chat_id}`);
      const events = await ada.client.events(`/api/agent/runs/${body.call_id}/events`);
      return [chat.title, events[0]?.data.title];
    };
    const message = '# Plan the **launch**\nwith details';
    expect(await send({ message })).toEqual(['Plan the launch', 'Plan the launch']);
    expect(await send({ message, title: ' Mine ' })).toEqual(['Mine', undefined]);
    const { id: unnamed } = await create({});
    expect(await send({ message, chat_id: unnamed })).toEqual(['Plan the launch', 'Plan the launch']);
    expect(await send({ message: 'And then?', chat_id: unnamed })).toEqual(['Plan the launch', undefined]);
    const { id: named } = await create({});
    await ada.client.patch(`/api/chats/${named}`, { title: 'Renamed' });
    expect(await send({ message, chat_id: named })).toEqual(['Renamed', undefined]);
  });

  it("takes the caller's UUID once", async () => {
    const chat_id = randomUUID();
    expect((await create({ chat_id: chat_id.toUpperCase() })).id).toBe(chat_id);
    const { status, body } = await grace.client.post('/api/agent', { chat_id });
    expect(status).toBe(409);
    expect(body).toEqual({ detail: 'chat_id is taken; leave it out to get a new one' });
  });

  it('lets one of several creations with one UUID through', async () => {
    const chat_id = randomUUID();
    const answers = await Promise.all([1, 2, 3, 4].map(() => ada.client.post('/api/agent', { chat_id })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
  });

  it('takes an agent that the workspace defines', async () => {
    expect(await create({ workspace_id, agent_name: 'reviewer' })).toMatchObject({
      workspace_id,
      agent_name: 'reviewer',
    });
  });

  it.each([
    ['no workspace for the agent', { agent_name: 'reviewer' }, 422, /^agent_name needs workspace_id/],
    ['an agent that no file defines', { workspace: true, agent_name: 'poet' }, 404, /"poet"/],
    [
      'an agent whose file is broken',
      { workspace: true, agent_name: 'broken' },
      422,
      /"tool" is not a known key.*tools/,
    ],
    ['an unknown model', { model: 'nobody/nothing' }, 422, /^model: there is no model "nobody\/nothing"/],
    ['an id that is none', { chat_id: 'mine' }, 422, /^chat_id must be a UUID/],
    ['an unknown field', { colour: 'red' }, 422, /^colour is not a field/],
    ['an unknown workspace', { workspace_id: randomUUID() }, 404, /No such workspace/],
    ['an unknown organization', { organization_id: randomUUID() }, 404, /organization/],
    ['a title that is too long', { title: 'x'.repeat(501) }, 422, /^title /],
  ])('refuses %s', async (_, { workspace, ...fields }: Json, expected, detail) => {
    const { status, body } = await ada.client.post('/api/agent', {
      ...(workspace ? { workspace_id } : {}),
      ...fields,
    });
    expect([status, Object.keys(body)]).toEqual([expected, ['detail']]);
    expect(body.detail).toMatch(detail);
  });

  it("does not see someone else's workspace, and refuses a viewer", async () => {
    expect((await grace.client.post('/api/agent', { workspace_id })).status).toBe(404);
    const { status, body } = await viewer.client.post('/api/agent', { workspace_id });
    expect(status).toBe(403);
    expect(body.detail).toContain('editor');
  });

  it('refuses an organization that is not the workspace’s', async () => {
    const { body: other } = await ada.client.post('/api/organizations', { name: 'Other' });
    const { status, body } = await ada.client.post('/api/agent', { workspace_id, organization_id: other.id });
    expect([status, body.detail]).toEqual([422, 'organization_id is not the organization of the workspace']);
    expect((await create({ organization_id: other.id })).organization_id).toBe(other.id);
  });
});

describe('listing', () => {
  let owner: Person;
  let place: string;
  let chats: Json[];

  beforeAll(async () => {
    owner = await service.person('Owner');
    place = await service.workspace(owner);
    chats = [];
    for (const title of ['Alpha launch', 'Beta', 'Gamma 50%', 'Delta', 'Epsilon'])
      chats.push(await create({ title, workspace_id: title === 'Beta' ? undefined : place }, owner.client));
    await owner.client.patch(`/api/chats/${chats[3]?.id}`, { pinned: true });
    await owner.client.patch(`/api/chats/${chats[4]?.id}`, { archived: true });
  });

  it('shows the newest first, with their newest run', async () => {
    const listed = await owner.client.get('/api/chats');
    expect(titles(listed)).toEqual(['Epsilon', 'Delta', 'Gamma 50%', 'Beta', 'Alpha launch']);
    const run = await new AgentClient(owner.client).run('list', { chat_id: chats[0]?.id });
    const { body } = await owner.client.get('/api/chats');
    expect(body.items.at(-1).run).toEqual({ call_id: run.call_id, status: 'completed' });
    expect(body.items.at(-1).last_message_at).not.toBeNull();
  });

  it.each([
    ['workspace', () => `workspace_id=${place}`, ['Epsilon', 'Delta', 'Gamma 50%', 'Alpha launch']],
    ['organization', () => `organization_id=${randomUUID()}`, []],
    ['pinned', () => 'pinned=true', ['Delta']],
    ['archived', () => 'archived=false', ['Delta', 'Gamma 50%', 'Beta', 'Alpha launch']],
    ['title', () => 'q=LAUNCH', ['Alpha launch']],
    ['title, literally', () => `q=${encodeURIComponent('%')}`, ['Gamma 50%']],
  ])('filters by %s', async (_, query, expected) => {
    expect(titles(await owner.client.get(`/api/chats?${query()}`))).toEqual(expected);
  });

  it('pages in a stable order while chats come in', async () => {
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page = await owner.client.get(`/api/chats?limit=2${cursor && `&cursor=${cursor}`}`);
      expect(page.body.items.length).toBeLessThanOrEqual(2);
      seen.push(...titles(page));
      cursor = page.body.next_cursor;
      await create({ title: 'Newer' }, owner.client);
    }
    expect(seen).toEqual(['Epsilon', 'Delta', 'Gamma 50%', 'Beta', 'Alpha launch']);
  });

  it('refuses a cursor that it did not give out, and a limit out of range', async () => {
    expect((await owner.client.get('/api/chats?cursor=abc')).status).toBe(422);
    expect((await owner.client.get('/api/chats?limit=0')).status).toBe(422);
    expect((await owner.client.get('/api/chats?limit=201')).status).toBe(422);
  });
});

describe('one chat', () => {
  it('is renamed, pinned, archived and given a model, field by field', async () => {
    const { id } = await create();
    const patch = async (fields: Json) => (await ada.client.patch(`/api/chats/${id}`, fields)).body;
    expect(await patch({ title: ' Launch ' })).toMatchObject({ title: 'Launch', pinned: false });
    expect(await patch({ pinned: true })).toMatchObject({ title: 'Launch', pinned: true });
    expect(await patch({ archived: true })).toMatchObject({ pinned: true, archived: true });
    expect(await patch({ model: 'atelier/demo' })).toMatchObject({ model: 'atelier/demo' });
    expect(await patch({ model: null, pinned: false })).toMatchObject({ model: null, pinned: false });
    expect(await patch({})).toMatchObject({ title: 'Launch', archived: true });
  });

  it.each([
    ['model', { model: 'nobody/nothing' }],
    ['title', { title: '' }],
    ['title', { title: ' ' }],
    ['pinned', { pinned: 'yes' }],
    ['workspace_id', { workspace_id: null }],
  ])('refuses a wrong %s and changes nothing', async (field, fields) => {
    const chat = await create();
    const { status, body } = await ada.client.patch(`/api/chats/${chat.id}`, fields);
    expect(status).toBe(422);
    expect(body.detail).toMatch(new RegExp(`^${field}`));
    expect((await ada.client.get(`/api/chats/${chat.id}`)).body).toEqual(chat);
  });

  it('lists its messages oldest first, page by page', async () => {
    const agent = new AgentClient(ada.client);
    const { chat_id, call_id } = await agent.run('write m.txt: hi', { workspace_id });
    await agent.run('read m.txt', { chat_id });
    const { body: whole } = await ada.client.get(`/api/chats/${chat_id}/messages`);
    expect(whole.next_cursor).toBeNull();
    expect(whole.items.map(({ role }: Json) => role)).toEqual(
      Array(2).fill(['user', 'assistant', 'assistant']).flat(),
    );
    expect(whole.items[0]).toMatchObject({ text: 'write m.txt: hi', call_id, tool_calls: [] });
    expect(whole.items[1].tool_calls).toMatchObject([{ tool: 'write_file', is_error: false }]);
    const seen: Json[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page = await ada.client.get(
        `/api/chats/${chat_id}/messages?limit=4${cursor && `&cursor=${cursor}`}`,
      );
      seen.push(...page.body.items);
      cursor = page.body.next_cursor;
    }
    expect(seen).toEqual(whole.items);
  });

  it('is gone after deletion, with its messages', async () => {
    const { chat_id } = await new AgentClient(ada.client).run('list', { workspace_id });
    expect((await ada.client.delete(`/api/chats/${chat_id}`)).body).toMatchObject({ id: chat_id });
    expect((await ada.client.get(`/api/chats/${chat_id}`)).status).toBe(404);
    expect((await ada.client.get(`/api/chats/${chat_id}/messages`)).status).toBe(404);
    expect((await ada.client.delete(`/api/chats/${chat_id}`)).status).toBe(404);
    for (const table of ['message', 'run'])
      expect(await service.database.query(`select from ${table} where chat_id = $1`, [chat_id])).toEqual([]);
  });
});

describe('access', () => {
  const doors = (id: string): [string, string, Json?][] => [
    ['GET', `/api/chats/${id}`],
    ['GET', `/api/chats/${id}/messages`],
    ['PATCH', `/api/chats/${id}`, { title: 'Mine' }],
    ['DELETE', `/api/chats/${id}`],
    ['POST', '/api/agent/message', { message: 'list', chat_id: id }],
  ];
  const statuses = (client: Client, id: string) =>
    Promise.all(doors(id).map(async door => (await client.json(...door)).status));

  it('is not there for a stranger, nor for anyone without a credential', async () => {
    const { id } = await create({ workspace_id });
    expect(await statuses(grace.client, id)).toEqual([404, 404, 404, 404, 404]);
    expect(await statuses(service.stranger, id)).toEqual([401, 401, 401, 401, 401]);
    expect((await grace.client.get('/api/chats')).body.items.map((chat: Json) => chat.id)).not.toContain(id);
    expect((await grace.client.get(`/api/chats?workspace_id=${workspace_id}`)).body.items).toEqual([]);
  });

  it('is for reading only to a viewer of its workspace', async () => {
    const { id } = await create({ workspace_id });
    expect(await statuses(viewer.client, id)).toEqual([200, 200, 403, 403, 403]);
  });

  it('is its creator’s alone without a workspace, whatever the role of others', async () => {
    const colleague = await service.person('Colleague');
    await service.join(colleague, { organization: ada.organizationId, role: 'admin' });
    const { id } = await create();
    expect(await statuses(colleague.client, id)).toEqual([404, 404, 404, 404, 404]);
    expect((await colleague.client.get('/api/chats')).body.items.map((chat: Json) => chat.id)).not.toContain(
      id,
    );
    const shared = await create({ workspace_id });
    expect((await colleague.client.get(`/api/chats/${shared.id}`)).status).toBe(200);
  });

  it('ends with the membership', async () => {
    const guest = await service.person('Guest');
    const place = { organization: ada.organizationId, role: 'member' };
    await service.join(guest, place);
    const { id } = await create({ organization_id: ada.organizationId }, guest.client);
    await service.database.query(
      'delete from organization_member where user_id = $1 and organization_id = $2',
      [guest.id, ada.organizationId],
    );
    expect((await guest.client.get(`/api/chats/${id}`)).status).toBe(404);
  });

  it('sees the chats of its organization only through a key bound to one', async () => {
    const { body: other } = await ada.client.post('/api/organizations', { name: 'Elsewhere' });
    const key = await service.key(ada, { organization_id: other.id });
    const { id } = await create({ workspace_id });
    expect(await statuses(key, id)).toEqual([404, 404, 404, 404, 404]);
    const own = await create(undefined, key);
    expect(own.organization_id).toBe(other.id);
    expect((await key.get('/api/chats')).body.items.map((chat: Json) => chat.id)).toEqual([own.id]);
    expect((await key.post('/api/agent', { organization_id: ada.organizationId })).status).toBe(404);
  });

  it('sees the chats of its workspaces only through a key limited to some', async () => {
    const second = await service.workspace(ada);
    const key = await service.key(ada, { workspace_ids: [second] });
    const there = await create({ workspace_id: second }, key);
    const withoutPlace = await create();
    const { id } = await create({ workspace_id });
    expect((await key.get('/api/chats')).body.items.map((chat: Json) => chat.id)).toEqual([there.id]);
    expect(await statuses(key, id)).toEqual([404, 404, 404, 404, 404]);
    expect(await statuses(key, withoutPlace.id)).toEqual([404, 404, 404, 404, 404]);
    const { status, body } = await key.post('/api/agent');
    expect([status, body.detail]).toEqual([403, expect.stringContaining('workspace_id')]);
  });

  it('takes the scopes of a key', async () => {
    const reader = await service.key(ada, { scopes: ['chats:read'] });
    const { id } = await create({ workspace_id });
    expect(await statuses(reader, id)).toEqual([200, 200, 403, 403, 403]);
    expect((await reader.post('/api/agent')).status).toBe(403);
  });
});
