import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { type HostedTarget } from '../../../src/hosting/gateway/index.js';
import { Client, type Json } from '../../harness/client.js';
import { FakeSites } from '../../harness/fake-sites.js';
import { freePort } from '../../harness/free-port.js';
import { type Person, TestService } from '../../harness/service.js';
import { type Shown, WebBrowser } from '../../harness/web-browser.js';

let service: TestService;
let sites: FakeSites;
let port: number;
let ada: Person;
let viewer: Person;
let stranger: Person;
let workspace: string;
let site: HostedTarget;
let origin: string;
let names = 0;

beforeAll(async () => {
  port = await freePort();
  service = await TestService.start({ PORT: String(port) });
  ada = await service.person('Ada');
  [viewer, stranger] = [await service.person('Viewer'), await service.person('Stranger')];
  workspace = await service.workspace(ada, { visibility: 'restricted' });
  await service.join(viewer, {
    organization: ada.organizationId,
    role: 'guest',
    workspace,
    workspaceRole: 'viewer',
  });
  sites = FakeSites.of(service);
});
afterAll(() => service.stop());

beforeEach(async () => {
  site = await sites.make(service, ada, `site ${++names}`, workspace);
  origin = originOf(site);
});

const originOf = ({ slug }: HostedTarget) => `http://${slug}.sites.localhost:${port}`;
const access = () => `/api/site-access/${site.id}`;
const set = async (fields: Json): Promise<Json> => {
  const { status, body } = await ada.client.put(access(), fields);
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const seen = ({ status, text }: Shown) =>
  status === 200 && text.startsWith('{') ? JSON.parse(text) : status;

async function signedIn(person: Person): Promise<WebBrowser> {
  const browser = new WebBrowser();
  const asked = await browser.open(`${origin}/`);
  const { email, password } = person;
  const entered = await browser.submit(asked, '/hosting/enter/sign-in', { email, password });
  expect([entered.status, entered.url.origin]).toEqual([200, origin]);
  return browser;
}

describe('a link', () => {
  it('opens it to its holder, and does not stay in the address', async () => {
    const { link } = await set({ mode: 'link' });
    const browser = new WebBrowser();
    const shown = await browser.open(`${link}&page=2`);
    expect([seen(shown), shown.url.href]).toEqual([
      expect.objectContaining({ site: site.slug, isPublic: false }),
      `${origin}/?page=2`,
    ]);
    expect(seen(await browser.open(`${origin}/b`))).toMatchObject({ url: '/b' });
    const without = await new WebBrowser().open(`${origin}/`);
    expect([without.status, without.text]).toEqual([401, expect.stringContaining('Open this by its link')]);
    expect((await new WebBrowser().open(`${origin}/?atl_link=guess`)).status).toBe(401);
  });

  it('is shown to those alone who could make another one', async () => {
    const { link } = await set({ mode: 'link' });
    expect((await ada.client.get(access())).body.link).toBe(link);
    expect((await viewer.client.get(access())).body.link).toBeNull();
    const reader = await service.key(ada, { scopes: ['sites:read'] });
    expect((await reader.get(access())).body.link).toBeNull();
  });

  it('stays the same until another one is wanted, which ends it', async () => {
    const { link } = await set({ mode: 'link' });
    expect((await set({ mode: 'link' })).link).toBe(link);
    const rotated = (await set({ mode: 'link', rotate_link: true })).link;
    expect(rotated).not.toBe(link);
    expect((await new WebBrowser().open(link)).status).toBe(401);
    expect((await new WebBrowser().open(rotated)).status).toBe(200);
    await set({ mode: 'workspace' });
    expect((await set({ mode: 'link' })).link).not.toBe(rotated);
  });

  it('lets members in without it', async () => {
    await set({ mode: 'link' });
    const browser = new WebBrowser();
    const asked = await browser.open(`${origin}/_atelier/sign-in?next=/b`);
    const { email, password } = viewer;
    const entered = await browser.submit(asked, '/hosting/enter/sign-in', { email, password });
    expect(seen(entered)).toMatchObject({ url: '/b', viewer: { name: 'Viewer' } });
  });
});

describe('a password', () => {
  it('is asked for, and opens it', async () => {
    await set({ mode: 'password', password: 'open sesame' });
    const browser = new WebBrowser();
    const asked = await browser.open(`${origin}/notes?x=1`);
    expect(asked.status).toBe(401);
    const wrong = await browser.submit(asked, '/_atelier/unlock', { password: 'sesame' });
    expect([wrong.status, wrong.text]).toEqual([422, expect.stringContaining('This is not the password')]);
    const opened = await browser.submit(wrong, '/_atelier/unlock', { password: 'open sesame' });
    expect([opened.url.href, seen(opened)]).toEqual([
      `${origin}/notes?x=1`,
      expect.objectContaining({ url: '/notes?x=1' }),
    ]);
  });

  it('cannot be tried again and again', async () => {
    await set({ mode: 'password', password: 'open sesame' });
    const browser = new WebBrowser();
    const asked = await browser.open(`${origin}/`);
    const tries = [];
    for (let n = 0; n < 7; n++)
      tries.push(await browser.submit(asked, '/_atelier/unlock', { password: `try ${n}` }));
    expect(tries.map(({ status }) => status)).toContain(429);
    expect(tries.at(-1)?.headers['retry-after']).toMatch(/^\d+$/);
  });

  it('is taken from the page of the host alone, and leads nowhere else', async () => {
    await set({ mode: 'password', password: 'open sesame' });
    const browser = new WebBrowser();
    const other = originOf(await sites.make(service, ada, `evil ${names}`, workspace));
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const sent = { method: 'POST', body: 'password=open+sesame', headers };
    expect((await browser.fetch(other, `${origin}/_atelier/unlock`, sent)).status).toBe(403);
    const asked = await browser.open(`${origin}/`);
    for (const next of ['//evil.example.com', '/\\evil.example.com', 'https://evil.example.com', '']) {
      const opened = await browser.submit(asked, '/_atelier/unlock', { password: 'open sesame', next });
      expect([next, opened.url.href]).toEqual([next, `${origin}/`]);
    }
  });

  it('that is changed closes it to those who knew the one before', async () => {
    await set({ mode: 'password', password: 'open sesame' });
    const browser = new WebBrowser();
    await browser.submit(await browser.open(origin), '/_atelier/unlock', { password: 'open sesame' });
    expect((await browser.open(origin)).status).toBe(200);
    await set({ mode: 'password', password: 'another one' });
    expect((await browser.open(origin)).status).toBe(401);
    expect((await set({ mode: 'password' })).has_password).toBe(true);
    const again = await browser.submit(await browser.open(origin), '/_atelier/unlock', {
      password: 'another one',
    });
    expect(again.status).toBe(200);
  });
});

describe('a visit ends', () => {
  it.each<[string, (person: Person) => Promise<unknown>]>([
    ['when the access is set anew', () => set({ mode: 'workspace' })],
    [
      'with the sign-in that it stands on',
      person => person.client.post('/api/auth/logout', { all: true }).then(() => endSessions(person)),
    ],
    ['with the membership', ({ id }) => ada.client.delete(`/api/workspaces/${workspace}/members/${id}`)],
  ])('%s', async (_when, end) => {
    const person = await service.person('Guest');
    await service.join(person, {
      organization: ada.organizationId,
      role: 'guest',
      workspace,
      workspaceRole: 'viewer',
    });
    const browser = await signedIn(person);
    expect((await browser.fetch(origin, '/data.json')).status).toBe(200);
    await end(person);
    const look = async () => (await browser.fetch(origin, '/data.json')).status !== 200;
    expect(await until(look, true)).toBe(true);
  });

  it('by signing out on the site', async () => {
    const browser = await signedIn(viewer);
    expect((await browser.fetch(origin, '/_atelier/sign-out', { method: 'POST' })).status).toBe(200);
    expect((await browser.fetch(origin, '/data.json')).status).toBe(401);
  });
});

/** Ends all sign-ins of a person, as their list of them does. */
async function endSessions({ client, email, password }: Person): Promise<void> {
  const { body } = await service.stranger.post('/api/auth/login', { email, password });
  const anew = new Client(client.url, { authorization: `Bearer ${body.access_token}` });
  const sessions = await anew.get('/api/auth/sessions');
  for (const { id, current } of sessions.body.items)
    if (!current) await anew.delete(`/api/auth/sessions/${id}`);
}

/** What `look` finds, once it is what is expected; it is published to this process a moment after the change. */
async function until<T>(look: () => Promise<T>, expected: T): Promise<T> {
  for (;;) {
    const found = await look();
    if (found === expected) return found;
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

describe('another site', () => {
  let evil: string;
  let browser: WebBrowser;
  beforeEach(async () => {
    evil = originOf(await sites.make(service, ada, `evil ${names}`, workspace));
    browser = await signedIn(viewer);
  });

  it('makes no requests in the name of its visitors', async () => {
    expect((await browser.fetch(evil, `${origin}/data.json`)).status).toBe(401);
    expect(
      (await browser.fetch(evil, `${origin}/data.json`, { mode: 'no-cors', dest: 'image' })).status,
    ).toBe(401);
    expect((await browser.fetch(evil, `${origin}/`, { mode: 'navigate', dest: 'iframe' })).status).toBe(401);
    const posted = { method: 'POST', body: 'a=b', mode: 'navigate', dest: 'document' };
    expect((await browser.fetch(evil, `${origin}/`, posted)).status).toBe(401);
    expect((await browser.fetch(evil, `${origin}/_atelier/viewer`)).status).toBe(401);
    // A link is followed by the person.
    expect((await browser.open(`${origin}/`, evil)).status).toBe(200);
  });

  it('may where its origin is allowed', async () => {
    await set({ mode: 'workspace', allowed_origins: [evil] });
    browser = await signedIn(viewer);
    expect((await browser.fetch(evil, `${origin}/data.json`)).status).toBe(200);
  });

  it('cannot use the cookie of this one', async () => {
    browser.copyCookies(new URL(origin).hostname, new URL(evil).hostname);
    const theirs = await sites.make(service, stranger, `theirs ${names}`);
    browser.copyCookies(new URL(origin).hostname, new URL(originOf(theirs)).hostname);
    expect((await browser.fetch(originOf(theirs), '/')).status).toBe(401);
  });

  it('that sets a cookie of our name keeps nobody out', async () => {
    const host = new URL(origin).hostname;
    const tossed = new WebBrowser();
    tossed.setCookie(host, 'atl_visit', 'x'.repeat(43));
    tossed.setCookie(host, 'atl_start', 'y'.repeat(43));
    const asked = await tossed.open(`${origin}/`);
    const { email, password } = viewer;
    expect((await tossed.submit(asked, '/hosting/enter/sign-in', { email, password })).status).toBe(200);
  });

  it('signs no one in at the service, though it has the cookie and the whole form', async () => {
    const fresh = new WebBrowser();
    const asked = await fresh.open(`${origin}/`);
    const action = `${asked.url.origin}/hosting/enter/sign-in`;
    const copy = asked.text.replaceAll('action="/', `action="${asked.url.origin}/`);
    const { email, password } = viewer;
    const posted = await fresh.submit({ ...asked, text: copy, url: new URL(evil) }, action, {
      email,
      password,
    });
    expect([posted.status, posted.text]).toEqual([
      403,
      expect.stringContaining('does not come from the page'),
    ]);
    expect((await fresh.submit(asked, '/hosting/enter/sign-in', { email, password })).status).toBe(200);
  });
});

it('a browser that keeps no cookie is shown why, and does not go round', async () => {
  const browser = await signedIn(viewer);
  const host = new URL(origin).hostname;
  browser.setCookie(host, 'atl_visit', '');
  const shown = await browser.open(`${origin}/a`);
  expect([shown.status, shown.url.pathname, shown.text]).toEqual([
    401,
    '/a',
    expect.stringContaining('Signing in did not work'),
  ]);
  // The next time it may try again.
  expect(seen(await browser.open(`${origin}/a`))).toMatchObject({ url: '/a' });
});

describe('a program', () => {
  const withToken = (token: string) => ({ headers: { 'x-atelier-access': token } });
  const program = new WebBrowser({ 'user-agent': 'curl/8' }, false);

  it('opens the one site with a token, until that is revoked', async () => {
    const made = await ada.client.post(`${access()}/tokens`, { name: 'Uptime', expires_in: 3600 });
    expect([made.status, made.body.token]).toEqual([200, expect.stringMatching(/^ath_[\w-]{43}$/)]);
    const { token, id } = made.body;
    expect(seen(await program.fetch(origin, '/a', withToken(token)))).toMatchObject({ url: '/a' });
    const protocols = { headers: { 'sec-websocket-protocol': `chat, atelier.access.${token}` } };
    expect((await program.fetch(origin, '/a', protocols)).status).toBe(200);
    const other = originOf(await sites.make(service, ada, `other ${names}`, workspace));
    expect((await program.fetch(other, '/a', withToken(token))).status).toBe(401);
    expect((await program.fetch(origin, '/a', withToken(`ath_${'A'.repeat(43)}`))).status).toBe(401);
    const listed = await viewer.client.get(`${access()}/tokens`);
    expect(listed.body.items).toEqual([expect.objectContaining({ id, name: 'Uptime', created_by: ada.id })]);
    expect(JSON.stringify(listed.body)).not.toContain(token);
    expect((await ada.client.delete(`${access()}/tokens/${id}`)).status).toBe(200);
    expect((await program.fetch(origin, '/a', withToken(token))).status).toBe(401);
    expect((await ada.client.delete(`${access()}/tokens/${id}`)).status).toBe(404);
  });

  it('opens nothing any more once whoever made its token could not make another', async () => {
    const editor = await service.person('Editor');
    const place = { organization: ada.organizationId, role: 'guest', workspace, workspaceRole: 'editor' };
    await service.join(editor, place);
    const { body } = await editor.client.post(`${access()}/tokens`, { name: 'CI' });
    expect((await program.fetch(origin, '/', withToken(body.token))).status).toBe(200);
    await ada.client.put(`/api/workspaces/${workspace}/members/${editor.id}`, { role: 'viewer' });
    const look = async () => (await program.fetch(origin, '/', withToken(body.token))).status;
    expect(await until(look, 401)).toBe(401);
  });

  it('does not get far with an API key', async () => {
    const { body } = await ada.client.post('/api/keys', { name: 'CI' });
    const refused = await program.fetch(origin, '/', { headers: { 'x-api-key': body.api_key } });
    expect([refused.status, refused.text]).toEqual([
      401,
      expect.stringContaining('API keys and access tokens of the service are not taken here'),
    ]);
    // What is not ours is the site's business.
    await set({ mode: 'public' });
    expect((await program.fetch(origin, '/', { headers: { 'x-api-key': 'their own' } })).status).toBe(200);
  });
});

describe('who looks', () => {
  it.each<[string, Json]>([
    ['none', {}],
    ['id', { id: expect.any(String) }],
    ['profile', { id: expect.any(String), name: 'Viewer', email: expect.any(String), role: 'viewer' }],
  ])('is told to a page of the site, as far as %s', async (identity, told) => {
    await set({ mode: 'workspace', identity });
    const browser = await signedIn(viewer);
    const answer = seen(await browser.fetch(origin, '/_atelier/viewer'));
    expect(answer).toEqual({ signed_in: true, viewer: told, token: expect.any(String) });
    const keys = await service.stranger.get('/hosting/jwks.json');
    expect(JSON.stringify(keys.body)).not.toContain('"d"');
    const { payload, protectedHeader } = await jwtVerify(answer.token, createLocalJWKSet(keys.body), {
      issuer: `http://localhost:${port}`,
      audience: origin,
    });
    expect(protectedHeader).toMatchObject({ alg: 'ES256', typ: 'viewer+jwt' });
    expect(payload.email).toEqual(told.email);
    expect(payload.sub).toBe(identity === 'none' ? 'viewer' : viewer.id);
  });

  it('is nobody where nobody signed in', async () => {
    await set({ mode: 'public' });
    const answer = seen(await new WebBrowser().fetch(origin, '/_atelier/viewer'));
    expect(answer).toEqual({ signed_in: false, viewer: null, token: null });
  });
});

describe('an action that a site offers', () => {
  const input = { path: 'notes.md', content: 'from a visitor' };
  const sent = (fields: object = input) => ({
    method: 'POST',
    body: JSON.stringify(fields),
    headers: { 'content-type': 'application/json' },
  });
  beforeEach(async () => {
    await set({ mode: 'public' });
    const { body } = await ada.client.get('/api/auth/me');
    const unlimited = { scopes: null, expires_at: null, organization_id: null, workspace_ids: null };
    const credential = { type: 'session' as const, id: site.id, ...unlimited };
    const by = { type: 'user' as const, id: ada.id, name: body.name ?? 'Ada', email: ada.email, credential };
    sites.offered.set(site.id, { names: ['file_write', 'file_list'], isPublic: false, by });
  });

  /** A browser that is signed in though the site is open to everybody. */
  async function signed(person: Person): Promise<WebBrowser> {
    const browser = new WebBrowser();
    const asked = await browser.open(`${origin}/_atelier/sign-in?next=/`);
    await browser.submit(asked, '/hosting/enter/sign-in', { email: person.email, password: person.password });
    return browser;
  }

  it('runs for who is signed in, in the workspace of the site, and is written down with who it was', async () => {
    const browser = await signed(stranger);
    const ran = await browser.fetch(origin, '/_atelier/actions/file_write', sent());
    expect([ran.status, seen(ran)]).toEqual([200, expect.objectContaining({ status: 'completed' })]);
    const file = await ada.client.get(`/api/workspaces/${workspace}/files/content?path=notes.md`);
    expect(file.body.content).toBe('from a visitor');
    const audit = await ada.client.get(`/api/organizations/${ada.organizationId}/audit`);
    expect(audit.body.items).toContainEqual(
      expect.objectContaining({
        action: 'site.run_action',
        details: expect.objectContaining({
          action: 'file_write',
          viewer_id: stranger.id,
          viewer_name: 'Stranger',
        }),
      }),
    );
    const { body } = await ada.client.get(`/api/action-runs/${seen(ran).run_id}`);
    expect(body).toMatchObject({ action: 'file_write', caller: { kind: 'site', id: site.id } });
  });

  it('runs for nobody else', async () => {
    const browser = await signed(stranger);
    const other = originOf(await sites.make(service, ada, `evil ${names}`, workspace));
    const run = '/_atelier/actions/file_write';
    expect((await new WebBrowser().fetch(origin, run, sent())).status).toBe(401);
    expect((await browser.fetch(other, `${origin}${run}`, sent())).status).toBe(403);
    expect(
      (await browser.fetch(origin, '/_atelier/actions/file_delete', sent({ path: 'notes.md' }))).status,
    ).toBe(404);
    expect((await browser.fetch(origin, run, sent({ path: 1 }))).status).toBe(422);
    expect((await browser.fetch(origin, run, { ...sent(), headers: {} })).status).toBe(415);
    expect((await browser.fetch(origin, run, { ...sent(), body: '{' })).status).toBe(400);
  });

  it('does no more than whoever offers it may', async () => {
    const offered = sites.offered.get(site.id);
    if (offered) sites.offered.set(site.id, { ...offered, by: { ...offered.by, id: viewer.id } });
    const browser = await signed(stranger);
    expect((await browser.fetch(origin, '/_atelier/actions/file_write', sent())).status).toBe(403);
    expect((await browser.fetch(origin, '/_atelier/actions/file_list', sent({}))).status).toBe(200);
  });

  it('runs by a token that is listed, and can be revoked', async () => {
    const browser = await signed(stranger);
    const run = async () => (await browser.fetch(origin, '/_atelier/actions/file_list', sent({}))).status;
    expect([await run(), await run()]).toEqual([200, 200]);
    const list = async () => (await viewer.client.get(`${access()}/exec-tokens`)).body.items;
    const [token, ...more] = await list();
    expect([token, more]).toEqual([
      expect.objectContaining({ actions: ['file_write', 'file_list'], actor_id: ada.id }),
      [],
    ]);
    const address = `${access()}/exec-tokens/${token.id}`;
    expect((await viewer.client.delete(address)).status).toBe(403);
    expect((await stranger.client.delete(address)).status).toBe(404);
    expect((await ada.client.delete(address)).status).toBe(200);
    expect((await ada.client.delete(address)).status).toBe(404);
    expect(await list()).toEqual([]);
    // The site gets another one as long as it offers actions.
    expect(await run()).toBe(200);
    expect((await list()).map(({ id }: Json) => id)).not.toContain(token.id);
    await sites.release(site);
    const [left] = await service.database.query<Json>(
      'select count(*)::int as n from exec_token where caller_id = $1 and revoked_at is null',
      [site.id],
    );
    expect(left).toEqual({ n: 0 });
  });

  it('runs so often a minute', async () => {
    const browser = await signed(stranger);
    const statuses = [];
    for (let n = 0; n < 31; n++)
      statuses.push((await browser.fetch(origin, '/_atelier/actions/file_list', sent({}))).status);
    expect(statuses.slice(0, 30)).toEqual(Array(30).fill(200));
    expect(statuses[30]).toBe(429);
  });
});

describe('programs that make previews', () => {
  const bot = () => new WebBrowser({ 'user-agent': 'Slackbot-LinkExpanding 1.0' }, false);

  it('learn nothing', async () => {
    const shown = await bot().open(`${origin}/secret-page`);
    expect([shown.status, shown.way]).toEqual([401, []]);
    expect(shown.headers['x-robots-tag']).toBe('noindex');
    expect(shown.text).not.toContain(site.name);
    expect(shown.text).not.toContain('og:title');
  });

  it('learn what is meant for them', async () => {
    await set({ mode: 'workspace', public_preview: { title: 'Hand<book>', description: 'How we work' } });
    const { text } = await bot().open(`${origin}/secret-page`);
    expect(text).toContain('<meta property="og:title" content="Hand&lt;book&gt;">');
    expect(text).toContain('<meta property="og:description" content="How we work">');
  });
});

describe('setting who may open it', () => {
  it.each<Json>([
    { mode: 'restricted' },
    { mode: 'restricted', emails: ['nonsense'] },
    { mode: 'password' },
    { mode: 'password', password: 'abc' },
    { mode: 'everybody' },
    { mode: 'workspace', allowed_origins: ['https://a.example.com/path'] },
    { mode: 'workspace', allowed_origins: ['null'] },
    { mode: 'workspace', identity: 'all' },
    { mode: 'workspace', public_preview: { title: '' } },
    {},
  ])('refuses %j', async fields => {
    expect((await ada.client.put(access(), fields)).status).toBe(422);
  });

  it('is for editors; strangers do not learn that there is a site', async () => {
    for (const [person, status] of [
      [viewer, 403],
      [stranger, 404],
    ] as const) {
      expect((await person.client.put(access(), { mode: 'public' })).status).toBe(status);
      expect((await person.client.delete(access())).status).toBe(status);
      expect((await person.client.post(`${access()}/tokens`, { name: 'x' })).status).toBe(status);
    }
    expect((await viewer.client.get(access())).status).toBe(200);
    expect((await stranger.client.get(access())).status).toBe(404);
    expect((await stranger.client.get(`${access()}/tokens`)).status).toBe(404);
  });

  it('at once by two leaves what one of them set', async () => {
    const both = await Promise.all([
      ada.client.put(access(), { mode: 'restricted', emails: ['a@example.com'] }),
      ada.client.put(access(), { mode: 'password', password: 'open sesame' }),
    ]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    const { body } = await ada.client.get(access());
    expect([body.mode, body.has_password]).toEqual(
      body.mode === 'password' ? ['password', true] : ['restricted', false],
    );
  });

  it('is in the audit log and in the list of what is exposed, which tells how to end it', async () => {
    await set({ mode: 'restricted', emails: [stranger.email] });
    const exposed = () =>
      ada.client.get(`/api/share/exposed?organization_id=${ada.organizationId}&limit=200`);
    const [entry] = (await exposed()).body.items.filter(({ id }: Json) => id === site.id);
    expect(entry).toMatchObject({ kind: 'site', protection: 'sign_in', url: origin, name: site.name });
    const audit = await ada.client.get(`/api/organizations/${ada.organizationId}/audit`);
    expect(audit.body.items[0]).toMatchObject({
      action: 'site_access.set',
      target: { type: 'site', id: site.id },
    });
    expect((await ada.client.delete(entry.revoke_path)).status).toBe(200);
    expect((await exposed()).body.items.filter(({ id }: Json) => id === site.id)).toEqual([]);
    expect((await ada.client.get(access())).body).toMatchObject({ mode: 'workspace', emails: [] });
  });
});
