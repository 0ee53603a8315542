import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { FakeSmtpServer } from '../fakes/smtp-server.js';
import type { Json } from '../harness/client.js';
import { startOAuthService } from '../harness/oauth.js';
import type { Person, TestService } from '../harness/service.js';
import { DESKTOP, fitsWidth, launchChromium, picturesOf, SCREENS, signIn } from './launch.js';
import { clickMail } from './mail.js';

const picture = picturesOf('invitation');
const PASSWORD = 'a password of their own';

let service: TestService;
let smtp: FakeSmtpServer;
let chromium: Browser;
let ada: Person;
let workspace: string;
let invited = 0;

beforeAll(async () => {
  chromium = await launchChromium();
  smtp = await FakeSmtpServer.start();
  service = await startOAuthService({ SMTP_URL: smtp.url });
  ada = await service.person('Ada Lovelace');
  workspace = await service.workspace(ada, { name: 'Customer interviews' });
  for (const path of ['plans/summer.md', 'plans/drafts/autumn.md'])
    await ada.client.put(`/api/workspaces/${workspace}/files/content`, { path, content: `# ${path}` });
});
afterAll(async () => {
  await chromium?.close();
  await service?.stop();
  await smtp?.stop();
});

const newAddress = () => `newcomer${++invited}@example.com`;
const contextOf = (options: BrowserContextOptions = { viewport: DESKTOP }) => chromium.newContext(options);

async function invite(email: string, role = 'member'): Promise<Json> {
  const address = `/api/organizations/${ada.organizationId}/invitations`;
  const { status, body } = await ada.client.post(address, { email, role });
  expect(status).toBe(200);
  return body;
}

async function share(email: string, path = 'plans', role = 'viewer'): Promise<Json> {
  const { status, body } = await ada.client.post('/api/file-invitations', {
    workspace_id: workspace,
    path,
    email,
    role,
  });
  expect(status).toBe(200);
  return body;
}

const follow = (context: Awaited<ReturnType<typeof contextOf>>, email: string, count = 1) =>
  clickMail(context, smtp, email, { count, label: 'See the invitation' });

async function newPassword(page: Page, password: string): Promise<void> {
  await page.getByLabel('New password').fill(password);
  await page.getByRole('button', { name: 'Change the password' }).click();
}

async function makeAccount(page: Page, name = 'Grace Hopper'): Promise<void> {
  await page.getByLabel('Your name').fill(name);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Create account and accept' }).click();
}

const heading = (page: Page, name: string | RegExp) =>
  page.getByRole('heading', { name, level: 1 }).waitFor();

describe.each(SCREENS)('on %s', (name, options) => {
  const fits = async (page: Page) => {
    if (options.javaScriptEnabled !== false) expect(await fitsWidth(page)).toBe(true);
  };

  it('somebody without an account joins an organization by the link in their mail', async () => {
    const email = newAddress();
    await invite(email);
    const context = await contextOf(options);
    const page = await follow(context, email);
    await heading(page, /^Join Ada Lovelace's organization$/);
    expect(await page.getByLabel('E-mail address').inputValue()).toBe(email);
    await picture(page, `${name}-new`);
    await fits(page);
    await makeAccount(page);
    await heading(page, /^You are in Ada Lovelace's organization$/);
    expect(await page.getByText('Customer interviews').count()).toBe(1);
    await picture(page, `${name}-joined`);
    await fits(page);
    const login = await service.stranger.post('/api/auth/login', { email, password: PASSWORD });
    expect(login.body.user).toMatchObject({ email, name: 'Grace Hopper' });

    // The person who invited them has the link as well, so the address is not proved by it.
    expect(login.body.user.email_verified_at).toBeNull();
    const proof = await clickMail(context, smtp, email, { count: 2, label: 'Confirm the address' });
    await proof.getByRole('button', { name: 'Confirm the address' }).click();
    await heading(proof, 'Your address is confirmed');
    const authorization = { authorization: `Bearer ${login.body.access_token}` };
    const me = await service.stranger.with(authorization).get('/api/auth/me');
    expect(me.body.email_verified_at).toEqual(expect.any(String));

    // A second click shows the same, and one elsewhere asks who it is.
    await heading(await follow(context, email), /^You are in/);
    const elsewhere = await contextOf(options);
    const again = await follow(elsewhere, email);
    await heading(again, 'This invitation was accepted');
    await signIn(again, { email, password: PASSWORD });
    await heading(again, /^You are in/);
    await elsewhere.close();
    await context.close();
  });

  it('somebody without an account opens what was shared with them', async () => {
    const email = newAddress();
    await share(email);
    const context = await contextOf(options);
    const page = await follow(context, email);
    await heading(page, 'Ada Lovelace shares “plans” with you');
    await picture(page, `${name}-shared-new`);
    await makeAccount(page, 'Gil');
    await heading(page, '“plans” is shared with you');
    await picture(page, `${name}-shared`);
    await fits(page);
    await page.getByRole('link', { name: 'Open the files' }).click();
    await heading(page, 'plans');
    await picture(page, `${name}-files`);
    await fits(page);
    await page.getByRole('link', { name: 'drafts' }).click();
    await heading(page, 'drafts');
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'autumn.md' }).click();
    const saved = await download;
    expect(saved.suggestedFilename()).toBe('autumn.md');
    expect(readFileSync(await saved.path(), 'utf8')).toBe('# plans/drafts/autumn.md');
    await context.close();
  });
});

