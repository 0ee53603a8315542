import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApprovalRequests } from '../../../src/agents/approvals/index.js';
import { DueDeliveries } from '../../../src/automation/notifications/delivery/due-deliveries.js';
import { budgetStopped } from '../../../src/identity/billing/index.js';
import type { Actor } from '../../../src/platform/access/index.js';
import { Database, newId } from '../../../src/platform/database/index.js';
import { type EventKind, Events } from '../../../src/platform/events/index.js';
import { shareUploaded } from '../../../src/publishing/share/index.js';
import { FakeSmtpServer } from '../../fakes/smtp-server.js';
import { Client, type Json, type StreamEvent } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';
import { settled as jobsSettled } from '../../harness/settled.js';

let smtp: FakeSmtpServer;
let service: TestService;
let stranger: Person;

beforeAll(async () => {
  smtp = await FakeSmtpServer.start();
  service = await TestService.start({ SMTP_URL: smtp.url });
  stranger = await service.person('Mallory');
});
afterAll(async () => {
  await service.stop();
  await smtp.stop();
});

/** A person with a workspace, whom no other test knows. */
async function ada(): Promise<Person & { workspace: string }> {
  const person = await service.person('Ada');
  await service.database.query('update "user" set email_verified_at = now() where id = $1', [person.id]);
  return { ...person, workspace: await service.workspace(person) };
}

const actorOf = ({ id, email }: Person): Actor => ({
  type: 'user',
  id,
  name: 'Ada',
  email,
  credential: {
    type: 'session',
    id,
    scopes: null,
    expires_at: null,
    organization_id: null,
    workspace_ids: null,
  },
});

let asked = 0;
/** A program asks a person about a call; returns the id of the question. */
async function ask(person: Person, seconds?: number): Promise<string> {
  const { id } = await service.app.get(ApprovalRequests, { strict: false }).request({
    actor: actorOf(person),
    organizationId: null,
    workspaceId: null,
    tool: 'share_create',
    effect: 'expose',
    input: { number: ++asked },
    clientName: 'A robot',
    seconds,
  });
  await settled();
  return id;
}

async function publish<P extends object>(event: EventKind<P>, ...facts: P[]): Promise<void> {
  const [database, events] = [Database, Events].map(it =>
    service.app.get(it as never, { strict: false }),
  ) as [Database, Events];
  await Promise.all(facts.map(one => database.transaction(unit => events.publish(unit, event, one))));
  await settled();
}

/** Somebody has put files into a folder that `person` shares. */
const upload = (person: Person & { workspace: string }, times = 1, workspace = person.workspace) =>
  publish(
    shareUploaded,
    ...Array.from({ length: times }, (_, index) => ({
      id: newId(),
      share_id: newId(),
      organization_id: person.organizationId,
      workspace_id: workspace,
      path: 'in',
      created_by: person.id,
      files: index + 1,
    })),
  );

const settled = () => jobsSettled(service, 'notifications', 'mail');

/** The time has come for all that is held. */
async function due(): Promise<void> {
  await service.database.query("update digest set send_at = now() where state = 'open'");
  await service.database.query(
    "update notification_delivery set next_at = now() where state = 'held' and next_at is not null",
  );
  // The service takes some by itself, and is done with them when its transaction is.
  const left = () =>
    service.database.query(
      `select from notification_delivery where state = 'held' and next_at <= now()
       union all select from digest where state = 'open' and send_at <= now()`,
    );
  const deliveries = service.app.get(DueDeliveries, { strict: false });
  do await deliveries.take();
  while ((await left()).length > 0);
  await settled();
}

const inbox = async (person: Person, query = ''): Promise<Json> =>
  (await person.client.get(`/api/notifications${query}`)).body;
const prefer = (person: Person, ...preferences: Json[]) =>
  person.client.put('/api/notifications/preferences', {
    preferences: preferences.map(one => ({ scope: 'all', channel: 'mail', mode: 'on', ...one })),
  });
const mailsTo = ({ email }: Person, subject: RegExp) =>
  smtp.mails.filter(({ to, headers }) => to.includes(email) && subject.test(headers.get('subject') ?? ''));
const deliveriesTo = (person: Person) =>
  service.database.query<Json>(
    `select d.state, d.reason from notification_delivery d join notification n on n.id = d.notification_id
     where n.user_id = $1 and d.channel = 'mail' order by n.number`,
    [person.id],
  );

