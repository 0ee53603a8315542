import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ORGANIZATION_ROLES } from '../../../src/platform/access/index.js';
import { AgentClient } from '../../harness/agent.js';
import { Browser } from '../../harness/browser.js';
import { Client, type Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let owner: Person;
let admin: Person;
let member: Person;
let guest: Person;
let stranger: Person;
let organization: string;

beforeAll(async () => {
  service = await TestService.start({ ORGANIZATION_CREATION: 'anyone' });
  owner = await service.person('Owner');
  organization = owner.organizationId;
  [admin, member, guest, stranger] = (await Promise.all(
    ['Admin', 'Member', 'Guest', 'Stranger'].map(name => service.person(name)),
  )) as [Person, Person, Person, Person];
  await service.join(admin, { organization, role: 'admin' });
  await service.join(member, { organization, role: 'member' });
  await service.join(guest, { organization, role: 'guest' });
});
afterAll(() => service.stop());

const at = (path: string) => `/api/organizations/${organization}${path}`;
const roleIn = async (person: Person, id = organization) =>
  (
    await service.database.query(
      'select role from organization_member where organization_id = $1 and user_id = $2',
      [id, person.id],
    )
  )[0]?.role;

/** An organization of its own with the given number of owners. */
async function organizationWith(owners: number): Promise<{ id: string; people: Person[] }> {
  const people = await Promise.all(Array.from({ length: owners }, () => service.person('Owner')));
  const [first] = people as [Person];
  const { body } = await first.client.post('/api/organizations', { name: 'Shared' });
  await Promise.all(
    people.slice(1).map(person => service.join(person, { organization: body.id, role: 'owner' })),
  );
  return { id: body.id, people };
}

const ownersOf = async (id: string) =>
  Number(
    (
      await service.database.query(
        `select count(*) from organization_member where organization_id = $1 and role = 'owner'`,
        [id],
      )
    )[0]?.count,
  );

describe('members', () => {
  it('are listed to members, page by page, and to nobody else', async () => {
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await member.client.get(at(`/members?limit=2${cursor && `&cursor=${cursor}`}`));
      seen.push(...body.items.map((item: Json) => item.user_id));
      cursor = body.next_cursor;
      if (!cursor) break;
    }
    expect([...seen].sort()).toEqual([owner.id, admin.id, member.id, guest.id].sort());
    expect((await guest.client.get(at('/members'))).status).toBe(403);
    expect((await stranger.client.get(at('/members'))).status).toBe(404);
  });

  it('get a role not above that of whoever gives it', async () => {
    expect((await admin.client.patch(at(`/members/${guest.id}`), { role: 'owner' })).status).toBe(403);
    expect((await admin.client.patch(at(`/members/${owner.id}`), { role: 'member' })).status).toBe(403);
    expect((await admin.client.delete(at(`/members/${owner.id}`))).status).toBe(403);
    expect((await member.client.patch(at(`/members/${guest.id}`), { role: 'member' })).status).toBe(403);
    expect((await admin.client.patch(at(`/members/${guest.id}`), { role: 'member' })).body.role).toBe(
      'member',
    );
    expect((await admin.client.patch(at(`/members/${guest.id}`), { role: 'guest' })).body.role).toBe('guest');
    expect((await admin.client.patch(at(`/members/${stranger.id}`), { role: 'guest' })).status).toBe(404);
  });

  it('lose access at once when removed, and their keys bound to the organization with it', async () => {
    const leaver = await service.person('Leaver');
    const workspace = await service.workspace(owner, { visibility: 'restricted' });
    await service.join(leaver, { organization, role: 'member', workspace, workspaceRole: 'admin' });
    const bound = await service.key(leaver, { organization_id: organization });
    const free = await service.key(leaver);
    expect((await bound.get(`/api/workspaces/${workspace}`)).status).toBe(200);
    expect((await admin.client.delete(at(`/members/${leaver.id}`))).body).toEqual({
      user_id: leaver.id,
      removed: true,
    });
    expect((await bound.get('/api/auth/principal')).status).toBe(401);
    expect((await free.get(`/api/workspaces/${workspace}`)).status).toBe(404);
    expect((await leaver.client.get(at(''))).status).toBe(404);
    await service.join(leaver, { organization, role: 'member' });
    expect((await leaver.client.get(`/api/workspaces/${workspace}`)).status).toBe(404);
  });

  it('hand an organization over', async () => {
    const { id, people } = await organizationWith(1);
    const [founder] = people as [Person];
    await service.join(member, { organization: id, role: 'member' });
    expect(
      (await founder.client.post(`/api/organizations/${id}/transfer`, { user_id: member.id })).body.role,
    ).toBe('owner');
    expect([await roleIn(founder, id), await roleIn(member, id)]).toEqual(['admin', 'owner']);
    expect(
      (await founder.client.post(`/api/organizations/${id}/transfer`, { user_id: member.id })).status,
    ).toBe(403);
  });

  it('see the matrix that the policy table says', async () => {
    const { body } = await guest.client.get(at('/roles'));
    const create = body.organization.find((rule: Json) => rule.permission === 'workspace.create');
    expect(create.roles).toEqual(['owner', 'admin', 'member']);
    expect(body.workspace.find((rule: Json) => rule.permission === 'file.write').roles).toEqual([
      'admin',
      'editor',
    ]);
  });
});

