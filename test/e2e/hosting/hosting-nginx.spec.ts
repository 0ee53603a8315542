/** Sites behind nginx, which sends the files itself. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Json } from '../../harness/client.js';
import { freePort } from '../../harness/free-port.js';
import { Nginx } from '../../harness/nginx.js';
import { type Person, TestService } from '../../harness/service.js';
import { settled } from '../../harness/settled.js';
import { Visitor } from '../../harness/visitor.js';
import { WebBrowser } from '../../harness/web-browser.js';

const PHOTO = randomBytes(600_000);

let service: TestService;
let nginx: Nginx;
let port: number;
let ada: Person;
let site: Json;
let host: string;

beforeAll(async () => {
  const own = await freePort();
  port = await freePort();
  service = await TestService.start({
    PORT: String(own),
    PUBLIC_URL: `http://localhost:${port}`,
    TRUSTED_PROXIES: 'loopback',
    GATEWAY_OFFLOAD: 'nginx',
  });
  nginx = await Nginx.start(port, { service: own, dataDir: service.dataDir });
  ada = await service.person('Ada');
  const workspace = await service.workspace(ada);
  const put = (path: string, body: Uint8Array) =>
    ada.client.raw('PUT', `/api/workspaces/${workspace}/files/upload?path=${path}`, {
      body: Uint8Array.from(body),
    });
  await put('docs/index.html', Buffer.from(`<h1>Docs</h1>${'<p>words</p>'.repeat(500)}`));
  await put('docs/photo.jpg', PHOTO);
  site = (
    await ada.client.post('/api/sites', {
      workspace_id: workspace,
      name: 'Docs',
      slug: 'docs',
      folder: 'docs',
    })
  ).body;
  let version = (await ada.client.post(`/api/sites/${site.id}/versions`, { auto_promote: true })).body;
  while (['queued', 'building'].includes(version.state))
    version = (await ada.client.get(`/api/sites/${site.id}/versions/${version.id}?wait=60`)).body;
  await ada.client.put(`/api/site-access/${site.id}`, { mode: 'public' });
  // Compressed files come after the version.
  await settled(service, 'builds');
  host = `docs.sites.localhost:${port}`;
});
afterAll(async () => {
  await nginx?.stop();
  await service?.stop();
});

const behind = () => new Visitor(`http://127.0.0.1:${port}`).visit;

it('sends files as the service says: type, caching, encoding, ranges', async () => {
  const visit = behind();
  const page = await visit('/', { host, headers: { 'accept-encoding': 'gzip' } });
  expect([page.status, page.headers['content-type'], page.headers['content-encoding']]).toEqual([
    200,
    expect.stringContaining('text/html'),
    'gzip',
  ]);
  expect(page.headers.etag).toMatch(/-gz"$/);
  expect(page.headers.vary).toBe('Accept-Encoding');
  const photo = await visit('/photo.jpg', { host });
  expect(photo.bytes.equals(PHOTO)).toBe(true);
  expect(photo.headers).toMatchObject({
    'content-type': 'image/jpeg',
    'cache-control': expect.stringContaining('public'),
  });
  // nginx has sent it, and does not say where it lies.
  expect([photo.headers['x-accel-redirect'], photo.headers.server]).toEqual([undefined, 'nginx']);
  const part = await visit('/photo.jpg', { host, headers: { range: 'bytes=100-199' } });
  expect([part.status, part.bytes.equals(PHOTO.subarray(100, 200))]).toEqual([206, true]);
  const again = await visit('/photo.jpg', { host, headers: { 'if-none-match': String(photo.headers.etag) } });
  expect(again.status).toBe(304);
  const head = await visit('/photo.jpg', { host, method: 'HEAD' });
  expect([head.status, head.headers['content-length'], head.bytes.length]).toEqual([200, '600000', 0]);
});

it('sends nothing that the service did not allow', async () => {
  const visit = behind();
  const direct = await new Visitor(service.url).visit('/photo.jpg', { host });
  const where = String(direct.headers['x-accel-redirect']);
  expect(where).toMatch(/^\/_blobs\//);
  for (const address of [
    where,
    where.replace('/_blobs', '//_blobs'),
    `/x/..${where}`,
    '/_blobs/../../vault.keys',
  ])
    expect([address, (await visit(address, { host })).status]).toEqual([
      address,
      address.includes('../..') ? 400 : 404,
    ]);
  await ada.client.put(`/api/site-access/${site.id}`, { mode: 'workspace' });
  const browser = new WebBrowser();
  expect((await browser.fetch(`http://${host}`, '/photo.jpg')).status).toBe(401);
  const asked = await browser.open(`http://${host}/`);
  const entered = await browser.submit(asked, '/hosting/enter/sign-in', {
    email: ada.email,
    password: ada.password,
  });
  expect([entered.status, entered.url.host]).toEqual([200, host]);
  expect(entered.text).toContain('<h1>Docs</h1>');
  expect(entered.headers['cache-control']).toContain('private');
});
