import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AxeBuilder } from '@axe-core/playwright';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { Forms } from '../harness/forms.js';
import { TestService } from '../harness/service.js';
import { DESKTOP, fitsWidth, launchChromium, PHONE, picturesOf } from './launch.js';

const shoot = picturesOf('forms');
const SCREENS: [string, BrowserContextOptions][] = [
  ['desktop', { viewport: DESKTOP }],
  ['phone', { viewport: PHONE, isMobile: true, hasTouch: true }],
  ['dark', { viewport: DESKTOP, colorScheme: 'dark' }],
];

const EVERYTHING = `title: Summer school 2027
description: |
  Two weeks by the sea. Places are given **in the order of responses**.

  - from 5 July
  - fees are paid on arrival
fields:
  - { id: about, label: About you, type: heading, help: So that we know who comes. }
  - { id: full_name, label: Your name, type: text, required: true, placeholder: Ada Lovelace }
  - { id: email, label: E-mail address, type: email, required: true, help: We send the programme there. }
  - { id: phone, label: Telephone, type: phone }
  - { id: website, label: Web site, type: url }
  - { id: age, label: Age, type: number, min: 16, max: 99, required: true }
  - { id: stay, label: Your stay, type: heading }
  - { id: arrival, label: Day of arrival, type: date, min: 2027-07-01, max: 2027-07-31 }
  - { id: hour, label: Time of arrival, type: time }
  - { id: room, label: Room, type: choice, required: true, options: [{ id: single, label: A room for one }, { id: shared, label: 'Shared, with a view of the harbour' }] }
  - { id: country, label: Country, type: choice, options: [Chile, Denmark, Ghana, Japan, Kenya, Nepal, Peru, Spain] }
  - { id: courses, label: Courses, type: choices, max: 2, options: [Navigation, Astronomy, Botany] }
  - { id: level, label: How well do you sail?, type: rating, required: true }
  - { id: letter, label: 'Why would you like to come?', type: textarea, max: 2000 }
  - { id: papers, label: Certificates, type: file, accept: [.pdf, image/*], max_files: 3 }
  - { id: terms, label: I have read the terms, type: checkbox, required: true }
confirmation: { title: See you in July, text: 'We write to you within **a week**.' }
`;
const SHORT = 'title: One question\nfields:\n  - { id: name, label: Name, type: text, required: true }\n';

let service: TestService;
let browser: Browser;
let forms: Forms;
let origin: string;

