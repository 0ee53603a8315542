/** Sites while the database is away. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { FaultyProxy } from '../harness/faulty-proxy.js';
import { freePort } from '../harness/free-port.js';
import { TestService } from '../harness/service.js';
import { Visitor } from '../harness/visitor.js';
import { ServiceProcess } from './service-process.js';

let service: TestService;
let proxy: FaultyProxy;
let gateway: ServiceProcess;
let port: number;

beforeAll(async () => {
  service = await TestService.start();
  proxy = await FaultyProxy.start(service.database.url);
  port = await freePort();
  gateway = await ServiceProcess.start(service, {
    ROLE: 'gateway',
    PORT: String(port),
    DATABASE_URL: proxy.through(service.database.url),
  });
});
afterAll(async () => {
  proxy?.pass();
  await gateway?.stop();
  await proxy?.stop();
  await service?.stop();
});

const visit = async (host: string) => {
  const visitor = new Visitor(`http://127.0.0.1:${port}`);
  const { status, text } = await visitor.visit('/', { host, headers: { accept: 'text/html' } });
  return { status, text };
};

it('what is open to everybody goes on being served; what is not known says to come back', async () => {
  const ada = await service.person('Ada');
  const workspace = await service.workspace(ada);
  const put = (content: string) =>
    ada.client.put(`/api/workspaces/${workspace}/files/content`, { path: 'docs/index.html', content });
  await put('<h1>one</h1>');
  const site = await ada.client.post('/api/sites', {
    workspace_id: workspace,
    name: 'Docs',
    slug: 'docs',
    folder: 'docs',
  });
  const { id } = site.body;
  const publish = async () => {
    const version = await ada.client.post(`/api/sites/${id}/versions`, { auto_promote: true });
    const { body } = await ada.client.get(`/api/sites/${id}/versions/${version.body.id}?wait=60`);
    expect(body.state).toBe('live');
  };
  await publish();
  await ada.client.put(`/api/site-access/${id}`, { mode: 'public' });
  const host = 'docs.sites.localhost';
  expect(await visit(host)).toEqual({ status: 200, text: '<h1>one</h1>' });
  proxy.refuse();
  proxy.reset();
  expect(await visit(host)).toEqual({ status: 200, text: '<h1>one</h1>' });
  const unknown = await visit('unknown.sites.localhost');
  expect([unknown.status, unknown.text.includes('Back in a moment')]).toEqual([503, true]);
  expect(await visit(host)).toEqual({ status: 200, text: '<h1>one</h1>' });
  // What was changed meanwhile counts once it is back.
  await put('<h1>two</h1>');
  await publish();
  proxy.pass();
  let shown = await visit(host);
  while (shown.text !== '<h1>two</h1>') shown = await visit(host);
  expect(shown.status).toBe(200);
  expect(gateway.errors).toEqual([]);
});
