import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type HostedTarget } from '../../../src/hosting/gateway/index.js';
import { FakeSmtpServer } from '../../fakes/smtp-server.js';
import type { Json } from '../../harness/client.js';
import { FakeSites } from '../../harness/fake-sites.js';
import { freePort } from '../../harness/free-port.js';
import { type Person, TestService } from '../../harness/service.js';
import { type Shown, WebBrowser } from '../../harness/web-browser.js';

let smtp: FakeSmtpServer;
let service: TestService;
let sites: FakeSites;
let port: number;
let ada: Person;
let member: Person;
let viewer: Person;
let stranger: Person;
let workspace: string;
let site: HostedTarget;
let origin: string;
let names = 0;

beforeAll(async () => {
  port = await freePort();
  smtp = await FakeSmtpServer.start();
  service = await TestService.start({
    PORT: String(port),
    SMTP_URL: smtp.url,
    MAIL_FROM: 'atelier@example.com',
    PUBLIC_URL: `http://localhost:${port}`,
  });
  ada = await service.person('Ada');
  [member, viewer, stranger] = [
    await service.person('Member'),
    await service.person('Viewer'),
    await service.person('Stranger'),
  ];
  workspace = await service.workspace(ada, { visibility: 'restricted' });
  const organization = ada.organizationId;
  await service.join(member, { organization, role: 'member' });
  await service.join(viewer, { organization, role: 'guest', workspace, workspaceRole: 'viewer' });
  sites = FakeSites.of(service);
});
afterAll(async () => {
  await service.stop();
  await smtp.stop();
});

beforeEach(async () => {
  site = await sites.make(service, ada, `site ${++names}`, workspace);
  origin = `http://${site.slug}.sites.localhost:${port}`;
});

const access = () => `/api/site-access/${site.id}`;
const set = async (fields: Json): Promise<Json> => {
  const { status, body } = await ada.client.put(access(), fields);
  expect([fields, status, body]).toEqual([fields, 200, expect.anything()]);
  return body;
};

/** Goes to an address, and signs in where it is asked to. */
async function signIn(browser: WebBrowser, person: Person, address = `${origin}/`): Promise<Shown> {
  const asked = await browser.open(address);
  if (!asked.url.pathname.startsWith('/hosting/enter') || asked.status !== 200) return asked;
  return browser.submit(asked, '/hosting/enter/sign-in', { email: person.email, password: person.password });
}

const seen = ({ status, text }: Shown) =>
  status === 200 && text.startsWith('{') ? JSON.parse(text) : status;

describe('a browser that is not signed in', () => {
  it('signs in on the page of the service, and comes back to where it wanted to go', async () => {
    const browser = new WebBrowser();
    const asked = await browser.open(`${origin}/guide/a?b=c%20d`);
    expect([asked.status, asked.url.host, asked.url.pathname]).toEqual([
      200,
      `localhost:${port}`,
      '/hosting/enter',
    ]);
    const entered = await browser.submit(asked, '/hosting/enter/sign-in', {
      email: viewer.email,
      password: viewer.password,
    });
    expect(entered.url.href).toBe(`${origin}/guide/a?b=c%20d`);
    expect(seen(entered)).toMatchObject({
      site: site.slug,
      isPublic: false,
      viewer: { name: 'Viewer', role: 'viewer' },
    });
    // Neither the ticket nor the nonce stays.
    expect(browser.cookiesOf(new URL(origin).hostname).sort()).toEqual(['atl_round', 'atl_visit']);
    expect(seen(await browser.open(`${origin}/b`))).toMatchObject({ url: '/b' });
  });

  it('signs in once for all sites', async () => {
    const browser = new WebBrowser();
    await signIn(browser, ada);
    const other = await sites.make(service, ada, `other ${names}`, workspace);
    const shown = await browser.open(`http://${other.slug}.sites.localhost:${port}/`);
    expect(seen(shown)).toMatchObject({ site: other.slug });
    expect(shown.way.map(({ pathname }) => pathname)).toEqual(['/', '/hosting/enter', '/_atelier/enter']);
  });

  it('learns no more than that its account may not open it', async () => {
    const refused = await signIn(new WebBrowser(), stranger);
    expect([refused.status, refused.url.pathname]).toEqual([403, '/hosting/enter']);
    expect(refused.text).toContain('You cannot open this');
    expect(refused.text).not.toContain(site.name);
  });

  it('gets no page where it asks for none', async () => {
    const browser = new WebBrowser();
    for (const dest of ['empty', 'script', 'image', 'iframe']) {
      const mode = dest === 'iframe' ? 'navigate' : 'cors';
      const refused = await browser.fetch(origin, '/data.json', { dest, mode });
      expect([refused.status, JSON.parse(refused.text)]).toEqual([
        401,
        { detail: expect.stringContaining('Sign in') },
      ]);
    }
    const posted = await browser.fetch(origin, '/', { method: 'POST', body: 'x' });
    expect(posted.status).toBe(401);
  });
});