describe('the inbox', () => {
  it('has what happened, newest first, a page at a time, with how many are unread', async () => {
    const person = await ada();
    const first = await ask(person);
    const second = await ask(person);
    const { items, unread_count, next_cursor } = await inbox(person, '?limit=1');
    expect([items.length, items[0].data.approval_id, unread_count]).toEqual([1, second, 2]);
    expect(items[0]).toMatchObject({
      type: 'approval.requested',
      category: 'approval',
      severity: 'warning',
      read_at: null,
      title: 'A robot asks to call share_create',
      link: expect.stringContaining(`/approvals/${second}`),
    });
    const rest = await inbox(person, `?limit=1&cursor=${next_cursor}`);
    expect([rest.items[0].data.approval_id, rest.next_cursor]).toEqual([first, null]);
    expect(mailsTo(person, /A robot asks/)).toHaveLength(2);
  });

  it('is filtered, read, unread and put away', async () => {
    const person = await ada();
    await upload(person);
    await ask(person);
    const [approval, share] = (await inbox(person)).items;
    const post = (path: string, body?: Json) => person.client.post(`/api/notifications/${path}`, body);
    expect((await post(`${approval.id}/read`)).body.read_at).not.toBeNull();
    const ids = async (query: string) => (await inbox(person, query)).items.map(({ id }: Json) => id);
    expect(await ids('?unread=true')).toEqual([share.id]);
    expect(await ids('?category=approval')).toEqual([approval.id]);
    expect(await ids(`?workspace_id=${person.workspace}`)).toEqual([share.id]);
    expect((await post(`${approval.id}/unread`)).body.read_at).toBeNull();
    expect((await post(`${share.id}/archive`)).body.archived_at).not.toBeNull();
    expect([await ids(''), await ids('?archived=true')]).toEqual([[approval.id], [share.id]]);
    expect((await inbox(person)).unread_count).toBe(1);
    expect((await post('read-all', { category: 'share' })).body).toEqual({ unread_count: 1 });
    expect((await post('read-all', { before: '2020-01-01T00:00:00Z' })).body).toEqual({ unread_count: 1 });
    expect((await post('read-all')).body).toEqual({ unread_count: 0 });
  });

  it('is the person’s own', async () => {
    const person = await ada();
    await ask(person);
    const [{ id }] = (await inbox(person)).items;
    expect(await inbox(stranger)).toEqual({ items: [], next_cursor: null, unread_count: 0 });
    for (const what of ['read', 'unread', 'archive'])
      expect((await stranger.client.post(`/api/notifications/${id}/${what}`)).status).toBe(404);
    const bound = await service.key(person, { organization_id: person.organizationId });
    expect((await bound.get('/api/notifications')).body.items).toEqual([]);
    const narrow = await service.key(person, { scopes: ['files:read'] });
    expect((await narrow.get('/api/notifications')).status).toBe(403);
  });

  it('takes two callers at once', async () => {
    const person = await ada();
    await ask(person);
    const [{ id }] = (await inbox(person)).items;
    const answers = await Promise.all([
      ...[1, 2, 3].map(() => person.client.post(`/api/notifications/${id}/read`)),
      ...[1, 2].map(() => person.client.post('/api/notifications/read-all')),
      ...['on', 'digest'].map(mode => prefer(person, { type: 'run', mode })),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const [kept, ...others] = (await person.client.get('/api/notifications/preferences')).body.preferences;
    expect([['on', 'digest'].includes(kept.mode), others]).toEqual([true, []]);
  });

  it('streams what comes, and the count after all was read in another session', async () => {
    const person = await ada();
    await ask(person);
    const { email, password } = person;
    const { body } = await service.stranger.post('/api/auth/login', { email, password });
    const other = new Client(service.url, { authorization: `Bearer ${body.access_token}` });
    const steps: Record<string, () => Promise<unknown>> = {
      'count 1': () => ask(person),
      'count 2': () => other.post('/api/notifications/read-all'),
    };
    const seen: string[] = [];
    const told = await person.client.events('/api/notifications/events', {
      until: ({ event, data }: StreamEvent) => {
        const name = event === 'count' ? `count ${data.unread_count}` : event;
        if (!seen.includes(name)) void steps[name]?.();
        seen.push(name);
        return name === 'count 0';
      },
    });
    expect(seen.filter((name, at) => name !== seen[at - 1])).toEqual([
      'count 1',
      'notification',
      'count 2',
      'count 0',
    ]);
    const numbers = told.map(({ id }) => id);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    const after = told.find(({ event }) => event === 'count')?.id;
    const again = await person.client.events(`/api/notifications/events?after=${after}`, {
      until: ({ event }: StreamEvent) => event === 'count',
    });
    expect(again.map(({ event }) => event)).toEqual(['notification', 'count']);
  });
});

describe('preferences', () => {
  it('are kept, and decide in their order', async () => {
    const person = await ada();
    const scope = person.organizationId;
    const said = [
      { scope: 'all', type: 'run', channel: 'mail', mode: 'digest' },
      { scope, type: 'run.failed', channel: 'mail', mode: 'on' },
    ];
    const { body } = await prefer(person, ...said);
    expect(body.preferences).toEqual(expect.arrayContaining(said));
    const path = '/api/notifications/preferences';
    const read = async (query = '') =>
      (await person.client.get(`${path}${query}`)).body.matrix.find(
        ({ type, channel }: Json) => type === 'run.failed' && channel === 'mail',
      );
    expect(await read()).toMatchObject({ mode: 'digest', decided_by: 'category' });
    expect(await read(`?organization_id=${scope}`)).toMatchObject({
      mode: 'on',
      decided_by: 'organization_type',
    });
    expect((await stranger.client.get(`${path}?organization_id=${scope}`)).status).toBe(404);
    expect((await prefer(stranger, { scope, type: 'run' })).status).toBe(404);
    const types = (await person.client.get('/api/notifications/types')).body.items;
    expect(types.map(({ type }: Json) => type)).toContain('run.failed');
  });

  it.each<[string, Json, RegExp]>([
    ['approvals off', { type: 'approval.requested', channel: 'in_app', mode: 'off' }, /nobody sees/],
    ['approvals off as a category', { type: 'approval', channel: 'in_app', mode: 'off' }, /nobody sees/],
    ['security off', { type: 'security.signed_in', mode: 'off' }, /cannot be turned off/],
    ['a digest by push', { type: 'run', channel: 'push', mode: 'digest' }, /must be one of on, off/],
    ['an unknown type', { type: 'run.unknown' }, /type must be one of/],
    ['an unknown scope', { type: 'run', scope: 'mine' }, /scope must be all/],
  ])('refuse %s', async (_, preference, detail) => {
    const { status, body } = await prefer(stranger, preference);
    expect([status, body.detail]).toEqual([422, expect.stringMatching(detail)]);
  });

  it.each<[string, Json]>([
    ['no such zone', { timezone: 'Mars/Olympus' }],
    ['an abbreviation of a zone', { timezone: 'PST' }],
    ['half of the quiet hours', { quiet_from: '22:00' }],
    ['quiet hours of no length', { quiet_from: '22:00', quiet_to: '22:00' }],
    ['no time', { digest_at: '25:00' }],
    ['no day', { days: [] }],
    ['a day that is none', { days: [8] }],
  ])('refuse %s', async (_, fields) => {
    const schedule = {
      timezone: 'UTC',
      quiet_from: null,
      quiet_to: null,
      digest_at: '08:00',
      days: [1],
      ...fields,
    };
    const { status } = await stranger.client.put('/api/notifications/preferences', { schedule });
    expect(status).toBe(422);
  });
});

/** Quiet hours around this time. */
function quietNow(): Json {
  const time = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16);
  return {
    timezone: 'UTC',
    quiet_from: time(-1),
    quiet_to: time(3),
    digest_at: '08:00',
    days: [1, 2, 3, 4, 5, 6, 7],
  };
}

describe('what is sent', () => {
  it('waits for the end of quiet hours, unless it cannot', async () => {
    const person = await ada();
    await prefer(person, { type: 'share' });
    await person.client.put('/api/notifications/preferences', { schedule: quietNow() });
    await upload(person);
    await ask(person); // its deadline falls within
    expect([mailsTo(person, /uploaded/).length, mailsTo(person, /A robot asks/).length]).toEqual([0, 1]);
    await service.database.query('delete from notification_schedule where user_id = $1', [person.id]);
    await due();
    expect(mailsTo(person, /uploaded/)).toHaveLength(1);
  });

  it('is held again where quiet hours were set meanwhile', async () => {
    const person = await ada();
    await prefer(person, { type: 'share' });
    await person.client.put('/api/notifications/preferences', { schedule: quietNow() });
    await upload(person);
    await due();
    expect(await deliveriesTo(person)).toEqual([{ state: 'held', reason: null }]);
  });

  it('reaches nobody who was removed in between', async () => {
    const [owner, member] = [await ada(), await ada()];
    await service.join(member, { organization: owner.organizationId, role: 'member' });
    const there = { ...member, workspace: owner.workspace, organizationId: owner.organizationId };
    await prefer(member, { type: 'share' });
    await person(member, quietNow());
    await upload(there);
    expect((await inbox(member)).items).toHaveLength(1);
    await owner.client.delete(`/api/organizations/${owner.organizationId}/members/${member.id}`);
    await service.database.query('delete from notification_schedule where user_id = $1', [member.id]);
    await due();
    expect(await deliveriesTo(member)).toEqual([
      { state: 'suppressed', reason: 'They may not know of it any more' },
    ]);
    expect([(await inbox(member)).items, mailsTo(member, /uploaded/)]).toEqual([[], []]);
    await upload(there);
    expect(await deliveriesTo(member)).toHaveLength(1);
  });

  const person = ({ client }: Person, schedule: Json) =>
    client.put('/api/notifications/preferences', { schedule });

  it('reaches no address that nobody has confirmed', async () => {
    const reader = await ada();
    await service.database.query('update "user" set email_verified_at = null where id = $1', [reader.id]);
    await prefer(reader, { type: 'share' });
    await upload(reader);
    expect(await deliveriesTo(reader)).toEqual([
      { state: 'suppressed', reason: 'The e-mail address is not confirmed' },
    ]);
    expect(mailsTo(reader, /uploaded/)).toEqual([]);
  });

  it('is one letter for a day of it, and none for nothing', async () => {
    const reader = await ada();
    await prefer(reader, { type: 'share', mode: 'digest' });
    await upload(reader, 3);
    const digests = await service.database.query('select state from digest where user_id = $1', [reader.id]);
    expect(digests).toEqual([{ state: 'open' }]);
    await due();
    const [letter, ...others] = mailsTo(reader, /^3 notifications$/);
    expect(others).toEqual([]);
    for (const files of ['A file was', '2 files were', '3 files were'])
      expect(letter?.text).toContain(`${files} uploaded`);
    await upload(reader);
    await reader.client.post('/api/notifications/read-all');
    await due();
    expect(mailsTo(reader, /notification|uploaded/)).toHaveLength(1);
    expect((await deliveriesTo(reader)).at(-1)).toEqual({
      state: 'suppressed',
      reason: 'It was read before',
    });
  });

  it('is sent once to a thousand people, however often it is told', async () => {
    const owner = await ada();
    await service.database.query(
      `with people as (
         insert into "user" (id, email, name, password_hash, installation_owner, created_at, updated_at)
         select gen_random_uuid(), 'many' || n || '@example.com', 'Many', '', false, now(), now() from generate_series(2, 1000) n
         returning id
       ), members as (
         insert into organization_member (organization_id, user_id, role, created_at)
         select $1, id, 'owner', now() from people returning user_id
       )
       insert into notification_preference (user_id, organization_id, type_or_category, channel, mode)
       select user_id, null, 'budget', 'mail', 'off' from members`,
      [owner.organizationId],
    );
    const facts = {
      organization_id: owner.organizationId,
      workspace_id: null,
      period: '2026-11',
      monthly_usd: '5',
    };
    await publish(budgetStopped, facts, facts);
    const [told] = await service.database.query<Json>(
      `select count(*)::int as count, count(distinct user_id)::int as people from notification
       where type = 'budget.stopped' and organization_id = $1`,
      [owner.organizationId],
    );
    expect(told).toEqual({ count: 1000, people: 1000 });
    expect(
      smtp.mails.filter(({ headers }) => /are refused$/.test(headers.get('subject') ?? '')),
    ).toHaveLength(1);
  });
});

describe('unsubscribing', () => {
  const LINK = /^List-Unsubscribe: <(http[^>]+)>\r$/m;

  it('takes a POST without a sign-in, as often as it comes, and no look at the page', async () => {
    const person = await ada();
    await prefer(person, { type: 'share' }, { type: 'share', scope: person.organizationId });
    await upload(person);
    const [mail] = mailsTo(person, /uploaded/);
    const [, link = ''] = LINK.exec(mail?.raw ?? '') ?? [];
    expect(mail?.raw).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m);
    expect(mail?.text).toContain(link);
    const { pathname } = new URL(link);
    const mode = async () => {
      const { organizationId, client } = person;
      const path = `/api/notifications/preferences?organization_id=${organizationId}`;
      const { matrix } = (await client.get(path)).body;
      return matrix.find((row: Json) => row.type === 'share.uploaded' && row.channel === 'mail').mode;
    };
    const page = await service.stranger.raw('GET', pathname);
    expect([page.status, await page.text()]).toEqual([
      200,
      expect.stringContaining('<button type="submit">'),
    ]);
    expect((await service.stranger.raw('HEAD', pathname)).status).toBe(200);
    expect(await mode()).toBe('on');
    for (const body of ['List-Unsubscribe=One-Click', '']) {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      expect((await service.stranger.raw('POST', pathname, { body, headers })).status).toBe(200);
      expect(await mode()).toBe('off');
    }
    await upload(person);
    expect(mailsTo(person, /uploaded/)).toHaveLength(1);
    expect((await service.stranger.raw('POST', `${pathname.slice(0, -4)}AAAA`)).status).toBe(404);
  });

  it('is not offered of what cannot be turned off', async () => {
    const person = await ada();
    await person.client.post('/api/keys', { name: 'CI' });
    await settled();
    const [mail] = mailsTo(person, /API key/);
    expect(mail?.text).toContain('CI');
    expect(mail?.raw).not.toMatch(/List-Unsubscribe/i);
  });
});

