import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Audit } from '../../../src/platform/audit/index.js';
import { Database } from '../../../src/platform/database/index.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
let member: Person;
let stranger: Person;
let workspace: string;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person();
  member = await service.person('Grace');
  stranger = await service.person('Eve');
  await service.join(member, { organization: ada.organizationId, role: 'member' });
  const client = ada.client.with({ 'user-agent': 'audit-test/1', 'x-request-id': 'request-1' });
  const made = await client.post('/api/workspaces', { name: 'Secret plans' });
  workspace = made.body.id;
  await client.patch(`/api/workspaces/${workspace}/visibility`, { visibility: 'private' });
  await client.patch(`/api/workspaces/${workspace}`, { name: 'Plans' });
});
afterAll(() => service.stop());

const read = async (query = '') => ada.client.get(`/api/organizations/${ada.organizationId}/audit${query}`);
const actionsOf = (body: Json): string[] => body.items.map(({ action }: Json) => action);

describe('the audit log of an organization', () => {
  it('says who did what, to what, with what and where from', async () => {
    const { status, body } = await read('?action=workspace.set_visibility');
    expect(status).toBe(200);
    expect(body.items).toEqual([
      {
        id: expect.any(String),
        time: expect.stringMatching(/^\d{4}-.*Z$/),
        actor: { type: 'user', id: ada.id, name: 'Ada' },
        on_behalf_of_id: null,
        credential: { type: 'session', id: expect.any(String) },
        action: 'workspace.set_visibility',
        target: { type: 'workspace', id: workspace },
        organization_id: ada.organizationId,
        workspace_id: workspace,
        details: { visibility: { from: 'org', to: 'private' } },
        address: '127.0.0.1',
        user_agent: 'audit-test/1',
        request_id: 'request-1',
      },
    ]);
  });

  it('shows the newest first, page by page', async () => {
    const all = actionsOf((await read(`?target_id=${workspace}`)).body);
    expect(all).toEqual(['workspace.update', 'workspace.set_visibility', 'workspace.create']);
    const first = (await read(`?target_id=${workspace}&limit=2`)).body;
    const second = (await read(`?target_id=${workspace}&limit=2&cursor=${first.next_cursor}`)).body;
    expect([...actionsOf(first), ...actionsOf(second)]).toEqual(all);
    expect(second.next_cursor).toBeNull();
  });

  it('can be narrowed by actor, kind of target and time', async () => {
    expect((await read(`?actor_id=${member.id}`)).body.items).toEqual([]);
    expect((await read(`?actor_id=${ada.id}&target_type=workspace`)).body.items).toHaveLength(3);
    const { time } = (await read('?action=workspace.set_visibility')).body.items[0];
    const from = (await read(`?target_id=${workspace}&from=${time}`)).body;
    const to = (await read(`?target_id=${workspace}&to=${time}`)).body;
    expect(actionsOf(from)).toEqual(expect.arrayContaining(['workspace.set_visibility', 'workspace.update']));
    expect(actionsOf(to)).not.toContain('workspace.set_visibility');
    const week = await read('?from=2026-W10');
    expect(week.status).toBe(422);
    expect(week.body.detail).toMatch(/^from /);
  });

  it('is closed to members, and unknown to strangers', async () => {
    const path = `/api/organizations/${ada.organizationId}/audit`;
    expect((await member.client.get(path)).status).toBe(403);
    expect((await stranger.client.get(path)).status).toBe(404);
    expect((await service.stranger.get(path)).status).toBe(401);
  });

  it('takes the scope audit:read of a key', async () => {
    const path = `/api/organizations/${ada.organizationId}/audit`;
    expect((await (await service.key(ada, { scopes: ['audit:read'] })).get(path)).status).toBe(200);
    expect((await (await service.key(ada, { scopes: ['organizations:read'] })).get(path)).status).toBe(403);
  });
});

