import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { type HostedTarget } from '../../src/hosting/gateway/index.js';
import type { Json } from '../harness/client.js';
import { FakeSites } from '../harness/fake-sites.js';
import { freePort } from '../harness/free-port.js';
import { type Person, TestService } from '../harness/service.js';
import { DESKTOP, fitsWidth, launchChromium, PHONE, picturesOf, signIn } from './launch.js';

const shoot = picturesOf('hosting');
const WIDTHS: [string, BrowserContextOptions][] = [
  ['desktop', { viewport: DESKTOP }],
  ['phone', { viewport: PHONE, isMobile: true, hasTouch: true }],
  ['dark', { viewport: DESKTOP, colorScheme: 'dark' }],
];

let port: number;
let service: TestService;
let sites: FakeSites;
let chromium: Browser;
let ada: Person;
let viewer: Person;
let stranger: Person;
let workspace: string;
let names = 0;

beforeAll(async () => {
  chromium = await launchChromium();
  port = await freePort();
  service = await TestService.start({ PORT: String(port) });
  ada = await service.person('Ada Lovelace');
  [viewer, stranger] = [await service.person('Grace Hopper'), await service.person('Stranger')];
  workspace = await service.workspace(ada, { visibility: 'restricted' });
  const organization = ada.organizationId;
  await service.join(viewer, { organization, role: 'guest', workspace, workspaceRole: 'viewer' });
  sites = FakeSites.of(service);
});
afterAll(async () => {
  await chromium?.close();
  await service?.stop();
});

const originOf = ({ slug }: HostedTarget) => `http://${slug}.sites.localhost:${port}`;

async function newSite(name: string, access?: Json): Promise<HostedTarget> {
  const site = await sites.make(service, ada, `${name} ${++names}`, workspace);
  sites.pages.set(`${site.slug}/`, `<!doctype html><title>${name}</title><h1>${name}</h1>`);
  sites.pages.set(`${site.slug}/guide`, `<!doctype html><title>Guide</title><h1>The guide</h1>`);
  if (access) expect((await ada.client.put(`/api/site-access/${site.id}`, access)).status).toBe(200);
  return site;
}

async function open(options: BrowserContextOptions = { viewport: DESKTOP }) {
  const context = await chromium.newContext(options);
  const page = await context.newPage();
  const refused: string[] = [];
  page.on('console', message => {
    if (/^(Refused to |)(loading|load|framing|frame|sending|send) /i.test(message.text()))
      refused.push(message.text());
  });
  return { context, page, refused };
}

const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor();

describe.each(WIDTHS)('on a %s', (width, options) => {
  it('a person signs in once and sees the site; the ticket and the nonce are gone', async () => {
    const site = await newSite('Handbook');
    const { context, page, refused } = await open({ ...options, javaScriptEnabled: false });
    await page.goto(`${originOf(site)}/guide`);
    await heading(page, 'Sign in');
    await shoot(page, `${width}-sign-in`);
    expect(await fitsWidth(page)).toBe(true);
    await signIn(page, { email: viewer.email, password: 'wrong' });
    await page.getByRole('alert').waitFor();
    await signIn(page, viewer);
    await heading(page, 'The guide');
    expect(page.url()).toBe(`${originOf(site)}/guide`);
    const cookies = await context.cookies(originOf(site));
    expect(
      cookies.map(({ name, httpOnly, sameSite, domain }) => ({ name, httpOnly, sameSite, domain })),
    ).toEqual(
      ['atl_visit', 'atl_round'].map(name => ({
        name,
        httpOnly: true,
        sameSite: 'Lax',
        domain: new URL(originOf(site)).hostname,
      })),
    );
    await page.goto(`${originOf(await newSite('Wiki'))}/`);
    await heading(page, 'Wiki');
    expect(refused).toEqual([]);
    await context.close();
  });

  it('somebody who may not open it learns whom to ask', async () => {
    const site = await newSite('Handbook');
    const { context, page } = await open({ ...options, javaScriptEnabled: false });
    await page.goto(originOf(site));
    await signIn(page, stranger);
    await heading(page, 'You cannot open this');
    await shoot(page, `${width}-not-allowed`);
    expect(await fitsWidth(page)).toBe(true);
    await page.getByRole('button', { name: 'Use another account' }).click();
    await signIn(page, viewer);
    await heading(page, 'Handbook');
    await context.close();
  });

  it('a password is asked for, refused when wrong, and opens the page that was wanted', async () => {
    const site = await newSite('Handbook', { mode: 'password', password: 'open sesame' });
    const { context, page, refused } = await open({ ...options, javaScriptEnabled: false });
    await page.goto(`${originOf(site)}/guide`);
    await heading(page, 'This has a password');
    await shoot(page, `${width}-password`);
    await page.getByLabel('Password').fill('sesame');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await shoot(page, `${width}-password-wrong`);
    expect(await fitsWidth(page)).toBe(true);
    await page.getByLabel('Password').fill('open sesame');
    await page.getByRole('button', { name: 'Open' }).click();
    await heading(page, 'The guide');
    expect(refused).toEqual([]);
    await context.close();
  });

  it('what is not there, or not for everybody, says so', async () => {
    const { context, page } = await open(options);
    await page.goto(`http://nobody.sites.localhost:${port}/`);
    await heading(page, 'There is nothing here');
    await shoot(page, `${width}-nothing`);
    expect(await fitsWidth(page)).toBe(true);
    await page.goto(originOf(await newSite('Handbook', { mode: 'link' })));
    await heading(page, 'Open this by its link');
    await shoot(page, `${width}-link-only`);
    await context.close();
  });
});

