/** Sites served by processes apart from the API: what is changed there counts here at once. */

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Json } from '../harness/client.js';
import { freePort } from '../harness/free-port.js';
import { type Person, TestService } from '../harness/service.js';
import { type Shown, WebBrowser } from '../harness/web-browser.js';
import { ServiceProcess } from './service-process.js';

let service: TestService;
let gateway: ServiceProcess;
let port: number;
let gatewayPort: number;
let ada: Person;
let workspace: string;
let serial = 0;

beforeAll(async () => {
  [port, gatewayPort] = [await freePort(), await freePort()];
  service = await TestService.start({ PORT: String(port) });
  gateway = await ServiceProcess.start(service, {
    ROLE: 'gateway',
    // Where people reach the service; sites are reached through a proxy, whose part the browser of the test plays.
    PUBLIC_URL: `http://localhost:${port}`,
    PORT: String(gatewayPort),
  });
  ada = await service.person('Ada');
  workspace = await service.workspace(ada, { visibility: 'restricted' });
});
afterAll(async () => {
  await gateway?.stop();
  await service?.stop();
});

/** Sends what is for sites to the gateway, as a proxy in front does. */
const newBrowser = () =>
  new WebBrowser(undefined, true, host => (host.includes('.sites.') ? gatewayPort : port));

async function site(access: Json): Promise<{ id: string; origin: string; slug: string }> {
  const slug = `site-${++serial}`;
  const file = { path: `${slug}/index.html`, content: `<h1>${slug}</h1>` };
  await ada.client.put(`/api/workspaces/${workspace}/files/content`, file);
  const made = await ada.client.post('/api/sites', {
    workspace_id: workspace,
    name: slug,
    slug,
    folder: slug,
  });
  const { id } = made.body;
  const version = await ada.client.post(`/api/sites/${id}/versions`, { auto_promote: true });
  const built = await ada.client.get(`/api/sites/${id}/versions/${version.body.id}?wait=60`);
  expect(built.body).toMatchObject({ state: 'live' });
  await set(id, access);
  return { id, slug, origin: `http://${slug}.sites.localhost:${port}` };
}

const set = async (id: string, access: Json) =>
  expect((await ada.client.put(`/api/site-access/${id}`, access)).status).toBe(200);

async function guest(): Promise<Person> {
  const person = await service.person('Guest');
  const organization = ada.organizationId;
  await service.join(person, { organization, role: 'guest', workspace, workspaceRole: 'viewer' });
  return person;
}

async function signedIn(origin: string, { email, password }: Person): Promise<WebBrowser> {
  const browser = newBrowser();
  const asked = await browser.open(origin);
  const entered = await browser.submit(asked, '/hosting/enter/sign-in', { email, password });
  expect([entered.status, entered.url.origin]).toEqual([200, origin]);
  return browser;
}

/** Until it is so: what one process publishes reaches another a moment later. */
async function until(look: () => Promise<Shown>, isSo: (shown: Shown) => boolean): Promise<Shown> {
  for (;;) {
    const shown = await look();
    if (isSo(shown)) return shown;
    await sleep(10);
  }
}

it('a person signs in at the API and sees the site of the gateway', async () => {
  const { origin, slug } = await site({ mode: 'workspace' });
  const browser = await signedIn(origin, await guest());
  expect((await browser.open(`${origin}/`)).text).toBe(`<h1>${slug}</h1>`);
  expect((await newBrowser().fetch(origin, '/')).status).toBe(401);
});

it.each<[string, (id: string, person: Person) => Promise<unknown>]>([
  ['who may open it is set anew', id => set(id, { mode: 'private' })],
  [
    'the membership ends',
    (_id, person) => ada.client.delete(`/api/workspaces/${workspace}/members/${person.id}`),
  ],
  [
    'the sign-ins end by a new password',
    (_id, { client, password }) =>
      client.post('/api/auth/password', { current_password: password, new_password: 'another long one' }),
  ],
  ['the site is deleted', id => ada.client.delete(`/api/sites/${id}`)],
])('a visit ends on the gateway, too, when %s', async (_when, change) => {
  const { id, origin } = await site({ mode: 'workspace' });
  const person = await guest();
  const browser = await signedIn(origin, person);
  const look = () => browser.fetch(origin, '/');
  expect((await look()).status).toBe(200);
  await change(id, person);
  expect((await until(look, ({ status }) => status !== 200)).status).not.toBe(200);
});

it('a site that is opened, closed or called otherwise is so on the gateway', async () => {
  const { id, origin } = await site({ mode: 'public' });
  const look = () => newBrowser().fetch(origin, '/');
  expect((await until(look, ({ status }) => status === 200)).headers['cache-control']).toContain('public');
  await set(id, { mode: 'workspace' });
  expect((await until(look, ({ status }) => status === 401)).status).toBe(401);
  await set(id, { mode: 'public' });
  expect((await until(look, ({ status }) => status === 200)).status).toBe(200);
  const renamed = await ada.client.patch(`/api/sites/${id}`, { slug: `renamed-${serial}` });
  expect(renamed.status).toBe(200);
  expect((await until(look, ({ status }) => status === 404)).status).toBe(404);
  const moved = () => newBrowser().fetch(`http://renamed-${serial}.sites.localhost:${port}`, '/');
  expect((await moved()).status).toBe(200);
});

it('a version that goes live is served by the gateway, and the one before it never again', async () => {
  const { id, origin, slug } = await site({ mode: 'public' });
  const look = async () => (await newBrowser().fetch(origin, '/')).text;
  const first = `<h1>${slug}</h1>`;
  while ((await look()) !== first);
  const file = { path: `${slug}/index.html`, content: 'two' };
  await ada.client.put(`/api/workspaces/${workspace}/files/content`, file);
  const before: string[] = [];
  const after: string[] = [];
  let isLive = false;
  const visitors = Array.from({ length: 4 }, async () => {
    while (after.length < 100) {
      // What was asked for before may be answered after.
      const answers = isLive ? after : before;
      answers.push(await look());
    }
  });
  const begun = await ada.client.post(`/api/sites/${id}/versions`, { auto_promote: true });
  const built = await ada.client.get(`/api/sites/${id}/versions/${begun.body.id}?wait=60`);
  expect(built.body).toMatchObject({ state: 'live' });
  while ((await look()) !== 'two');
  isLive = true;
  await Promise.all(visitors);
  expect([...new Set(after)]).toEqual(['two']);
  expect([first, 'two']).toEqual(expect.arrayContaining([...new Set(before)]));
});

it('the gateway goes on without faults', () => {
  expect(gateway.errors).toEqual([]);
});
