import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Client, type Json } from '../../harness/client.js';
import { TestServers } from '../../harness/servers.js';
import { type Person, TestService } from '../../harness/service.js';
import { TlsServers } from '../../harness/tls-servers.js';

const SECRET = 'frg_51ae-the-key-of-the-team';

/** A server that asks the service for whoever asks it, with what a program has: nothing. */
const PROGRAM = `
const { createServer } = require('node:http');
const { execFile } = require('node:child_process');
createServer((request, response) => {
  if (request.url === '/env') return response.end(JSON.stringify(process.env));
  execFile('curl', ['-sS', process.env.API + request.url], (error, out, err) => response.end(out + err));
}).listen(process.env.PORT);
`;

let service: TestService;
let tls: TlsServers;
let api: string;
let ada: Person;
let bob: Person;
let workspace: string;
let servers: TestServers;
let connection: string;
let seen: { url: string; authorization: string | undefined }[];

beforeAll(async () => {
  seen = [];
  tls = new TlsServers();
  api = await tls.start('127.0.0.2', ({ url = '', headers: { authorization } }, response) => {
    seen.push({ url, authorization });
    response.writeHead(authorization === `Bearer ${SECRET}` ? 200 : 401).end(`asked ${url}`);
  });
  service = await TestService.start({ OUTGOING_PRIVATE_HOSTS: api });
  [ada, bob] = [await service.person('Ada'), await service.person('Bob')];
  workspace = await service.workspace(ada, { visibility: 'restricted' });
  const member = { organization: ada.organizationId, role: 'member', workspace, workspaceRole: 'editor' };
  await service.join(bob, member);
  servers = new TestServers(service, ada.client, workspace);
  await servers.write('server.cjs', PROGRAM);
  const definition = {
    id: 'forge',
    name: 'Forge',
    docs: 'https://forge.example.com/docs',
    auth: 'api_key',
    api: {
      base_url: `https://${api}/v1`,
      hosts: [],
      header: 'Authorization',
      template: 'Bearer {api_key}',
      probe: '/me',
    },
    fields: [{ name: 'api_key', label: 'Key', secret: true }],
    variables: ['FORGE_TOKEN'],
  };
  const of = { organization_id: ada.organizationId };
  await ada.client.post('/api/integrations/providers', { ...of, definition });
  const { body } = await ada.client.post('/api/integrations', {
    ...of,
    provider: 'forge',
    owner: 'organization',
    fields: { api_key: SECRET },
  });
  connection = body.connection.id;
});
beforeEach(async () => {
  await grant();
  seen = [];
});
afterAll(async () => {
  await service?.stop();
  tls?.stop();
});

async function grant(grants: Json[] = [{ workspace_id: workspace }]): Promise<void> {
  const { status } = await ada.client.put(`/api/integrations/${connection}/workspaces`, { grants });
  expect(status).toBe(200);
}
const start = (settings: Json = {}, of = servers) =>
  of.start('exec node server.cjs', {
    env: { API: { value: `https://${api}/v1` } },
    connections: ['forge'],
    ...settings,
  });
const ask = async (server: Json, path = '/items') => (await servers.text(server, path)).text;
async function until(server: Json, said: RegExp): Promise<void> {
  while (!said.test(await ask(server))) await sleep(50);
}

it('asks with the credential of the connections that it lists, and has none itself', async () => {
  const server = await start();
  expect(server.connections).toEqual(['forge']);
  expect(await ask(server)).toBe('asked /v1/items');
  expect(seen).toEqual([{ url: '/v1/items', authorization: `Bearer ${SECRET}` }]);
  const env = await ask(server, '/env');
  expect(env).toContain('"FORGE_TOKEN":"atelier-placeholder"');
  expect(env).not.toContain(SECRET);
});

it('asks no more once the grant is taken away, and again once it is given back', async () => {
  const server = await start();
  await until(server, /^asked/);
  await grant([]);
  await until(server, /may not be reached|not one of the hosts|403|cannot be used/);
  const before = seen.length;
  expect(await ask(server)).not.toContain('asked');
  expect(seen).toHaveLength(before);
  await grant([{ workspace_id: workspace, paths: ['/items'] }]);
  await until(server, /^asked/);
  expect(await ask(server, '/others')).toContain('only GET, HEAD, POST, PUT, PATCH, DELETE below /v1/items');
});

it('has none where it lists none, or lists another', async () => {
  const server = await start({ connections: [] });
  expect(await ask(server)).toMatch(/^curl: /);
  const { status, body } = await ada.client.patch(`/api/tunnels/${server.id}`, { connections: ['Forgery'] });
  expect([status, body.detail]).toEqual([422, expect.stringContaining('connections: Forgery')]);
  expect((await ada.client.patch(`/api/tunnels/${server.id}`, { connections: ['Forge'] })).status).toBe(200);
  const again = await servers.running(server.id);
  expect(again.connections).toEqual(['Forge']);
  expect(await ask(server)).toBe('asked /v1/items');
});

it('ends with the membership and the key of who started it, in a server that still runs', async () => {
  const his = new TestServers(service, bob.client, workspace);
  const server = await start({ slug: 'his-own', name: 'His' }, his);
  await ada.client.put(`/api/tunnel-access/${server.id}`, { mode: 'public' });
  await until({ ...server, slug: 'his-own' }, /^asked/);
  const gone = await ada.client.delete(`/api/workspaces/${workspace}/members/${bob.id}`);
  expect(gone.status).toBe(200);
  await until({ ...server, slug: 'his-own' }, /Forge cannot be used: No such workspace/);
});

it('ends with the key of a program that started it', async () => {
  const key = await ada.client.post('/api/keys', { name: 'starter' });
  expect([key.status, key.body.detail]).toEqual([200, undefined]);
  const starter = new Client(service.url, { 'x-api-key': key.body.api_key });
  const server = await start({}, new TestServers(service, starter, workspace));
  await until(server, /^asked/);
  await ada.client.delete(`/api/keys/${key.body.id}`);
  await until(server, /who started the server, was revoked or has run out/);
});

it('is in the ledger as the server', async () => {
  const server = await start();
  await until(server, /^asked/);
  // A request is not held up by what is written down of it.
  for (;;) {
    const { body } = await ada.client.get('/api/action-runs?action=connection_use&limit=20');
    const found = body.items.find(({ caller }: Json) => caller.id === server.id);
    if (!found) continue;
    expect(found).toMatchObject({ caller: { kind: 'server', id: server.id }, workspace_id: workspace });
    break;
  }
});