it('a link opens it, and its secret stays in no address', async () => {
  const site = await newSite('Handbook', { mode: 'link' });
  const { body } = await ada.client.get(`/api/site-access/${site.id}`);
  const { context, page } = await open();
  await page.goto(body.link);
  await heading(page, 'Handbook');
  expect(page.url()).toBe(`${originOf(site)}/`);
  expect(await page.evaluate('document.referrer + history.length')).not.toContain('atl_link');
  await context.close();
});

it('a browser that does not keep its cookie is told so, and does not go round', async () => {
  const site = await newSite('Handbook');
  const { context, page } = await open({ viewport: DESKTOP, javaScriptEnabled: false });
  await page.goto(originOf(site));
  await signIn(page, viewer);
  await heading(page, 'Handbook');
  await context.clearCookies({ name: 'atl_visit' });
  await page.goto(originOf(site));
  await heading(page, 'Signing in did not work');
  await shoot(page, 'no-cookie');
  await context.close();
});

/** What a page of a neighbour tries, and what came of it. */
const ATTACK = (victim: string, api: string) => `<!doctype html><title>Evil</title><script type="module">
const results = {};
const attempt = async (name, work) => { try { results[name] = await work(); } catch (error) { results[name] = 'failed'; } };
const status = async response => (await response).status;
await attempt('page', () => status(fetch('${victim}/guide', { credentials: 'include' })));
await attempt('blind', () => fetch('${victim}/guide', { credentials: 'include', mode: 'no-cors' }).then(({ type }) => type));
await attempt('viewer', () => status(fetch('${victim}/_atelier/viewer', { credentials: 'include' })));
await attempt('action', () => status(fetch('${victim}/_atelier/actions/file_write', { method: 'POST', credentials: 'include', body: '{}' })));
await attempt('sign out', () => status(fetch('${victim}/_atelier/sign-out', { method: 'POST', credentials: 'include' })));
await attempt('api', () => status(fetch('${api}/api/auth/me', { credentials: 'include' })));
await attempt('api write', () => status(fetch('${api}/api/workspaces', { method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json' }, body: '{"name":"Taken"}' })));
await attempt('own cookies', () => document.cookie);
await attempt('ticket', () => status(fetch('${api}/hosting/enter?to=' + encodeURIComponent('${victim}/') + '&state=' + 'a'.repeat(43), { credentials: 'include' })));
const opens = (url, protocols) => new Promise(resolve => {
  const socket = new WebSocket(url, protocols);
  socket.onopen = () => { socket.close(); resolve('open'); };
  socket.onerror = () => resolve('refused');
});
await attempt('socket', () => opens('${victim.replace('http', 'ws')}/live'));
await attempt('api socket', () => opens('${api.replace('http', 'ws')}/api/auth/me'));
await attempt('own socket', () => opens(location.origin.replace('http', 'ws') + '/live'));
await attempt('frame', () => new Promise(resolve => {
  const frame = document.createElement('iframe');
  frame.onload = () => { try { resolve(frame.contentDocument ? 'readable' : 'opaque'); } catch { resolve('opaque'); } };
  frame.src = '${victim}/guide';
  document.body.append(frame);
}));
document.cookie = 'atl_visit=' + 'x'.repeat(43) + '; domain=sites.localhost; path=/';
document.cookie = 'atl_start=' + 'x'.repeat(43) + '; domain=sites.localhost; path=/';
document.cookie = 'page_visit=tossed; domain=localhost; path=/';
await attempt('service worker', () => navigator.serviceWorker.register('${victim}/worker.js').then(() => 'registered'));
window.results = results;
</script><h1>Nice site</h1>`;

it('the page of a neighbour gets nowhere, whatever it tries', async () => {
  const victim = await newSite('Victim');
  const evil = await newSite('Evil', { mode: 'public' });
  sites.pages.set(`${evil.slug}/`, ATTACK(originOf(victim), `http://localhost:${port}`));
  const { context, page } = await open();
  await page.goto(originOf(victim));
  await signIn(page, viewer);
  await heading(page, 'Victim');
  const visitOf = async () =>
    (await context.cookies(originOf(victim))).find(({ name }) => name === 'atl_visit');
  const before = await visitOf();
  await page.goto(originOf(evil));
  await page.waitForFunction('window.results');
  expect(await page.evaluate('window.results')).toEqual({
    page: 'failed',
    blind: 'opaque',
    viewer: 'failed',
    action: 'failed',
    'sign out': 'failed',
    api: 'failed',
    'api write': 'failed',
    'own cookies': '',
    ticket: 'failed',
    socket: 'refused',
    'api socket': 'refused',
    'own socket': 'open',
    frame: 'opaque',
    'service worker': 'failed',
  });
  // The visitor is still signed in there, by the cookie from before.
  await page.goto(`${originOf(victim)}/guide`);
  await heading(page, 'The guide');
  expect((await visitOf())?.value).toBe(before?.value);
  await context.close();
});