beforeAll(async () => {
  service = await TestService.start({ RATE_LIMITS_PER_HOUR: 'form_address=0' });
  browser = await launchChromium();
  forms = await Forms.in(service, await service.person());
  origin = `http://share.localhost:${new URL(service.url).port}`;
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

async function open(options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext(options);
  return context.newPage();
}

/** What axe finds wrong with the page as it is. It is a script, which pages of forms do not run by themselves. */
async function expectAccessible(page: Page, options: BrowserContextOptions): Promise<void> {
  const content = await page.content();
  const copy = await open({ ...options, bypassCSP: true });
  await copy.setContent(content);
  const { violations } = await new AxeBuilder({ page: copy })
    .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'])
    .setLegacyMode()
    .analyze();
  await copy.context().close();
  expect(
    violations.map(({ id, nodes }) => [id, nodes.map(({ html, failureSummary }) => [html, failureSummary])]),
  ).toEqual([]);
}

describe.each(SCREENS)('on a %s', (screen, options) => {
  it('a form is filled in without JavaScript, mended and sent', async () => {
    const made = await forms.make(EVERYTHING);
    const page = await open({ ...options, javaScriptEnabled: false });
    await page.goto(origin + made.at);
    await shoot(page, `${screen}-empty`);
    expect(await fitsWidth(await scripted(page, options))).toBe(true);
    await expectAccessible(page, options);
    await page.getByLabel('Your name').fill('Ada Lovelace');
    await page.getByLabel('E-mail address').fill('ada@example.com');
    await page.getByLabel('Age').fill('36');
    await page.getByLabel('A room for one').check();
    for (const course of ['Navigation', 'Astronomy', 'Botany']) await page.getByLabel(course).check();
    await page.getByLabel('4', { exact: true }).check();
    await page.getByLabel('Why would you like').fill('The sea.\nAnd the stars.');
    await page
      .getByLabel('Certificates')
      .setInputFiles({ name: 'c.pdf', mimeType: 'application/pdf', buffer: Buffer.from('x') });
    await page.getByLabel('I have read the terms').check();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.title()).toBe('Mistake: Summer school 2027');
    await shoot(page, `${screen}-mistakes`);
    await expectAccessible(page, options);
    await page.getByRole('link', { name: /Courses: this takes at most 2/ }).click();
    expect(await page.getByLabel('Why would you like').inputValue()).toBe('The sea.\nAnd the stars.');
    await page.getByLabel('Botany').uncheck();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('heading', { name: 'See you in July' }).waitFor();
    await shoot(page, `${screen}-done`);
    await expectAccessible(page, options);
    await page.context().close();
  });

  it('a form that is closed, has a password, or is a preview says so', async () => {
    const made = await forms.make(SHORT, { password: 'open sesame' });
    const page = await open({ ...options, javaScriptEnabled: false });
    await page.goto(origin + made.at);
    await shoot(page, `${screen}-password`);
    await expectAccessible(page, options);
    await page.getByLabel('Password').fill('open sesame');
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByLabel('Name').waitFor();
    await forms.owner.client.patch(`/api/forms/${made.id}`, { paused: true });
    await page.reload();
    await page.getByText('It takes no responses at the moment').waitFor();
    await shoot(page, `${screen}-paused`);
    await expectAccessible(page, options);
    const preview = await forms.owner.client.post(`/api/workspaces/${forms.workspace}/forms/preview`, {
      path: made.path,
    });
    await page.goto(origin + new URL(preview.body.url).pathname);
    await page.getByText('What you send is checked and not stored').waitFor();
    await shoot(page, `${screen}-preview`);
    await expectAccessible(page, options);
    await page.context().close();
  });
});

it('fields with a condition come and go without JavaScript', async () => {
  const made = await forms.make(`title: Visit
fields:
  - { id: kind, label: Kind, type: choice, options: [Guest, Speaker] }
  - { id: country, label: Country, type: choice, options: [A, B, C, D, E, F, G, H], show_if: { field: kind } }
  - { id: city, label: City, type: text, required: true, show_if: { field: country, is: [B, C] } }
  - { id: talk, label: Talk, type: heading, show_if: { field: kind, is: Speaker } }
  - { id: mail, label: Mail, type: email, show_if: { field: kind, is: Speaker } }
  - { id: paid, label: I have paid, type: checkbox }
  - { id: stars, label: Stars, type: rating, show_if: { field: paid, is: true } }
  - { id: why, label: Why not?, type: text, show_if: { field: paid, is: false } }
`);
  const page = await open({ viewport: DESKTOP, javaScriptEnabled: false });
  await page.goto(origin + made.at);
  const shown = async () => {
    const labels = ['Country', 'City', 'Talk', 'Mail', 'Stars', 'Why not?'];
    const seen = await Promise.all(
      labels.map(label => page.getByText(label, { exact: false }).first().isVisible()),
    );
    return labels.filter((_, index) => seen[index]);
  };
  expect(await shown()).toEqual(['Why not?']);
  await page.getByLabel('Speaker').check();
  expect(await shown()).toEqual(['Country', 'Talk', 'Mail', 'Why not?']);
  await page.getByLabel('Country').selectOption('B');
  await page.getByLabel('I have paid').check();
  expect(await shown()).toEqual(['Country', 'City', 'Talk', 'Mail', 'Stars']);
  await shoot(page, 'conditions');
  await page.getByLabel('Mail').fill('no address');
  await page.getByLabel('Guest').check();
  await page.getByLabel('Country').selectOption('D');
  expect(await shown()).toEqual(['Country', 'Stars']);
  await expectAccessible(page, { viewport: DESKTOP });
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('heading', { name: 'Thank you' }).waitFor();
  await page.context().close();
});

/** The same page, whose scripts tests may run. */
async function scripted(page: Page, options: BrowserContextOptions): Promise<Page> {
  const copy = await open({ ...options, bypassCSP: true });
  await copy.goto(page.url());
  return copy;
}

it('a form that asks for work has the browser do it', async () => {
  const made = await forms.make(`${SHORT}protection: pow\n`);
  const page = await open({ viewport: DESKTOP });
  const refused: string[] = [];
  page.on('console', message => message.type() === 'error' && refused.push(message.text()));
  await page.goto(origin + made.at);
  await page.getByLabel('Name').fill('Ada');
  await page
    .locator('altcha-widget input[type=hidden][value]:not([value=""])')
    .waitFor({ state: 'attached', timeout: 60_000 });
  await shoot(page, 'proof');
  await expectAccessible(page, { viewport: DESKTOP });
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('heading', { name: 'Thank you' }).waitFor();
  expect(refused).toEqual([]);
  await page.context().close();
});

describe('in a page of others', () => {
  let host: Server;
  let address: string;

  beforeAll(async () => {
    host = createServer((request, response) => {
      const src = URL.parse(request.url ?? '/', address)?.searchParams.get('form') ?? '';
      response.setHeader('content-type', 'text/html');
      response.end(`<h1>Ours</h1><iframe title="form" width="800" height="600" src="${src}"></iframe>`);
    });
    await new Promise<void>(resolve => host.listen(0, '127.0.0.1', resolve));
    address = `http://localhost:${(host.address() as AddressInfo).port}`;
  });
  afterAll(() => void host.close());

  it('it is shown where it lists them, and nowhere else', async () => {
    const listed = await forms.make(`${SHORT}embed: ${address}\n`);
    const other = await forms.make(SHORT);
    const page = await open({ viewport: DESKTOP });
    await page.goto(`${address}/?form=${origin}${listed.at}`);
    await page.frameLocator('iframe').getByLabel('Name').fill('Ada');
    await shoot(page, 'embedded');
    await page.frameLocator('iframe').getByRole('button', { name: 'Send' }).click();
    await page.frameLocator('iframe').getByRole('heading', { name: 'Thank you' }).waitFor();
    const blocked = page.waitForEvent('console', message =>
      /frame-ancestors|X-Frame-Options/.test(message.text()),
    );
    await page.goto(`${address}/?form=${origin}${other.at}`);
    await blocked;
    await page.context().close();
  });

  it('its scripts send where it lists them, and nowhere else', async () => {
    const listed = await forms.make(`${SHORT}embed: ${address}\n`);
    const other = await forms.make(SHORT);
    const page = await open({ viewport: DESKTOP });
    await page.goto(address);
    const send = (at: string) =>
      page.evaluate(`(async () => {
        const { ticket } = await (await fetch('${origin}${at}/challenge')).json();
        const body = JSON.stringify({ ticket, values: { name: 'Ada' } });
        const answer = await fetch('${origin}${at}', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
        return [answer.status, await answer.json()];
      })()`);
    expect(await send(listed.at)).toMatchObject([
      200,
      { received: true, confirmation: { title: 'Thank you' } },
    ]);
    await expect(send(other.at)).rejects.toThrow('Failed to fetch');
    await page.context().close();
  });
});
