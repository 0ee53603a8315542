import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database, type UnitOfWork } from '../../../src/platform/database/index.js';
import { Chores } from '../../../src/platform/jobs/index.js';
import { Mailer, MailProcessor } from '../../../src/platform/mail/index.js';
import { FakeSmtpServer } from '../../fakes/smtp-server.js';
import { TestService } from '../../harness/service.js';
import { jobCompleted } from '../../harness/settled.js';

let smtp: FakeSmtpServer;
let service: TestService;
let mailer: Mailer;

beforeAll(async () => {
  smtp = await FakeSmtpServer.start({ user: 'atelier', password: 'p@ss/word' });
  service = await TestService.start({
    SMTP_URL: smtp.url,
    MAIL_FROM: 'Atelier <post@atelier.example.com>',
    LOG_LEVEL: 'silent',
  });
  mailer = service.app.get(Mailer, { strict: false });
});
afterAll(async () => {
  await service.stop();
  await smtp.stop();
});

const inTransaction = (work: (unit: UnitOfWork) => Promise<void>) =>
  service.app.get(Database, { strict: false }).transaction(work);
const send = (to: string, fields: { text?: string; html?: string } = {}) =>
  inTransaction(unit => mailer.send(unit, { to, subject: 'Greetings', text: 'Hello', ...fields }));
const rowOf = async (recipient: string) =>
  (await service.database.query('select * from mail_outbox where recipient = $1', [recipient]))[0];

/** The row of a mail once its job has brought it there. */
async function becomes(recipient: string, state: string) {
  for (;;) {
    const next = jobCompleted(service, 'mail');
    const row = await rowOf(recipient);
    if (row?.state === state) return row;
    await next;
  }
}

describe('outgoing mail', () => {
  it('arrives with both texts, from whom the operator says, under an id of its own', async () => {
    await send('ada@example.com', { text: 'Grüße,\nein € pro Zeile', html: '<p>Grüße</p>' });
    const [mail] = await smtp.mailsTo('ada@example.com');
    expect(mail).toMatchObject({ from: 'post@atelier.example.com', to: ['ada@example.com'] });
    expect(mail?.text).toContain('Grüße,\nein € pro Zeile');
    expect(mail?.html).toContain('<p>Grüße</p>');
    const { id } = (await rowOf('ada@example.com')) ?? {};
    expect(mail?.headers.get('message-id')).toBe(`<${id}@atelier.example.com>`);
  });

  it('does not leave when the transaction fails', async () => {
    const failing = inTransaction(async unit => {
      await mailer.send(unit, { to: 'never@example.com', subject: 'No', text: 'No' });
      throw new Error('undone');
    });
    await expect(failing).rejects.toThrow('undone');
    await send('after@example.com');
    await smtp.mailsTo('after@example.com');
    expect(smtp.mails.flatMap(({ to }) => to)).not.toContain('never@example.com');
  });

  it('is one line where it is about names, whatever was stored as these', async () => {
    const owner = await service.person();
    const organization = (await owner.client.post('/api/organizations', { name: 'Engines' })).body.id;
    await service.database.query('update "user" set name = $2 where id = $1', [
      owner.id,
      'Ada\r\nBcc: mallory@example.com\u2028You won!\n\nhttp://evil.example',
    ]);
    await service.database.query('update organization set name = $2 where id = $1', [
      organization,
      `Engines\u202egnp.exe\r\n\r\n${'long '.repeat(20)}`,
    ]);
    const workspace = await service.workspace(owner, { organization_id: organization });
    const at = `/api/workspaces/${workspace}/files/content`;
    await owner.client.put(at, { path: 'a\u2029b\u202e.txt', content: 'x' });
    await owner.client.post(`/api/organizations/${organization}/invitations`, { email: 'one@example.com' });
    await owner.client.post('/api/file-invitations', {
      workspace_id: workspace,
      path: 'a\u2029b\u202e.txt',
      email: 'two@example.com',
    });
    for (const address of ['one@example.com', 'two@example.com']) {
      const [mail] = await smtp.mailsTo(address);
      const raw = mail?.raw ?? '';
      expect(raw.slice(0, raw.indexOf('\r\n\r\n'))).not.toMatch(/^bcc:/im);
      const text = mail?.text ?? '';
      for (const part of [text, mail?.html ?? ''])
        expect(part).not.toMatch(/[\u2028\u2029\u202a-\u202e\u2066-\u2069]/);
      expect(text).toContain('Ada Bcc: mallory@example.com You won! http://evil.example');
      for (const line of text.split('\n')) expect(line).not.toMatch(/^(Bcc|You won|http:\/\/evil|gnp)/);
    }
  });

  it('goes to one address, whatever that holds', async () => {
    await send('ada@example.com, mallory@example.com');
    await becomes('ada@example.com, mallory@example.com', 'failed');
    expect(smtp.mails.flatMap(({ to }) => to)).not.toContain('mallory@example.com');
  });

  it('is tried again when the server cannot take it now', async () => {
    smtp.refusals.push('451 Try again later');
    await send('later@example.com');
    await smtp.mailsTo('later@example.com');
    expect(await becomes('later@example.com', 'sent')).toMatchObject({ attempts: 2, text: null });
  });

  it('is given up with the reason when the server never will', async () => {
    smtp.refusedRecipients.push('550 No such mailbox here');
    await send('nobody@example.com');
    const row = await becomes('nobody@example.com', 'failed');
    expect(row).toMatchObject({ attempts: 1, text: null, html: null });
    expect(row.reason).toContain('No such mailbox here');
  });

  it('is sent once, however often its job runs', async () => {
    await send('once@example.com');
    await smtp.mailsTo('once@example.com');
    const { id } = await becomes('once@example.com', 'sent');
    await service.app.get(MailProcessor, { strict: false }).deliver({ mail_id: id });
    expect(await smtp.mailsTo('once@example.com')).toHaveLength(1);
  });
});

describe('the record of mails', () => {
  it('is kept for a month', async () => {
    await send('kept@example.com');
    await becomes('kept@example.com', 'sent');
    const age = async (days: number) => {
      await service.database.query(
        `update mail_outbox set settled_at = now() - make_interval(days => $1) where recipient = 'kept@example.com'`,
        [days],
      );
      await service.app.get(Chores, { strict: false }).run('remove_settled_mail');
      return (await rowOf('kept@example.com'))?.state;
    };
    expect([await age(29), await age(31)]).toEqual(['sent', undefined]);
  });
});

describe('without a mail server', () => {
  it('says so, and sending does nothing', async () => {
    const quiet = await TestService.start();
    const quietMailer = quiet.app.get(Mailer, { strict: false });
    expect(quietMailer.isConfigured).toBe(false);
    await quiet.app
      .get(Database, { strict: false })
      .transaction(unit => quietMailer.send(unit, { to: 'a@example.com', subject: 'x', text: 'x' }));
    expect(await quiet.database.query('select * from mail_outbox')).toEqual([]);
    await quiet.stop();
  });
});