it('names the key that was used', async () => {
  const key = await service.key(ada);
  const { id } = (await key.post('/api/workspaces', { name: 'By key' })).body;
  const { items } = (await read(`?target_id=${id}`)).body;
  expect(items[0].credential.type).toBe('api_key');
});

it('keeps nothing of a change that was undone', async () => {
  const audit = service.app.get(Audit, { strict: false });
  const database = service.app.get(Database, { strict: false });
  const undone = database.transaction(async unit => {
    const { organizationId: id } = ada;
    await audit.record(unit, null, 'undone', { type: 'organization', id, organization_id: id });
    throw new Error('undone');
  });
  await expect(undone).rejects.toThrow('undone');
  expect((await read('?action=undone')).body.items).toEqual([]);
});

it('records what the service does by itself, without a request', async () => {
  const database = service.app.get(Database, { strict: false });
  const target = { type: 'organization', id: ada.organizationId, organization_id: ada.organizationId };
  await database.transaction(unit =>
    service.app.get(Audit, { strict: false }).record(unit, null, 'by_itself', target),
  );
  const [entry] = (await read('?action=by_itself')).body.items;
  expect(entry).toMatchObject({ actor: null, credential: null, address: null, request_id: null });
});

describe('an entry', () => {
  it.each([
    ['changed', "update audit_entry set action = 'nothing'"],
    ['deleted', 'delete from audit_entry'],
    ['truncated away', 'truncate audit_entry'],
  ])('cannot be %s', async (_how, statement) => {
    await expect(service.database.query(statement)).rejects.toThrow('append-only');
  });

  it('outlives the workspace and the organization it tells of', async () => {
    const { body } = await ada.client.post('/api/organizations', { name: 'Short-lived' });
    const inside = await ada.client.post('/api/workspaces', { name: 'Inside', organization_id: body.id });
    await ada.client.delete(`/api/workspaces/${inside.body.id}`);
    const log = (await ada.client.get(`/api/organizations/${body.id}/audit`)).body;
    expect(actionsOf(log)).toEqual(expect.arrayContaining(['workspace.delete', 'workspace.create']));
    expect((await ada.client.delete(`/api/organizations/${body.id}`)).status).toBe(200);
    const left = await service.database.query('select 1 from audit_entry where organization_id = $1', [
      body.id,
    ]);
    expect(left.length).toBeGreaterThanOrEqual(2);
  });
});

describe('a credential that is limited to workspaces', () => {
  it('is told of these alone, in the audit log and in the sums of usage', async () => {
    const [seen, unseen] = [await service.workspace(ada), await service.workspace(ada, { name: 'Hidden' })];
    const key = await service.key(ada, { workspace_ids: [seen] });
    const query = `/api/organizations/${ada.organizationId}/audit?limit=200`;
    const { status, body } = await key.get(query);
    expect(status).toBe(200);
    expect(body.items.length).toBeGreaterThan(0);
    expect(new Set(body.items.map((entry: Json) => entry.workspace_id))).toEqual(new Set([seen]));
    expect((await key.get(`${query}&target_id=${unseen}`)).body.items).toEqual([]);
    expect((await ada.client.get(`${query}&target_id=${unseen}`)).body.items).not.toEqual([]);
    for (const workspace of [seen, unseen])
      await service.database.query(
        `insert into usage_entry (time, organization_id, workspace_id, actor_id, kind, cost_usd)
        values (now(), $1, $2, $3, 'model_call', 1)`,
        [ada.organizationId, workspace, ada.id],
      );
    const usage = `/api/organizations/${ada.organizationId}/billing`;
    const grouped = (await key.get(`${usage}/usage?group_by=workspace`)).body;
    expect(grouped.items.map((group: Json) => group.key)).toEqual([seen]);
    expect(grouped.total.spend_usd).toBe(1);
    expect((await key.get(usage)).body).toMatchObject({ usage: { spend_usd: 1 }, budget: null });
    expect((await ada.client.get(`${usage}/usage?group_by=workspace`)).body.total.spend_usd).toBe(2);
  });
});