describe('a ticket', () => {
  /** The address with a ticket that `person` would be sent to from a browser that began there. */
  async function ticketFor(browser: WebBrowser, person: Person): Promise<URL> {
    const entered = await signIn(browser, person);
    const address = entered.way.find(({ pathname }) => pathname === '/_atelier/enter');
    if (!address) throw new Error(`no ticket on the way to ${entered.url}`);
    return address;
  }

  it('is spent once', async () => {
    const browser = new WebBrowser();
    const used = await ticketFor(browser, ada);
    const again = await browser.open(used);
    expect([again.status, again.url.pathname]).toEqual([400, '/_atelier/enter']);
    expect(again.text).toContain('Signing in did not work');
  });

  it('is of the one browser that asked for it, and is not lost to another', async () => {
    const mine = new WebBrowser();
    const asked = await mine.open(`${origin}/`);
    // Somebody follows the same way in another browser: the ticket is good in the first alone.
    const other = new WebBrowser();
    const theirs = await other.open(asked.url);
    const landed = await other.submit(theirs, '/hosting/enter/sign-in', {
      email: ada.email,
      password: ada.password,
    });
    expect([landed.status, landed.url.pathname]).toEqual([400, '/_atelier/enter']);
    expect(seen(await mine.open(landed.url))).toMatchObject({ site: site.slug });
  });

  it('is not spent by a program that only looks at it', async () => {
    const mine = new WebBrowser();
    const asked = await mine.open(`${origin}/`);
    const other = new WebBrowser();
    const theirs = await other.open(asked.url);
    const landed = await other.submit(theirs, '/hosting/enter/sign-in', {
      email: ada.email,
      password: ada.password,
    });
    const head = await mine.fetch(origin, landed.url, { method: 'HEAD' });
    expect(head.status).toBe(400);
    expect((await new WebBrowser({ 'user-agent': 'Slackbot 1.0' }).open(landed.url)).status).toBe(400);
  });

  it('is worth nothing on another host', async () => {
    const other = await sites.make(service, ada, `elsewhere ${names}`, workspace);
    const elsewhere = `http://${other.slug}.sites.localhost:${port}`;
    const mine = new WebBrowser();
    const asked = await mine.open(`${origin}/`);
    const theirs = new WebBrowser();
    const page = await theirs.open(asked.url);
    const landed = await theirs.submit(page, '/hosting/enter/sign-in', {
      email: ada.email,
      password: ada.password,
    });
    mine.copyCookies(new URL(origin).hostname, new URL(elsewhere).hostname);
    const moved = new URL(landed.url.pathname + landed.url.search, elsewhere);
    expect((await mine.open(moved)).status).toBe(400);
  });

  it('leads to hosts of sites alone, and to the one that it names', async () => {
    const browser = new WebBrowser();
    const state = 'a'.repeat(43);
    for (const to of [
      'https://evil.example.com/',
      `http://nobody.sites.localhost:${port}/`,
      `https://${site.slug}.sites.localhost:${port}/`,
      `http://${site.slug}.sites.localhost:1/`,
      `http://${site.slug}.sites.localhost:${port}@evil.example.com/`,
      `http://localhost:${port}/`,
      'javascript:alert(1)',
      '',
    ]) {
      const query = new URLSearchParams({ to, state });
      const shown = await browser.open(`http://localhost:${port}/hosting/enter?${query}`);
      expect([to, shown.status]).toEqual([to, 404]);
    }
  });

  it('leads to a path of the host, however that is spelt', async () => {
    const entered = await signIn(new WebBrowser(), ada, `${origin}//evil.example.com/x`);
    expect(entered.url.origin).toBe(origin);
  });
});

