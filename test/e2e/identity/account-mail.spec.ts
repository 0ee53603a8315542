import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Chores } from '../../../src/platform/jobs/index.js';
import { FakeSmtpServer, type ReceivedMail } from '../../fakes/smtp-server.js';
import { type Person, TestService } from '../../harness/service.js';
import { jobCompleted, settled } from '../../harness/settled.js';

const PUBLIC_URL = 'https://atelier.example.com';
const NEW = 'a whole new password';

let smtp: FakeSmtpServer;
let service: TestService;
let ada: Person;
/** Everything that the service logs, at its most talkative. */
let logged = '';
/** Each caller comes from an address of their own, as far as the service can see. */
let callers = 0;

beforeAll(async () => {
  jest.spyOn(process.stdout, 'write').mockImplementation(chunk => {
    logged += chunk;
    return true;
  });
  smtp = await FakeSmtpServer.start();
  service = await TestService.start({
    SMTP_URL: smtp.url,
    PUBLIC_URL,
    LOG_LEVEL: 'trace',
    LOG_FORMAT: 'json',
  });
});
afterAll(async () => {
  await service.stop();
  await smtp.stop();
  jest.restoreAllMocks();
});
beforeEach(async () => {
  ada = await service.person('Ada');
});

const stranger = () => service.stranger.with({ 'x-forwarded-for': `198.51.100.${++callers}` });
const requestReset = (email: string) => stranger().post('/api/auth/password/reset', { email });
const confirm = (token: string, new_password = NEW) =>
  stranger().post('/api/auth/password/reset/confirm', { token, new_password });
const verify = (token: string) => stranger().post('/api/auth/email/verify', { token });
const signIn = (password: string) => stranger().post('/api/auth/login', { email: ada.email, password });
const expire = (person: Person) =>
  service.database.query('update email_token set expires_at = now() where user_id = $1', [person.id]);

/** An application that a person let in. */
const grantOf = (person: Person) =>
  service.database.query(
    `insert into oauth_grant (id, user_id, client_id, client_name, scopes, resources, terms, created_at, expires_at)
     values (gen_random_uuid(), $1, 'app_x', 'X', '{read}', '{}', '{}', now(), now() + interval '1 hour')`,
    [person.id],
  );
const grantsOf = async (person: Person) =>
  (await service.database.query('select 1 from oauth_grant where user_id = $1', [person.id])).length;

/** The token of the link in a mail, which says the same in both of its texts. */
function tokenIn(mail: ReceivedMail | undefined, page: string): string {
  const link = new RegExp(`${PUBLIC_URL}${page}\\?token=([\\w-]{43})\\b`);
  const token = link.exec(mail?.text ?? '')?.[1];
  expect(link.exec(mail?.html ?? '')?.[1]).toBe(token);
  if (!token) throw new Error('the mail has no link');
  return token;
}

async function resetToken(): Promise<string> {
  await smtp.mailsTo(ada.email);
  await requestReset(ada.email);
  return tokenIn((await smtp.mailsTo(ada.email, 2)).at(-1), '/auth/reset');
}

const verificationToken = async () => tokenIn((await smtp.mailsTo(ada.email)).at(0), '/auth/verify');