describe('the last owner', () => {
  it('can neither leave, nor be removed, nor step down', async () => {
    const { id, people } = await organizationWith(1);
    const [sole] = people as [Person];
    expect((await sole.client.post(`/api/organizations/${id}/leave`)).status).toBe(409);
    expect((await sole.client.delete(`/api/organizations/${id}/members/${sole.id}`)).status).toBe(409);
    expect(
      (await sole.client.patch(`/api/organizations/${id}/members/${sole.id}`, { role: 'admin' })).status,
    ).toBe(409);
  });

  it('remains, whatever owners do to themselves and each other at the same instant', async () => {
    const move = fc.record({
      by: fc.nat(2),
      on: fc.nat(2),
      what: fc.constantFrom('demote', 'remove', 'leave', 'transfer'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(move, { minLength: 2, maxLength: 6 }), async moves => {
        const { id, people } = await organizationWith(3);
        const base = `/api/organizations/${id}`;
        await Promise.all(
          moves.map(({ by, on, what }) => {
            const [actor, target] = [people[by], people[on]] as [Person, Person];
            if (what === 'leave') return actor.client.post(`${base}/leave`);
            if (what === 'transfer') return actor.client.post(`${base}/transfer`, { user_id: target.id });
            if (what === 'remove') return actor.client.delete(`${base}/members/${target.id}`);
            return actor.client.patch(`${base}/members/${target.id}`, { role: 'member' });
          }),
        );
        expect(await ownersOf(id)).toBeGreaterThanOrEqual(1);
      }),
      { seed: 1, numRuns: 15 },
    );
  });
});

describe('invitations', () => {
  const invite = (by: Person, input: Json) => by.client.post(at('/invitations'), input);
  const tokenOf = (link: string) => link.split('/').at(-1);

  it('make an account for a person without one, once', async () => {
    const { body } = await invite(admin, { email: 'New.Person@example.com', role: 'member' });
    expect(body).toMatchObject({
      email: 'new.person@example.com',
      role: 'member',
      status: 'pending',
      mailed: false,
    });
    const token = tokenOf(body.link);
    const preview = await service.stranger.get(`/api/invitations/${token}`);
    expect(preview.body).toMatchObject({
      invited_by_name: 'Admin',
      email: 'new.person@example.com',
      status: 'pending',
    });
    const accept = () =>
      service.stranger.post(`/api/invitations/${token}/accept`, { name: 'New', password: 'correct horse' });
    const answers = await Promise.all([accept(), accept(), accept()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    const login = await service.stranger.post('/api/auth/login', {
      email: 'new.person@example.com',
      password: 'correct horse',
    });
    const client = new Client(service.url, { authorization: `Bearer ${login.body.access_token}` });
    expect((await client.get(at(''))).body.role).toBe('member');
  });

  it('are accepted by the invited account alone', async () => {
    const invitee = await service.person('Invitee');
    const { body } = await invite(admin, { email: invitee.email, role: 'guest' });
    const path = `/api/invitations/${tokenOf(body.link)}/accept`;
    expect((await stranger.client.post(path)).status).toBe(403);
    expect((await service.stranger.post(path, { name: 'X', password: 'correct horse' })).status).toBe(403);
    expect((await invitee.client.post(path)).body).toMatchObject({
      organization_id: organization,
      role: 'guest',
      account_created: false,
    });
    expect((await invitee.client.post(path)).status).toBe(409);
  });

  it('are refused at their page without its form, and twice', async () => {
    const { body } = await invite(admin, { email: 'page@example.com' });
    const { pathname } = new URL(body.link);
    const browser = new Browser(service.url);
    const page = await browser.open(pathname);
    const fields = { name: 'Page', password: 'correct horse' };
    const forged = await browser.send(`${pathname}/accept`, fields);
    expect([forged.status, forged.html.includes('does not come from the page')]).toEqual([403, true]);
    expect((await browser.send(`${pathname}/decline`, {})).status).toBe(403);
    const short = await browser.submit(page, '/accept', { ...fields, password: 'short' });
    expect([short.status, short.html.includes('value="Page"')]).toEqual([422, true]);
    const blank = await browser.submit(page, '/accept', { ...fields, name: ' ' });
    expect(blank.html).toContain('Tell your name');
    const answers = await Promise.all([1, 2].map(() => browser.submit(page, '/accept', fields)));
    for (const { status, html } of answers) {
      expect(status).toBe(200);
      expect(html).toMatch(/You are in |This invitation was accepted/);
    }
    expect((await browser.open(pathname)).html).toContain('You are in ');
    const stranger = await new Browser(service.url).open('/invitations/nonsense');
    expect([stranger.status, stranger.html.includes('There is no such invitation')]).toEqual([404, true]);
  });

  it('carry no role above the inviter, now or when they are accepted', async () => {
    expect((await invite(admin, { email: 'boss@example.com', role: 'owner' })).status).toBe(403);
    expect((await invite(member, { email: 'pal@example.com' })).status).toBe(403);
    expect((await invite(stranger, { email: 'pal@example.com' })).status).toBe(404);
    const fallen = await service.person('Fallen');
    await service.join(fallen, { organization, role: 'owner' });
    const { body } = await invite(fallen, { email: 'late@example.com', role: 'owner' });
    await service.join(fallen, { organization, role: 'admin' });
    const accepted = await service.stranger.post(`/api/invitations/${tokenOf(body.link)}/accept`, {
      name: 'Late',
      password: 'correct horse',
    });
    expect(accepted.status).toBe(409);
    await owner.client.delete(at(`/members/${fallen.id}`));
  });

  it('are open once per address, also when two are sent at once', async () => {
    const send = () => invite(admin, { email: 'once@example.com' });
    const answers = await Promise.all([send(), send(), send()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect((await invite(admin, { email: member.email })).status).toBe(409);
  });

  it('can be sent again, which voids the old link; declined; withdrawn; and they expire', async () => {
    const { body } = await invite(admin, { email: 'again@example.com' });
    const { body: again } = await admin.client.post(at(`/invitations/${body.id}/resend`));
    expect((await service.stranger.get(`/api/invitations/${tokenOf(body.link)}`)).status).toBe(404);
    const token = tokenOf(again.link);
    await service.database.query(
      `update invitation set expires_at = now() - interval '1 second' where id = $1`,
      [body.id],
    );
    expect((await service.stranger.get(`/api/invitations/${token}`)).body.status).toBe('expired');
    expect((await service.stranger.post(`/api/invitations/${token}/decline`)).status).toBe(410);
    const { body: fresh } = await admin.client.post(at(`/invitations/${body.id}/resend`));
    expect((await service.stranger.post(`/api/invitations/${tokenOf(fresh.link)}/decline`)).body).toEqual({
      declined: true,
    });
    expect((await admin.client.post(at(`/invitations/${body.id}/resend`))).status).toBe(409);

    const { body: other } = await invite(admin, { email: 'gone@example.com' });
    expect((await admin.client.delete(at(`/invitations/${other.id}`))).body).toEqual({
      id: other.id,
      deleted: true,
    });
    const late = await service.stranger.post(`/api/invitations/${tokenOf(other.link)}/accept`, {
      name: 'X',
      password: 'correct horse',
    });
    expect(late.status).toBe(410);
  });

  it('keep no token in the database, nor in the list', async () => {
    const { body } = await invite(admin, { email: 'secret@example.com' });
    const rows = await service.database.query('select * from invitation');
    expect(JSON.stringify(rows)).not.toContain(tokenOf(body.link));
    expect(JSON.stringify((await admin.client.get(at('/invitations?limit=200'))).body)).not.toContain(
      tokenOf(body.link),
    );
  });
});

describe('service accounts', () => {
  const create = (by: Person, input: Json = {}) =>
    by.client.post('/api/service-accounts', { organization_id: organization, name: 'Bot', ...input });
  const keyOf = async (by: Person, id: string, limits: Json = {}) => {
    const { body } = await by.client.post(`/api/service-accounts/${id}/keys`, { name: 'CI', ...limits });
    return new Client(service.url, { 'x-api-key': body.api_key });
  };

  it('act as themselves, in their organization alone', async () => {
    const { body: account } = await create(admin);
    expect(account).toMatchObject({
      role: 'member',
      effective_role: 'member',
      status: 'active',
      sponsor_id: admin.id,
    });
    const key = await keyOf(admin, account.id);
    expect((await key.get('/api/auth/principal')).body).toMatchObject({
      type: 'service_account',
      id: account.id,
      name: 'Bot',
      email: null,
      organization_id: organization,
      role: 'member',
      credential: { type: 'api_key' },
    });
    const { body: made } = await key.post('/api/workspaces', { name: 'Made by a bot' });
    expect(made).toMatchObject({ organization_id: organization, created_by: account.id, role: 'admin' });
    const sent = await key.post('/api/agent/message', { workspace_id: made.id, message: 'write a.txt: hi' });
    expect((await new AgentClient(key).ended(sent.body)).status).toBe('completed');
    expect((await key.get('/api/auth/me')).status).toBe(403);
    expect((await key.post('/api/organizations', { name: 'Mine' })).status).toBe(403);
  });

  it('get no role above the caller: when made, when changed, and never more than the sponsor has right now', async () => {
    expect((await create(admin, { role: 'owner' })).status).toBe(403);
    expect((await create(member)).status).toBe(403);
    expect((await create(stranger)).status).toBe(404);
    const { body: account } = await create(admin, { role: 'admin' });
    expect((await admin.client.patch(`/api/service-accounts/${account.id}`, { role: 'owner' })).status).toBe(
      403,
    );
    const key = await keyOf(admin, account.id);
    expect((await key.get(at('/invitations'))).status).toBe(200);
    await service.join(admin, { organization, role: 'member' });
    expect((await key.get('/api/auth/principal')).body.role).toBe('member');
    expect((await key.get(at('/invitations'))).status).toBe(403);
    await service.join(admin, { organization, role: 'admin' });
    expect((await key.get(at('/invitations'))).status).toBe(200);
  });

  it('that stand above an admin are out of their reach, keys and all', async () => {
    const { body: account } = await create(owner, { role: 'owner' });
    const path = `/api/service-accounts/${account.id}`;
    expect((await admin.client.get(path)).status).toBe(200);
    expect((await admin.client.post(`${path}/keys`, { name: 'steal' })).status).toBe(403);
    expect((await admin.client.patch(path, { name: 'Mine' })).status).toBe(403);
    expect((await admin.client.post(`${path}/adopt`)).status).toBe(403);
    expect((await admin.client.delete(path)).status).toBe(403);
    expect((await owner.client.delete(path)).status).toBe(200);
  });

  it('can do nothing once their sponsor has left, until somebody adopts them', async () => {
    const sponsor = await service.person('Sponsor');
    await service.join(sponsor, { organization, role: 'admin' });
    const { body: account } = await create(sponsor);
    const key = await keyOf(sponsor, account.id);
    await sponsor.client.post(at('/leave'));
    expect((await key.get('/api/auth/principal')).body.role).toBeNull();
    expect((await key.get(at(''))).status).toBe(404);
    expect((await admin.client.get(`/api/service-accounts/${account.id}`)).body).toMatchObject({
      status: 'suspended',
      effective_role: null,
    });
    expect((await admin.client.post(`/api/service-accounts/${account.id}/adopt`)).body).toMatchObject({
      status: 'active',
      sponsor_id: admin.id,
    });
    expect((await key.get(at(''))).status).toBe(200);
  });

  it('lose their keys when deleted', async () => {
    const { body: account } = await create(admin);
    const key = await keyOf(admin, account.id);
    await admin.client.delete(`/api/service-accounts/${account.id}`);
    expect((await key.get('/api/auth/principal')).status).toBe(401);
  });

  it('have the lower of two roles in SQL as in the table of roles', async () => {
    const role = fc.constantFrom(...ORGANIZATION_ROLES);
    await fc.assert(
      fc.asyncProperty(role, role, async (given, sponsors) => {
        const [row] = await service.database.query('select lower_role($1, $2) as role', [given, sponsors]);
        const rank = (name: string) => (ORGANIZATION_ROLES as readonly string[]).indexOf(name);
        expect(rank(row?.role)).toBe(Math.max(rank(given), rank(sponsors)));
      }),
      { seed: 1, numRuns: 30 },
    );
  });
});

describe('keys', () => {
  it('cannot make a key that may do more than themselves', async () => {
    const { body: account } = await owner.client.post('/api/service-accounts', {
      organization_id: organization,
      name: 'Bot',
      role: 'admin',
    });
    const limited = await service.key(owner, { scopes: ['service_accounts:write', 'service_accounts:read'] });
    const path = `/api/service-accounts/${account.id}/keys`;
    expect((await limited.post(path, { name: 'all' })).status).toBe(403);
    expect((await limited.post(path, { name: 'more', scopes: ['files:write'] })).status).toBe(403);
    expect((await limited.post(path, { name: 'less', scopes: ['service_accounts:read'] })).status).toBe(200);
  });

  it('rotate with an overlap, once', async () => {
    const { body: old } = await member.client.post('/api/keys', { name: 'CI', scopes: ['workspaces:read'] });
    const rotate = () => member.client.post(`/api/keys/${old.id}/rotate`, { overlap_seconds: 60 });
    const answers = await Promise.all([rotate(), rotate()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const next = answers.find(({ status }) => status === 200)?.body;
    expect(next).toMatchObject({ name: 'CI', scopes: ['workspaces:read'] });
    for (const key of [old.api_key, next.api_key])
      expect((await new Client(service.url, { 'x-api-key': key }).get('/api/workspaces')).status).toBe(200);
    await service.database.query(`update api_key set expires_at = now() where id = $1`, [old.id]);
    expect((await new Client(service.url, { 'x-api-key': old.api_key }).get('/api/workspaces')).status).toBe(
      401,
    );
  });

  it('are changed by their owner, signed in', async () => {
    const { body } = await member.client.post('/api/keys', { name: 'CI' });
    const changed = await member.client.patch(`/api/keys/${body.id}`, { name: 'CD', scopes: ['files:read'] });
    expect(changed.body).toMatchObject({ name: 'CD', scopes: ['files:read'] });
    const key = new Client(service.url, { 'x-api-key': body.api_key });
    expect((await key.patch(`/api/keys/${body.id}`, { scopes: null })).status).toBe(403);
    expect((await owner.client.patch(`/api/keys/${body.id}`, { name: 'Mine' })).status).toBe(404);
  });
});

describe('members of a workspace', () => {
  it('are added from the organization, get another role, and are taken out', async () => {
    const workspace = await service.workspace(owner, { visibility: 'restricted' });
    const path = `/api/workspaces/${workspace}/members/${guest.id}`;
    expect((await guest.client.get(`/api/workspaces/${workspace}`)).status).toBe(404);
    expect((await owner.client.put(path, { role: 'viewer' })).body).toMatchObject({
      type: 'user',
      role: 'viewer',
      organization_role: 'guest',
    });
    expect((await guest.client.get(`/api/workspaces/${workspace}`)).body.role).toBe('viewer');
    expect((await guest.client.put(path, { role: 'admin' })).status).toBe(403);
    expect((await owner.client.put(path, { role: 'editor' })).body.role).toBe('editor');
    const members = (await owner.client.get(`/api/workspaces/${workspace}/members`)).body.items;
    expect(members.map(({ user_id, role }: Json) => [user_id, role]).sort()).toEqual(
      [
        [guest.id, 'editor'],
        [owner.id, 'admin'],
      ].sort(),
    );
    expect(
      (await owner.client.put(`/api/workspaces/${workspace}/members/${stranger.id}`, { role: 'viewer' }))
        .status,
    ).toBe(404);
    expect((await owner.client.delete(path)).body).toEqual({ user_id: guest.id, removed: true });
    expect((await guest.client.get(`/api/workspaces/${workspace}`)).status).toBe(404);
  });

  it('are listed with who made it, who stays its admin', async () => {
    const workspace = await service.workspace(member, {
      organization_id: organization,
      visibility: 'restricted',
    });
    const path = `/api/workspaces/${workspace}/members`;
    const [created] = (await member.client.get(path)).body.items;
    expect(created).toMatchObject({ user_id: member.id, role: 'admin' });
    const own = `${path}/${member.id}`;
    expect((await owner.client.put(own, { role: 'viewer' })).status).toBe(409);
    expect((await owner.client.delete(own)).status).toBe(409);
    expect((await owner.client.put(own, { role: 'admin' })).status).toBe(200);
    const second = await owner.client.get(`${path}?limit=1`);
    expect([second.body.items.length, second.body.next_cursor]).toEqual([1, null]);
  });

  it('are none in a private one but who made it', async () => {
    const workspace = await service.workspace(owner, { visibility: 'private' });
    const { items } = (await owner.client.get(`/api/workspaces/${workspace}/members`)).body;
    expect(items.map(({ user_id }: Json) => user_id)).toEqual([owner.id]);
    expect(
      (await owner.client.put(`/api/workspaces/${workspace}/members/${guest.id}`, { role: 'viewer' })).status,
    ).toBe(409);
  });
});

describe('the audit log', () => {
  it('tells who changed access, through what, and on what', async () => {
    const { body } = await owner.client.get(at('/audit?limit=200'));
    const actions = new Set(body.items.map((item: Json) => item.action));
    for (const action of [
      'member.set_role',
      'member.remove',
      'member.leave',
      'invitation.create',
      'service_account.create',
      'key.create',
      'workspace_member.put',
    ])
      expect(actions).toContain(action);
  });
});