describe('who may open it', () => {
  const PEOPLE = () => ({ creator: ada, member, viewer, stranger });

  async function whoOpens(): Promise<string[]> {
    const opened: string[] = [];
    for (const [name, person] of Object.entries(PEOPLE()))
      if ((await signIn(new WebBrowser(), person)).url.origin === origin) opened.push(name);
    return opened;
  }

  it.each<[Json, string[]]>([
    [{ mode: 'private' }, ['creator']],
    [{ mode: 'workspace' }, ['creator', 'viewer']],
    [{ mode: 'org' }, ['creator', 'member', 'viewer']],
    [{ mode: 'public' }, ['creator', 'member', 'viewer', 'stranger']],
  ])('with %j: %j', async (fields, people) => {
    await set(fields);
    expect(await whoOpens()).toEqual(people);
  });

  it('with restricted: those named, once their address is proved to be theirs', async () => {
    await set({ mode: 'restricted', emails: [stranger.email.toUpperCase()] });
    expect(await whoOpens()).toEqual(['creator', 'viewer']);
    await service.database.query('update "user" set email_verified_at = now() where id = $1', [stranger.id]);
    expect(await whoOpens()).toEqual(['creator', 'viewer', 'stranger']);
  });

  it('with restricted: a person whose address is not confirmed gets the link at the page, and comes in', async () => {
    const grace = await service.person('Grace');
    await set({ mode: 'restricted', emails: [grace.email] });
    const browser = new WebBrowser();
    const refused = await signIn(browser, grace);
    expect(refused.status).toBe(403);
    // That of the registration.
    await smtp.mailsTo(grace.email);
    smtp.mails.length = 0;
    const sent = await browser.submit(refused, '/hosting/enter/confirm-address', {});
    expect([sent.status, sent.text]).toEqual([200, expect.stringContaining(grace.email)]);
    const [mail] = await smtp.mailsTo(grace.email, 1, '/auth/verify');
    const [link = ''] = /http\S+\/auth\/verify\S+/.exec(mail?.text ?? '') ?? [];
    const confirmed = await browser.submit(await browser.open(link), '/auth/verify', {});
    expect(confirmed.status).toBe(200);
    expect(seen(await browser.open(`${origin}/`))).toMatchObject({ site: site.slug });
    // One whose address is confirmed is not offered that.
    await set({ mode: 'restricted', emails: ['other@example.com'] });
    const out = await signIn(new WebBrowser(), grace);
    expect([out.status, out.text]).toEqual([403, expect.not.stringContaining('confirm-address')]);
  });

  it('is not wider for one version than for the workspace, unless that is wanted', async () => {
    const version = `http://v3--${site.slug}.sites.localhost:${port}/`;
    await set({ mode: 'public' });
    expect((await new WebBrowser().open(version)).url.pathname).toBe('/hosting/enter');
    expect(seen(await signIn(new WebBrowser(), viewer, version))).toMatchObject({ version: 3 });
    await set({ mode: 'public', versions: 'same' });
    expect(seen(await new WebBrowser().open(version))).toMatchObject({ version: 3, isPublic: true });
  });

  it('is held back by the organization', async () => {
    await set({ mode: 'public' });
    const limit = `/api/organizations/${ada.organizationId}/exposure-limit`;
    expect((await ada.client.put(limit, { max_exposure: 'org' })).status).toBe(200);
    expect((await new WebBrowser().open(origin)).url.pathname).toBe('/hosting/enter');
    expect((await ada.client.get(access())).body).toMatchObject({
      mode: 'public',
      effective_mode: 'workspace',
    });
    const { status, body } = await ada.client.put(access(), { mode: 'link' });
    expect([status, body.detail]).toEqual([409, expect.stringContaining('to org at most')]);
    expect((await member.client.put(limit, { max_exposure: 'public' })).status).toBe(403);
    expect((await stranger.client.get(limit)).status).toBe(404);
    await ada.client.put(limit, { max_exposure: 'public' });
    expect((await new WebBrowser().open(origin)).status).toBe(200);
  });

  it('is nobody from outside while sharing is turned off in the workspace', async () => {
    await set({ mode: 'public' });
    await ada.client.patch(`/api/workspaces/${workspace}/features`, { sharing: false });
    expect((await new WebBrowser().open(origin)).url.pathname).toBe('/hosting/enter');
    expect((await ada.client.put(access(), { mode: 'public' })).status).toBe(403);
    await ada.client.patch(`/api/workspaces/${workspace}/features`, { sharing: true });
    expect((await new WebBrowser().open(origin)).status).toBe(200);
  });
});