it('a form of a neighbour does nothing in the name of a visitor', async () => {
  const victim = await newSite('Victim');
  const evil = await newSite('Evil', { mode: 'public' });
  const form = `<form method="post" action="${originOf(victim)}/guide"><button>Win</button></form>`;
  sites.pages.set(`${evil.slug}/`, `<!doctype html><title>Evil</title>${form}`);
  const { context, page } = await open();
  await page.goto(originOf(victim));
  await signIn(page, viewer);
  await page.goto(originOf(evil));
  const answered = page.waitForResponse(response => response.request().method() === 'POST');
  await page.getByRole('button', { name: 'Win' }).click();
  expect((await answered).status()).toBe(401);
  await context.close();
});

it('a form of a neighbour signs no one in and changes nothing at the service', async () => {
  const evil = await newSite('Evil', { mode: 'public' });
  const to = new URLSearchParams({ to: `${originOf(evil)}/`, state: 'a'.repeat(43) });
  const service = `http://localhost:${port}`;
  const form = (name: string, action: string, fields: Record<string, string>, type = '') =>
    `<form method="post" action="${service}${action}" enctype="${type}">${Object.entries(fields)
      .map(([field, value]) => `<input name='${field}' value='${value}'>`)
      .join('')}<button>${name}</button></form>`;
  const login = { email: stranger.email, password: stranger.password };
  // What a page of text ends with makes JSON of it.
  const json = { [`{"email":"${login.email}","password":"${login.password}","x":"`]: '"}' };
  sites.pages.set(
    `${evil.slug}/`,
    `<!doctype html><title>Evil</title><h1>Evil</h1>${form('Page', `/hosting/enter/sign-in?${to}`, login)}${form('JSON', '/api/auth/login', json, 'text/plain')}${form('Fields', '/api/workspaces', { name: 'Taken' })}`,
  );
  const { context, page } = await open();
  for (const [name, status] of [
    ['Page', 403],
    ['JSON', 415],
    ['Fields', 401],
  ] as const) {
    await page.goto(originOf(evil));
    await heading(page, 'Evil');
    const answered = page.waitForResponse(response => response.request().method() === 'POST');
    await page.getByRole('button', { name }).click();
    expect([name, (await answered).status()]).toEqual([name, status]);
  }
  await page.goto(originOf(await newSite('Handbook')));
  await heading(page, 'Sign in');
  await context.close();
});

it('a service worker of a neighbour answers for its own pages alone', async () => {
  const victim = await newSite('Victim', { mode: 'public' });
  const evil = await newSite('Evil', { mode: 'public' });
  sites.pages.set(
    `${evil.slug}/worker.js`,
    `self.addEventListener('install', event => event.waitUntil(self.skipWaiting()));
    self.addEventListener('fetch', event => event.respondWith(
      new Response('<!doctype html><title>Taken</title><h1>Taken</h1>', { headers: { 'content-type': 'text/html' } })));`,
  );
  sites.pages.set(
    `${evil.slug}/`,
    `<!doctype html><title>Evil</title><h1>Evil</h1><script type="module">
    await navigator.serviceWorker.register('/worker.js');
    await navigator.serviceWorker.ready;
    window.isReady = true;
    </script>`,
  );
  const { context, page } = await open();
  await page.goto(originOf(evil));
  await page.waitForFunction('window.isReady');
  await page.goto(`${originOf(evil)}/guide`);
  await heading(page, 'Taken');
  await page.goto(`${originOf(victim)}/guide`);
  await heading(page, 'The guide');
  await page.goto(originOf(await newSite('Handbook')));
  await heading(page, 'Sign in');
  await context.close();
});

it('a page of the site is told who looks, and its socket ends with the sign-in', async () => {
  const site = await newSite('Live', { mode: 'workspace', identity: 'profile' });
  const script = `new Promise((resolve, reject) => {
    window.socket = new WebSocket(location.origin.replace('http', 'ws') + '/live');
    socket.onopen = () => resolve('open');
    socket.onclose = () => { window.isClosed = true; };
    socket.onerror = reject;
  })`;
  const { context, page } = await open();
  await page.goto(originOf(site));
  await signIn(page, viewer);
  await heading(page, 'Live');
  const told = await page.evaluate(`fetch('/_atelier/viewer').then(answer => answer.json())`);
  expect(told).toMatchObject({ signed_in: true, viewer: { name: 'Grace Hopper', role: 'viewer' } });
  for (const left of sites.sockets) left.destroy();
  expect(await page.evaluate(script)).toBe('open');
  expect((await ada.client.put(`/api/site-access/${site.id}`, { mode: 'private' })).status).toBe(200);
  await page.waitForFunction('window.isClosed');
  await context.close();
});