describe('another e-mail address', () => {
  let count = 0;
  const newAddress = () => `moved${++count}@example.com`;
  const ask = (email: string, password = ada.password, by = ada) =>
    by.client.post('/api/auth/email', { email, password });
  const linkFor = async (email: string) => {
    expect((await ask(email.replace('moved', 'MOVED'))).body).toEqual({ sent: true });
    return tokenIn((await smtp.mailsTo(email)).at(-1), '/auth/email');
  };
  const move = (token: string) => stranger().post('/api/auth/email/confirm', { token });

  it('is taken once its mail was opened; sessions stay, and the old address is told', async () => {
    const email = newAddress();
    const reset = await resetToken();
    const token = await linkFor(email);
    expect((await ada.client.get('/api/auth/me')).body.email).toBe(ada.email);
    const answers = await Promise.all([move(token), move(token)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 410]);
    const { body } = await ada.client.get('/api/auth/me');
    expect([body.email, typeof body.email_verified_at]).toEqual([email, 'string']);
    expect((await stranger().post('/api/auth/login', { email, password: ada.password })).status).toBe(200);
    expect((await signIn(ada.password)).status).toBe(401);
    expect((await confirm(reset)).status).toBe(410);
    const told = (await smtp.mailsTo(ada.email, 3)).at(-1);
    expect(told?.text).toContain(`has the address ${email} from now on`);
  });

  it('needs the password, a sign-in, and another address than that of the account', async () => {
    const email = newAddress();
    expect((await ask(email, 'wrong')).status).toBe(403);
    expect((await ask('no address')).status).toBe(422);
    expect((await ask(ada.email)).status).toBe(422);
    expect((await stranger().post('/api/auth/email', { email, password: ada.password })).status).toBe(401);
    const key = await service.key(ada);
    expect((await key.post('/api/auth/email', { email, password: ada.password })).status).toBe(403);
    expect(smtp.mails.flatMap(({ to }) => to)).not.toContain(email);
  });

  it('tells nobody but its owner whether it has an account', async () => {
    const grace = await service.person('Grace');
    const [taken, free] = [await ask(grace.email), await ask(newAddress())];
    expect([taken.status, taken.body]).toEqual([free.status, free.body]);
    const again = await ask(grace.email);
    expect(again.status).toBe(200);
    const token = tokenIn((await smtp.mailsTo(grace.email, 3)).at(-1), '/auth/email');
    const { status, body } = await move(token);
    expect([status, body.detail]).toEqual([409, expect.stringContaining('has an account')]);
    expect((await ada.client.get('/api/auth/me')).body.email).toBe(ada.email);
  });

  it('belongs to one of two who move to it at once', async () => {
    const email = newAddress();
    const grace = await service.person('Grace');
    const first = await linkFor(email);
    await ask(email, grace.password, grace);
    const second = tokenIn((await smtp.mailsTo(email, 2)).at(-1), '/auth/email');
    const answers = await Promise.all([move(first), move(second)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  it('is not taken by a link that was asked for before the password was changed or reset', async () => {
    const first = await linkFor(newAddress());
    const reset = await resetToken();
    expect((await confirm(reset)).status).toBe(200);
    expect((await move(first)).status).toBe(410);
    const eve = await service.person('Eve');
    const email = newAddress();
    expect((await ask(email, eve.password, eve)).status).toBe(200);
    const second = tokenIn((await smtp.mailsTo(email)).at(-1), '/auth/email');
    const change = { current_password: eve.password, new_password: NEW };
    expect((await eve.client.post('/api/auth/password', change)).status).toBe(200);
    expect((await move(second)).status).toBe(410);
  });

  it('gets no more than five mails in an hour, however many accounts are to move to it', async () => {
    const email = newAddress();
    for (let each = 0; each < 3; each++) expect((await ask(email)).status).toBe(200);
    const eve = await service.person('Eve');
    for (let each = 0; each < 2; each++) expect((await ask(email, eve.password, eve)).status).toBe(200);
    for (const by of [eve, ada]) expect((await ask(email, by.password, by)).status).toBe(429);
    expect((await ask(newAddress())).status).toBe(200);
  });

  it('is asked for on a page that names the account that moves', async () => {
    const email = newAddress();
    const html = await (await stranger().raw('GET', `/auth/email?token=${await linkFor(email)}`)).text();
    expect(html).toContain(`The account ${ada.email} is to have the address ${email}`);
  });

  it.each(['"a\r\nBcc: spy@example.net"@example.com', '"a b"@example.com', 'a@example.com\u202e'])(
    'is not %j, which reads as something else',
    async email => {
      expect((await ask(email)).status).toBe(422);
      expect((await requestReset(email)).status).toBe(422);
      const invitations = `/api/organizations/${ada.organizationId}/invitations`;
      expect((await ada.client.post(invitations, { email })).status).toBe(422);
      const form = new URLSearchParams({ email });
      expect((await stranger().raw('POST', '/auth/forgot', { body: form })).status).toBe(422);
    },
  );

  it('is not taken by a link that is old, or by the one before the last', async () => {
    const first = await linkFor(newAddress());
    const second = await linkFor(newAddress());
    expect((await move(first)).status).toBe(410);
    await expire(ada);
    expect((await move(second)).status).toBe(410);
  });
});

describe('a lost password', () => {
  it('is replaced through a link, which proves the address and ends all sessions', async () => {
    const token = await resetToken();
    expect((await confirm(token)).body).toEqual({ changed: true });
    expect((await signIn(ada.password)).status).toBe(401);
    expect((await ada.client.get('/api/auth/me')).status).toBe(401);
    expect((await stranger().post('/api/auth/refresh', { refresh_token: ada.refreshToken })).status).toBe(
      401,
    );
    const { status, body } = await signIn(NEW);
    expect([status, typeof body.user.email_verified_at]).toEqual([200, 'string']);
    const last = (await smtp.mailsTo(ada.email, 3)).at(-1);
    expect(last?.text).toContain('Your password was changed');
  });

  it('ends what an account of an address that was never verified gave out, and nothing of one that was', async () => {
    const keys = async () => {
      const key = await service.key(ada);
      return async () => (await key.get('/api/auth/me')).status;
    };
    const asked = () =>
      service.database.query<{ details: object }>(
        `select details from audit_entry where action = 'account_reset_password' and target_id = $1 order by id`,
        [ada.id],
      );
    const before = await keys();
    await grantOf(ada);
    expect((await confirm(await resetToken())).status).toBe(200);
    expect(await before()).toBe(401);
    expect(await grantsOf(ada)).toBe(0);
    expect((await asked()).at(-1)?.details).toMatchObject({ ended_keys: 1, ended_grants: 1 });

    const { body } = await signIn(NEW);
    ada.client = stranger().with({ authorization: `Bearer ${body.access_token}` });
    const after = await keys();
    await grantOf(ada);
    await requestReset(ada.email);
    const [, mail] = await smtp.mailsTo(ada.email, 2, '/auth/reset');
    const token = tokenIn(mail, '/auth/reset');
    expect((await confirm(token, `${NEW} again`)).status).toBe(200);
    expect([await after(), await grantsOf(ada)]).toEqual([200, 1]);
  });

  it('answers the same for an address without an account, to which nothing is sent', async () => {
    const unknown = await requestReset('nobody@example.com');
    await settled(service, 'accounts');
    const known = await requestReset(ada.email);
    expect([unknown.status, unknown.body]).toEqual([200, { requested: true }]);
    expect([known.status, known.body]).toEqual([unknown.status, unknown.body]);
    expect([...known.headers.keys()]).toEqual([...unknown.headers.keys()]);
    await smtp.mailsTo(ada.email, 2);
    expect(smtp.mails.flatMap(({ to }) => to)).not.toContain('nobody@example.com');
  });

  it('takes a link once, also of twice at once', async () => {
    const token = await resetToken();
    const answers = await Promise.all([confirm(token, `${NEW} 1`), confirm(token, `${NEW} 2`)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 410]);
    expect((await confirm(token)).status).toBe(410);
    const winner = answers[0].status === 200 ? `${NEW} 1` : `${NEW} 2`;
    expect((await signIn(winner)).status).toBe(200);
  });

  it('ends the other links that were sent, and one of two of them at once', async () => {
    const first = await resetToken();
    await requestReset(ada.email);
    const second = tokenIn((await smtp.mailsTo(ada.email, 3)).at(-1), '/auth/reset');
    const answers = await Promise.all([confirm(first), confirm(second)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 410]);
  });

  it('takes no link that has expired, is for something else or was never sent', async () => {
    const token = await resetToken();
    expect((await confirm(await verificationToken())).status).toBe(410);
    await expire(ada);
    const { status, body } = await confirm(token);
    expect([status, body.detail]).toEqual([410, expect.stringContaining('ask for a new one')]);
    expect((await confirm('no-such-token')).status).toBe(410);
    expect((await signIn(ada.password)).status).toBe(200);
  });

  it('is gone with a change of the password', async () => {
    const token = await resetToken();
    await ada.client.post('/api/auth/password', { current_password: ada.password, new_password: NEW });
    expect((await confirm(token)).status).toBe(410);
  });

  it('fills nobody with mail', async () => {
    await smtp.mailsTo(ada.email);
    for (let request = 0; request < 7; request++) {
      expect((await requestReset(ada.email)).status).toBe(200);
      await settled(service, 'accounts');
    }
    const [{ count } = {}] = await service.database.query(
      `select count(*)::int from mail_outbox where recipient = $1 and subject like 'Choose%'`,
      [ada.email],
    );
    expect(count).toBe(5);
  });

  it('cannot be asked for without end from one address', async () => {
    const one = stranger();
    const ask = () => one.post('/api/auth/password/reset', { email: 'nobody@example.com' });
    const answers = await Promise.all(Array.from({ length: 31 }, ask));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(1);
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(3000);
  });
});

describe('an e-mail address', () => {
  const verifiedAt = async () => (await ada.client.get('/api/auth/me')).body.email_verified_at;

  it('is verified by the link that registration sends, once of twice at once', async () => {
    expect(await verifiedAt()).toBeNull();
    const token = await verificationToken();
    const answers = await Promise.all([verify(token), verify(token)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 410]);
    expect(await verifiedAt()).toMatch(/Z$/);
  });

  it('is sent no more than ten links in an hour, by however many accounts that had it', async () => {
    const { email } = ada;
    const again = (by: Person) => by.client.post('/api/auth/email/verification');
    for (let each = 0; each < 5; each++) expect((await again(ada)).status).toBe(200);
    const elsewhere = `elsewhere-${email}`;
    await ada.client.post('/api/auth/email', { email: elsewhere, password: ada.password });
    const token = tokenIn((await smtp.mailsTo(elsewhere)).at(-1), '/auth/email');
    expect((await stranger().post('/api/auth/email/confirm', { token })).status).toBe(200);
    const next = await stranger().post('/api/auth/register', { email, name: 'Eve', password: NEW });
    const eve = stranger().with({ authorization: `Bearer ${next.body.access_token}` });
    const answers = [];
    for (let each = 0; each < 4; each++) answers.push(await eve.post('/api/auth/email/verification'));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
  });

  it('is not verified by a link that has expired or is for something else', async () => {
    const reset = await resetToken();
    expect((await verify(reset)).status).toBe(410);
    const token = await verificationToken();
    await expire(ada);
    expect((await verify(token)).status).toBe(410);
    expect(await verifiedAt()).toBeNull();
  });

  it('is sent the link again until it is verified, but not without end', async () => {
    const again = () => ada.client.post('/api/auth/email/verification');
    expect((await again()).body).toEqual({ sent: true });
    const token = tokenIn((await smtp.mailsTo(ada.email, 2)).at(-1), '/auth/verify');
    for (let request = 0; request < 4; request++) expect((await again()).status).toBe(200);
    expect((await again()).status).toBe(429);
    expect((await verify(token)).status).toBe(200);
    await service.database.query('delete from attempt_count');
    expect((await again()).status).toBe(409);
  });
});

describe('the pages that mails lead to', () => {
  const open = (path: string) => stranger().raw('GET', path);
  const submit = (path: string, fields: Record<string, string>) =>
    stranger().raw('POST', path, { body: new URLSearchParams(fields) });

  it('change a password by a form that needs no script, in no frame of others', async () => {
    const token = await resetToken();
    for (let look = 0; look < 2; look++) {
      const page = await open(`/auth/reset?token=${token}`);
      expect(page.status).toBe(200);
      const policy = page.headers.get('content-security-policy');
      expect(policy).toContain(`default-src 'none'`);
      expect(policy).toContain(`frame-ancestors 'none'`);
      expect(policy).not.toContain('unsafe');
      expect(page.headers.get('x-frame-options')).toBe('DENY');
      expect(page.headers.get('referrer-policy')).toBe('no-referrer');
      expect(page.headers.get('cache-control')).toBe('no-store');
      const html = await page.text();
      expect(html).toMatch(/<html lang="en">/);
      expect(html).toMatch(/<label for="new_password">/);
      expect(html).toContain(`name="token" value="${token}"`);
      expect(html).not.toMatch(/<script/);
    }
    const short = await submit('/auth/reset', { token, new_password: 'short' });
    expect([short.status, await short.text()]).toEqual([422, expect.stringContaining('role="alert"')]);
    const done = await submit('/auth/reset', { token, new_password: NEW });
    expect([done.status, await done.text()]).toEqual([
      200,
      expect.stringContaining('Your password is changed'),
    ]);
    expect((await signIn(NEW)).status).toBe(200);
    const again = await submit('/auth/reset', { token, new_password: NEW });
    expect([again.status, again.headers.get('content-type')]).toEqual([410, 'text/html; charset=utf-8']);
    expect((await open(`/auth/reset?token=${token}`)).status).toBe(410);
  });

  it('verify an address when the form is sent, and not before', async () => {
    const token = await verificationToken();
    expect((await open(`/auth/verify?token=${token}`)).status).toBe(200);
    expect((await ada.client.get('/api/auth/me')).body.email_verified_at).toBeNull();
    expect((await submit('/auth/verify', { token })).status).toBe(200);
    expect((await ada.client.get('/api/auth/me')).body.email_verified_at).not.toBeNull();
  });

  it('show what they are given as text', async () => {
    const html = await (
      await open(`/auth/verify?token=${encodeURIComponent('"><script>alert(1)</script>')}`)
    ).text();
    expect(html).toContain('value="&quot;&gt;&lt;script&gt;');
    expect(html).not.toContain('<script');
  });

  it('take their own form only, and no endless one', async () => {
    const json = await stranger().raw('POST', '/auth/verify', {
      body: '{"token":"x"}',
      headers: { 'content-type': 'application/json' },
    });
    expect(json.status).toBe(415);
    expect((await submit('/auth/verify', { token: 'x'.repeat(20_000) })).status).toBe(413);
    expect((await submit('/auth/verify', {})).status).toBe(410);
    expect((await open('/auth/verify?token=a&token=b')).status).toBe(200);
  });

  it('are no part of the interface description', async () => {
    const { body } = await stranger().get('/api/openapi.json');
    expect(Object.keys(body.paths).filter(path => path.startsWith('/auth'))).toEqual([]);
  });
});

describe('what stays behind', () => {
  it('holds no token and no password, in rows or in the log', async () => {
    const secrets = [await verificationToken(), await resetToken(), NEW, ada.password];
    await confirm(secrets[1] ?? '');
    await smtp.mailsTo(ada.email, 3);
    const tables = ['mail_outbox', 'email_token', 'attempt_count', 'audit_entry', 'session', '"user"'];
    await allMailSettled();
    const chores = service.app.get(Chores, { strict: false });
    await expire(ada);
    await chores.run('remove_email_tokens');
    expect(await service.database.query('select 1 from email_token where user_id = $1', [ada.id])).toEqual(
      [],
    );
    for (const table of tables) {
      const rows = JSON.stringify(await service.database.query(`select * from ${table}`));
      for (const secret of secrets) expect(rows).not.toContain(secret);
    }
    expect(logged).toContain('/api/auth/password/reset/confirm');
    for (const secret of secrets) expect(logged).not.toContain(secret);
    expect(logged).not.toContain(smtp.url);
  });
});

/** Resolves once no mail is on its way. */
async function allMailSettled(): Promise<void> {
  for (;;) {
    const next = jobCompleted(service, 'mail');
    const waiting = await service.database.query(`select 1 from mail_outbox where state = 'waiting'`);
    if (waiting.length === 0) return;
    await next;
  }
}

describe('an invitation', () => {
  const VICTIM = 'victim@example.net';

  it('to a file names it so that no name can pass for more than it is', async () => {
    const workspace = await service.workspace(ada);
    const name = 'plan\r\nBcc: spy@example.net\r\n\r\n\u202e<b>.txt';
    writeFileSync(path.join(service.dataDir, 'workspaces', workspace, name), 'x');
    const invited = { workspace_id: workspace, path: name, email: 'guest@example.net' };
    const { status, body } = await ada.client.post('/api/file-invitations', invited);
    expect([status, body.mailed]).toEqual([200, true]);
    const [mail] = await smtp.mailsTo('guest@example.net');
    expect([mail?.to, mail?.headers.has('bcc')]).toEqual([['guest@example.net'], false]);
    const shown = 'plan\ufffd\ufffdBcc: spy@example.net\ufffd\ufffd\ufffd\ufffd\ufffd<b>.txt';
    expect(mail?.text.split('\n')[0]).toBe(`Ada shares “${shown}” with you`);
    expect(mail?.html).toContain(shown.replace('<b>', '&lt;b&gt;'));
    expect(mail?.text).toContain(`${PUBLIC_URL}/file-invitations/${body.token}`);
  });

  it('is mailed to one address no more than ten times in an hour, whoever sends it and whatever for', async () => {
    const workspace = await service.workspace(ada);
    await ada.client.put(`/api/workspaces/${workspace}/files/content`, { path: 'a.txt', content: 'x' });
    const bob = await service.person('Bob');
    const invite = () =>
      ada.client.post('/api/file-invitations', { workspace_id: workspace, path: 'a.txt', email: VICTIM });
    const invitations = `/api/organizations/${bob.organizationId}/invitations`;
    const { body: first } = await bob.client.post(invitations, { email: VICTIM });
    const sent = await Promise.all(Array.from({ length: 8 }, invite));
    expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([200]));
    const resend = () => bob.client.post(`${invitations}/${first.id}/resend`);
    expect((await resend()).status).toBe(200);
    for (const refused of [await resend(), await invite()]) {
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect(await smtp.mailsTo(VICTIM, 10)).toHaveLength(10);
    const kept = await service.database.query('select 1 from file_invitation where email = $1', [VICTIM]);
    expect(kept).toHaveLength(8);
  });
});