it('somebody with an account signs in to accept, and reads one file', async () => {
  const bob = await service.person('Bob');
  await smtp.mailsTo(bob.email);
  await share(bob.email, 'plans/summer.md', 'editor');
  const context = await contextOf();
  const page = await follow(context, bob.email, 2);
  await heading(page, 'Ada Lovelace shares “summer.md” with you');
  await signIn(page, { ...bob, password: 'not the password' });
  await page.getByRole('alert').waitFor();
  await picture(page, 'sign-in-wrong');
  await signIn(page, bob);
  await page.getByRole('button', { name: 'Accept' }).click();
  await heading(page, '“summer.md” is shared with you');
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Open the files' }).click();
  expect((await download).suggestedFilename()).toBe('summer.md');
  await ada.client.patch(`/api/organizations/${ada.organizationId}`, { name: 'Engines' });

  await invite(bob.email);
  const second = await follow(context, bob.email, 3);
  await heading(second, 'Join Engines');
  await second.getByRole('button', { name: 'Accept' }).click();
  await heading(second, 'You are in Engines');
  await ada.client.patch(`/api/organizations/${ada.organizationId}`, { name: "Ada Lovelace's organization" });
  await context.close();
});

it('somebody who is signed in as another person is told so, and switches', async () => {
  const bob = await service.person('Bob');
  await share(bob.email);
  const context = await contextOf();
  const mine = await follow(context, bob.email, 2);
  await signIn(mine, bob);
  await mine.getByRole('button', { name: 'Accept' }).click();
  await heading(mine, '“plans” is shared with you');
  const carla = await service.person('Carla');
  for (const [step, ask] of [() => share(carla.email), () => invite(carla.email)].entries()) {
    await ask();
    const page = await follow(context, carla.email, 2 + step);
    await page.getByText(`You are signed in as ${step === 0 ? bob.email : ada.email}.`).waitFor();
    await picture(page, `wrong-account-${step}`);
    await page.getByRole('button', { name: `Go on as ${carla.email}` }).click();
    await signIn(page, carla);
    await page.getByRole('button', { name: 'Accept', exact: true }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    // For the next one, somebody else is signed in again.
    await signIn(page, ada);
    await page.getByText(`This invitation is for ${carla.email}.`).waitFor();
  }
  await context.close();
});

it('an invitation that is declined, withdrawn or over says so', async () => {
  const context = await contextOf();
  const declined = newAddress();
  await invite(declined);
  await share(declined);
  for (const mail of await smtp.mailsTo(declined, 2)) {
    const page = await context.newPage();
    await page.setContent(mail.html);
    await page.getByRole('link', { name: 'See the invitation', exact: true }).click();
    await page.getByRole('button', { name: 'Decline' }).click();
    await heading(page, 'You declined');
  }
  expect(
    (await service.stranger.post('/api/auth/login', { email: declined, password: PASSWORD })).status,
  ).toBe(401);

  const late = newAddress();
  await invite(late);
  await share(late);
  for (const table of ['invitation', 'file_invitation'])
    await service.database.query(`update ${table} set expires_at = now() where email = $1`, [late]);
  for (const mail of await smtp.mailsTo(late, 2)) {
    const page = await context.newPage();
    await page.setContent(mail.html);
    await page.getByRole('link', { name: 'See the invitation', exact: true }).click();
    await heading(page, 'This invitation has expired');
    expect(await page.getByText('Ask Ada Lovelace for a new one').count()).toBe(1);
    await picture(page, 'expired');
  }

  const withdrawn = newAddress();
  const [offer, files] = [await invite(withdrawn), await share(withdrawn)];
  await ada.client.delete(`/api/organizations/${ada.organizationId}/invitations/${offer.id}`);
  await ada.client.delete(`/api/file-invitations/${files.id}`);
  const page = await follow(context, withdrawn, 2);
  await heading(page, 'There is no such invitation');
  await context.close();
});

describe.each(SCREENS)('the other links in mails, on %s', (name, options) => {
  it('confirm an address, move an account to another, and give it a new password', async () => {
    const context = await contextOf(options);
    const bob = await service.person('Bob');
    const verify = await clickMail(context, smtp, bob.email, { label: 'Confirm the address' });
    await verify.getByRole('button', { name: 'Confirm the address' }).click();
    await heading(verify, 'Your address is confirmed');
    expect((await bob.client.get('/api/auth/me')).body.email_verified_at).not.toBeNull();

    const email = newAddress();
    await bob.client.post('/api/auth/email', { email, password: bob.password });
    const moving = await clickMail(context, smtp, email, { label: 'Confirm the new address' });
    await moving.getByText(email).waitFor();
    await picture(moving, `${name}-move`);
    await moving.getByRole('button', { name: 'Confirm the new address' }).click();
    await heading(moving, 'Your address is changed');
    expect((await bob.client.get('/api/auth/me')).body.email).toBe(email);
    const used = await clickMail(context, smtp, email, { label: 'Confirm the new address' });
    await used.getByText('This link was used').waitFor();

    const home = await context.newPage();
    await home.goto(service.url);
    await heading(home, 'A workspace for teams and agents');
    await picture(home, `${name}-landing`);
    if (options.javaScriptEnabled !== false) expect(await fitsWidth(home)).toBe(true);
    await home.getByRole('link', { name: 'Get a new one' }).click();
    await home.getByLabel('E-mail address').fill(email);
    await picture(home, `${name}-forgot`);
    await home.getByRole('button', { name: 'Send the link' }).click();
    await heading(home, 'Look into your mail');
    const reset = await clickMail(context, smtp, email, { count: 2, label: 'Choose a new password' });
    await newPassword(reset, 'a whole new password');
    await heading(reset, 'Your password is changed');
    const login = await service.stranger.post('/api/auth/login', { email, password: 'a whole new password' });
    expect(login.status).toBe(200);
    await context.close();
  });
});
