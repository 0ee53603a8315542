import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { ApprovalRequests } from '../../../src/agents/approvals/index.js';
import type { Actor } from '../../../src/platform/access/index.js';
import { Chores } from '../../../src/platform/jobs/index.js';
import { FakeSmtpServer } from '../../fakes/smtp-server.js';
import { WebhookReceiver } from '../../fakes/webhook-receiver.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

const WEBHOOKS = '/api/notifications/webhooks';

let receiver: WebhookReceiver;
let smtp: FakeSmtpServer;
let service: TestService;
let ada: Person;
let bob: Person;

beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  smtp = await FakeSmtpServer.start();
  service = await TestService.start({
    OUTGOING_PRIVATE_HOSTS: receiver.host,
    SMTP_URL: smtp.url,
    MAIL_FROM: 'atelier@example.com',
  });
  ada = await service.person('Ada');
  bob = await service.person('Bob');
});
afterAll(async () => {
  await service.stop();
  await receiver.stop();
  await smtp.stop();
});

async function webhook(path: string, fields: Json = {}, by = ada): Promise<Json> {
  const { status, body } = await by.client.post(WEBHOOKS, { url: receiver.url(path), ...fields });
  if (status !== 200) throw new Error(`webhook creation answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

/** Sends a message of its own to a webhook; returns its id. */
async function test(id: string): Promise<string> {
  const { status, body } = await ada.client.post(`${WEBHOOKS}/${id}/test`);
  expect(status).toBe(200);
  return body.webhook_id;
}

/** The attempts of a webhook, newest first, once there are so many. */
async function attempts(id: string, count = 1): Promise<Json[]> {
  for (;;) {
    const { body } = await ada.client.get(`${WEBHOOKS}/${id}/attempts`);
    if (body.items.length >= count) return body.items;
  }
}

let asked = 0;
/** A program asks a person about a call, of which they are notified; returns the id of the question. */
async function ask(
  { id, email, organizationId }: Person,
  workspaceId: string | null = null,
): Promise<string> {
  const credential = { type: 'session', id, scopes: null, expires_at: null } as const;
  const actor: Actor = {
    type: 'user',
    id,
    name: 'Ada',
    email,
    credential: { ...credential, organization_id: null, workspace_ids: null },
  };
  const asking = service.app.get(ApprovalRequests, { strict: false }).request({
    actor,
    organizationId: workspaceId && organizationId,
    workspaceId,
    tool: 'share_create',
    effect: 'expose',
    input: { number: ++asked },
    clientName: 'A robot',
  });
  return (await asking).id;
}

const read = async (id: string) => (await ada.client.get(`${WEBHOOKS}/${id}`)).body;
/** Brings the next attempt of everything forward to now. */
const hurry = (id: string) =>
  service.database.query(
    `with due as (update webhook_message set next_at = now() where endpoint_id = $1 and state = 'pending' returning id)
     select notify_topic('webhook-messages') from due`,
    [id],
  );

describe('a webhook', () => {
  it('shows its secret once; what comes is signed with it', async () => {
    const { signing_secret, ...made } = await webhook('/signed', {
      description: 'Chat',
      types: ['approval'],
    });
    expect(signing_secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(made).toMatchObject({
      enabled: true,
      types: ['approval'],
      organization_id: null,
      description: 'Chat',
    });
    expect(await read(made.id)).toEqual(made);
    expect((await ada.client.get(WEBHOOKS)).body.items).toContainEqual(made);
    const [row] = await service.database.query('select secret from webhook_endpoint where id = $1', [
      made.id,
    ]);
    expect(row?.secret.includes(signing_secret.slice(6, 20))).toBe(false);

    const id = await test(made.id);
    const [{ headers, body }] = (await receiver.at('/signed')) as [Json];
    expect(headers).toMatchObject({ 'webhook-id': id, 'content-type': 'application/json' });
    const verified = new Webhook(signing_secret).verify(body, headers);
    expect(verified).toEqual({
      type: 'webhook.test',
      timestamp: expect.any(String),
      data: { webhook_id: made.id },
    });
    expect(() => new Webhook(signing_secret).verify(`${body} `, headers)).toThrow();
    const [attempt] = await attempts(made.id);
    expect(attempt).toMatchObject({ webhook_id: id, succeeded: true, status: 200, next_attempt_at: null });
  });

  it('is changed, and deleted', async () => {
    const { id } = await webhook('/changed');
    const changes = { url: receiver.url('/elsewhere'), types: ['approval.requested'], description: '' };
    expect((await ada.client.patch(`${WEBHOOKS}/${id}`, changes)).body).toMatchObject(changes);
    await test(id);
    await receiver.at('/elsewhere');
    expect((await ada.client.delete(`${WEBHOOKS}/${id}`)).body).toEqual({ id, deleted: true });
    expect((await ada.client.get(`${WEBHOOKS}/${id}`)).status).toBe(404);
  });

  it('signs with both secrets for a day after a rotation, then with the new one alone', async () => {
    const { id, signing_secret: before } = await webhook('/rotated');
    const { body } = await ada.client.post(`${WEBHOOKS}/${id}/rotate`);
    expect(body.signing_secret).not.toBe(before);
    expect(Date.parse(body.previous_secret_until) - Date.now()).toBeGreaterThan(23.9 * 3_600_000);
    await test(id);
    const [first] = (await receiver.at('/rotated')) as [Json];
    for (const secret of [before, body.signing_secret]) new Webhook(secret).verify(first.body, first.headers);
    await service.database.query(`update webhook_endpoint set previous_until = now() where id = $1`, [id]);
    await test(id);
    const [, second] = (await receiver.at('/rotated', 2)) as [Json, Json];
    new Webhook(body.signing_secret).verify(second.body, second.headers);
    expect(() => new Webhook(before).verify(second.body, second.headers)).toThrow();
  });
});

describe('a notification', () => {
  it('is sent to the webhooks of the person, with ids and no words', async () => {
    const { id, signing_secret } = await webhook('/person', { types: ['approval'] });
    await webhook('/other-type', { types: ['approval.expired'] });
    await webhook('/other-person', {}, bob);
    const approval_id = await ask(ada);
    const [{ headers, body }] = (await receiver.at('/person')) as [Json];
    const { data, ...message } = new Webhook(signing_secret).verify(body, headers) as Json;
    expect(message).toEqual({ type: 'approval.requested', timestamp: expect.any(String) });
    expect(data).toMatchObject({ approval_id, severity: 'warning', workspace_id: null });
    expect(data.link).toMatch(new RegExp(`^http.*${approval_id}$`));
    expect(body).not.toContain('robot');
    await attempts(id);
    const paths = receiver.received.map(({ path }) => path);
    expect(paths.filter(path => path.startsWith('/other-'))).toEqual([]);
  });

  it('is sent to those of its organization, once, unless the workspace is private', async () => {
    const owner = await service.person('Owner');
    const { organizationId: organization_id } = owner;
    const member = await service.person('Member');
    await service.join(member, { organization: organization_id, role: 'member' });
    await webhook('/organization', { organization_id }, owner);
    await webhook('/member', {}, member);
    const hidden = await service.workspace(
      { ...member, organizationId: organization_id },
      { visibility: 'private' },
    );
    const open = await service.workspace(owner, { visibility: 'org' });
    const inHidden = await ask({ ...member, organizationId: organization_id }, hidden);
    const inOpen = await ask({ ...member, organizationId: organization_id }, open);
    const own = await receiver.at('/member', 2);
    expect(own.map(({ body }) => JSON.parse(body).data.approval_id).sort()).toEqual(
      [inHidden, inOpen].sort(),
    );
    const [shared, ...more] = await receiver.at('/organization');
    expect(JSON.parse(shared?.body ?? '').data).toMatchObject({ approval_id: inOpen, organization_id });
    expect(more).toEqual([]);
  });

  it('is not sent any more to who lost access before it was taken', async () => {
    const guest = await service.person('Guest');
    const workspace = await service.workspace(ada, { visibility: 'restricted' });
    const place = { organization: ada.organizationId, role: 'guest', workspace, workspaceRole: 'editor' };
    await service.join(guest, place);
    receiver.answer('/guest', 500);
    const { id } = await webhook('/guest', {}, guest);
    await ask({ ...guest, organizationId: ada.organizationId }, workspace);
    await receiver.at('/guest');
    await service.database.query('delete from workspace_member where principal_id = $1', [guest.id]);
    const state = () =>
      service.database.query('select state, attempts from webhook_message where endpoint_id = $1', [id]);
    while ((await guest.client.get(`${WEBHOOKS}/${id}/attempts`)).body.items.length === 0);
    await hurry(id);
    while ((await state())[0]?.state === 'pending');
    expect(await state()).toMatchObject([{ state: 'failed', attempts: 2 }]);
    expect(receiver.received.filter(({ path }) => path === '/guest')).toHaveLength(1);
  });
});

describe('an attempt that fails', () => {
  it('is made again with the same id, at times that grow', async () => {
    const { id } = await webhook('/failing');
    receiver.answer('/failing', 500);
    const message = await test(id);
    const [attempt] = await attempts(id);
    expect(attempt).toMatchObject({ succeeded: false, status: 500, reason: 'It answered 500' });
    expect(Date.parse(attempt?.next_attempt_at) - Date.parse(attempt?.created_at)).toBeLessThan(60_000);
    for (let made = 2; made <= 8; made++) {
      await hurry(id);
      await attempts(id, made);
    }
    const sent = await receiver.at('/failing', 8);
    expect(sent.map(({ headers }) => headers['webhook-id'])).toEqual(Array(8).fill(message));
    // The eighth was the last.
    expect((await attempts(id, 8))[0]?.next_attempt_at).toBeNull();
    expect(await read(id)).toMatchObject({ enabled: true, failing_since: expect.any(String) });

    receiver.answer('/failing', 204);
    const recovered = await ada.client.post(`${WEBHOOKS}/${id}/recover`, { since: '2020-01-01T00:00:00Z' });
    expect(recovered.status).toBe(422);
    const since = new Date(Date.now() - 3_600_000).toISOString();
    expect((await ada.client.post(`${WEBHOOKS}/${id}/recover`, { since })).body).toEqual({ messages: 1 });
    expect((await attempts(id, 9))[0]).toMatchObject({ webhook_id: message, succeeded: true });
    expect(await read(id)).toMatchObject({ failing_since: null });
    // What was taken is not recovered, and can be sent again.
    expect((await ada.client.post(`${WEBHOOKS}/${id}/recover`, { since })).body).toEqual({ messages: 0 });
    const [latest] = await attempts(id);
    const resent = await ada.client.post(`${WEBHOOKS}/attempts/${latest?.id}/resend`);
    expect(resent.body).toEqual({ webhook_id: message });
    expect((await receiver.at('/failing', 10)).at(-1)?.headers['webhook-id']).toBe(message);
  });

  it.each<[string, number, (now: number) => string, number]>([
    ['in seconds', 429, () => '3600', 3600],
    ['as a date', 503, now => new Date(now + 3_600_000).toUTCString(), 3600],
    ['for longer than it is granted', 503, () => '999999999', 36_000],
    ['with an answer that does not mean it', 500, () => '3600', 5],
  ])('waits as the receiver asks: %s', async (name, status, asks, seconds) => {
    const path = `/later/${encodeURIComponent(name)}`;
    receiver.answer(path, response => response.writeHead(status, { 'retry-after': asks(Date.now()) }).end());
    const { id } = await webhook(path);
    await test(id);
    const [attempt] = await attempts(id);
    const waits = Date.parse(attempt?.next_attempt_at) - Date.parse(attempt?.created_at);
    // Dates of HTTP have whole seconds, planned delays are spread by a fifth, and the answer takes its time.
    expect(Math.abs(waits / 1000 - seconds)).toBeLessThan(60);
  });

  it('is a redirect, wherever it leads', async () => {
    const { id } = await webhook('/redirects');
    receiver.answer('/redirects', response =>
      response.writeHead(307, { location: receiver.url('/inside') }).end(),
    );
    await test(id);
    const [attempt] = await attempts(id);
    expect(attempt).toMatchObject({ status: 307, reason: 'It answered 307; redirects are not followed' });
    expect(receiver.received.filter(({ path }) => path === '/inside')).toEqual([]);
  });

  it('is one to a private address, also where a name leads there', async () => {
    for (const url of [
      'https://127.0.0.1/x',
      'https://10.0.0.1/x',
      'https://[::1]/x',
      'http://169.254.169.254/',
    ])
      expect((await ada.client.post(WEBHOOKS, { url })).status).toBe(422);
    const { body } = await ada.client.post(WEBHOOKS, { url: 'https://localhost:8443/x' });
    await test(body.id);
    const [attempt] = await attempts(body.id);
    expect(attempt).toMatchObject({
      status: null,
      reason: expect.stringContaining('is not a public address'),
    });
  });

  it('disables a webhook for good where the receiver answers 410', async () => {
    const { id } = await webhook('/gone');
    receiver.answer('/gone', 410);
    await test(id);
    await attempts(id);
    expect(await read(id)).toMatchObject({ enabled: false, disabled_reason: 'gone' });
    expect((await ada.client.post(`${WEBHOOKS}/${id}/test`)).status).toBe(409);
    const enabled = await ada.client.post(`${WEBHOOKS}/${id}/enable`);
    expect(enabled.body).toMatchObject({ enabled: true, disabled_reason: null });
  });

  it('disables a webhook after five days of failures, and mails its owner', async () => {
    const { id } = await webhook('/dead');
    receiver.answer('/dead', 503);
    await test(id);
    await attempts(id);
    const waiting = (days: string) =>
      service.database.query(
        'update webhook_endpoint set failing_since = now() - $2::interval where id = $1',
        [id, days],
      );
    await waiting('4 days 23 hours');
    await hurry(id);
    await attempts(id, 2);
    expect(await read(id)).toMatchObject({ enabled: true });
    await waiting('5 days');
    await hurry(id);
    await attempts(id, 3);
    expect(await read(id)).toMatchObject({ enabled: false, disabled_reason: 'failing' });
    const words = `Everything that was sent to ${receiver.host} in the last five days failed`;
    expect(await smtp.mailsTo(ada.email, 1, words)).toHaveLength(1);
  });

  it('keeps no other webhook waiting', async () => {
    const [slow, quick] = [await webhook('/slow'), await webhook('/quick')];
    const open: (() => void)[] = [];
    receiver.answer('/slow', response => open.push(() => response.end()));
    for (let n = 0; n < 7; n++) await test(slow.id);
    await receiver.at('/slow', 5);
    await test(quick.id);
    await receiver.at('/quick');
    expect((await attempts(quick.id))[0]).toMatchObject({ succeeded: true });
    // Five at once, and the others after them.
    expect(receiver.received.filter(({ path }) => path === '/slow')).toHaveLength(5);
    for (let n = 1; n <= 7; n++) {
      await receiver.at('/slow', Math.min(7, n + 4));
      open.shift()?.();
    }
    expect(await attempts(slow.id, 7)).toHaveLength(7);
  });
});

describe('who may', () => {
  it('is the person whose it is; to others it does not exist', async () => {
    const { id } = await webhook('/own');
    await test(id);
    const [attempt] = await attempts(id);
    for (const answer of [
      await bob.client.get(`${WEBHOOKS}/${id}`),
      await bob.client.patch(`${WEBHOOKS}/${id}`, { description: 'x' }),
      await bob.client.post(`${WEBHOOKS}/${id}/rotate`),
      await bob.client.get(`${WEBHOOKS}/${id}/attempts`),
      await bob.client.post(`${WEBHOOKS}/attempts/${attempt?.id}/resend`),
      await bob.client.delete(`${WEBHOOKS}/${id}`),
    ])
      expect(answer.status).toBe(404);
    expect((await bob.client.get(WEBHOOKS)).body.items.map((item: Json) => item.id)).not.toContain(id);
    const key = await service.key(ada, { organization_id: ada.organizationId });
    expect((await key.get(`${WEBHOOKS}/${id}`)).status).toBe(404);
    const { body } = await key.post(WEBHOOKS, { url: receiver.url('/own') });
    expect(body).toMatchObject({ organization_id: ada.organizationId });
    expect((await key.delete(`${WEBHOOKS}/${body.id}`)).status).toBe(200);
  });

  it('is in an organization who administers it', async () => {
    const organization_id = ada.organizationId;
    const member = await service.person('Member');
    await service.join(member, { organization: organization_id, role: 'member' });
    const admin = await service.person('Admin');
    await service.join(admin, { organization: organization_id, role: 'admin' });
    const { id } = await webhook('/shared', { organization_id });
    expect((await admin.client.get(`${WEBHOOKS}/${id}`)).status).toBe(200);
    expect((await admin.client.get(WEBHOOKS)).body.items).toHaveLength(1);
    expect((await member.client.get(`${WEBHOOKS}/${id}`)).status).toBe(403);
    expect((await member.client.post(WEBHOOKS, { organization_id, url: receiver.url('/x') })).status).toBe(
      403,
    );
    expect((await member.client.get(WEBHOOKS)).body.items).toEqual([]);
    expect((await bob.client.get(`${WEBHOOKS}/${id}`)).status).toBe(404);
    expect((await bob.client.post(WEBHOOKS, { organization_id, url: receiver.url('/x') })).status).toBe(404);
  });

  it('has as many as are reasonable, also where they are made at once', async () => {
    const person = await service.person();
    const answers = await Promise.all(
      Array.from({ length: 22 }, () => person.client.post(WEBHOOKS, { url: receiver.url('/many') })),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(20).fill(200), 409, 409]);
  });
});

describe('what is refused', () => {
  it.each([
    [{}, 'url'],
    [{ url: 'nothing' }, 'url must be an address'],
    [{ url: 'http://example.com/' }, 'must begin with https://'],
    [{ url: 'ftp://example.com/' }, 'must begin with https://'],
    [{ url: 'https://ada:pass@example.com/' }, 'user name'],
    [{ url: 'https://example.com/', types: ['nothing.such'] }, 'types'],
    [{ url: 'https://example.com/', secret: 'x' }, 'secret is not a field'],
  ])('%j', async (body, sentence) => {
    const answer = await ada.client.post(WEBHOOKS, body);
    expect([answer.status, answer.body.detail]).toEqual([422, expect.stringContaining(sentence)]);
  });
});

it('keeps messages and their attempts for thirty days', async () => {
  const { id } = await webhook('/kept');
  await test(id);
  await test(id);
  await attempts(id, 2);
  await service.database.query(
    `update webhook_message set created_at = now() - interval '30 days 1 minute'
     where id = (select id from webhook_message where endpoint_id = $1 order by id limit 1)`,
    [id],
  );
  await service.app.get(Chores, { strict: false }).run('remove_webhook_messages');
  expect((await ada.client.get(`${WEBHOOKS}/${id}/attempts`)).body.items).toHaveLength(1);
});