describe('an approval', () => {
  it('counts as read once it is decided, and what was held of it is not sent', async () => {
    const person = await ada();
    await person.client.put('/api/notifications/preferences', { schedule: quietNow() });
    const id = await ask(person, 86_400);
    expect((await inbox(person)).unread_count).toBe(1);
    const decided = await person.client.post(`/api/agent/approvals/${id}`, { decision: 'deny' });
    expect([decided.status, (await inbox(person)).unread_count]).toEqual([200, 0]);
    await due();
    expect(mailsTo(person, /A robot asks/)).toEqual([]);
    expect(await deliveriesTo(person)).toEqual([{ state: 'suppressed', reason: 'It was read before' }]);
  });
});

describe('who is told', () => {
  it('is who was invited, and then who invited them', async () => {
    const [owner, guest] = [await ada(), await ada()];
    const path = `/api/organizations/${owner.organizationId}/invitations`;
    const { body } = await owner.client.post(path, { email: guest.email });
    await settled();
    expect((await inbox(guest)).items).toMatchObject([
      { type: 'invitation.received', organization_id: null },
    ]);
    const token = new URL(body.link).searchParams.get('token') ?? body.link.split('/').at(-1);
    expect((await guest.client.post(`/api/invitations/${token}/accept`)).status).toBe(200);
    await settled();
    expect((await inbox(owner)).items).toMatchObject([{ type: 'invitation.accepted' }]);
    expect(JSON.stringify((await inbox(guest)).items)).not.toContain(token);
  });

  it('is who owns the account, where somebody signs in with another program or changes the password', async () => {
    const person = await ada();
    const { email, password } = person;
    const login = (agent: string) =>
      service.stranger.with({ 'user-agent': agent }).post('/api/auth/login', { email, password });
    await login('Firefox');
    await settled();
    await login('Firefox');
    await settled();
    expect((await inbox(person)).items).toMatchObject([{ type: 'security.signed_in', severity: 'warning' }]);
    await person.client.post('/api/auth/password', {
      current_password: password,
      new_password: 'another battery horse',
    });
    await settled();
    const rows = await service.database.query(
      'select type from notification where user_id = $1 order by number',
      [person.id],
    );
    expect(rows.at(-1)).toEqual({ type: 'security.password_changed' });
  });
});
