import { createPublicKey, generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { jwtVerify } from 'jose';
import type { Json } from '../harness/client.js';
import { type Person, TestService } from '../harness/service.js';

const BASE = '/api/v3';
const HOUR_MS = 3_600_000;

/** What GitHub Enterprise Server does of a GitHub App: it checks who asks and makes tokens that end. */
const github = {
  appId: 'Iv23liApp',
  installation: '4711',
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }),
  isInstalled: true,
  /** Token → when it ends. */
  tokens: new Map<string, number>(),
  made: 0,
  refused: [] as string[],
};

const server = createServer(async (request, response) => {
  const json = (status: number, value: unknown) =>
    void response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(value === undefined ? '' : JSON.stringify(value));
  const bearer = (request.headers.authorization ?? '').replace(/^Bearer /, '');
  const asked = `${request.method} ${request.url}`;
  if (asked === `POST ${BASE}/app/installations/${github.installation}/access_tokens`) {
    try {
      const { payload } = await jwtVerify(bearer, createPublicKey(github.privateKey), {
        algorithms: ['RS256'],
        issuer: github.appId,
        maxTokenAge: '10m',
      });
      if ((payload.exp ?? Number.POSITIVE_INFINITY) - (payload.iat ?? 0) > 600)
        throw new Error('it lasts too long');
    } catch (error) {
      github.refused.push(String(error));
      return json(401, { message: 'A JSON web token could not be decoded' });
    }
    if (!github.isInstalled) return json(404, { message: 'Not Found' });
    const token = `ghs_${randomUUID()}`;
    github.made++;
    github.tokens.set(token, Date.now() + HOUR_MS);
    return json(201, { token, expires_at: new Date(Date.now() + HOUR_MS).toISOString() });
  }
  if ((github.tokens.get(bearer) ?? 0) < Date.now()) return json(401, { message: 'Bad credentials' });
  if (asked === `DELETE ${BASE}/installation/token`) {
    github.tokens.delete(bearer);
    return json(204, undefined);
  }
  if (request.url?.startsWith(`${BASE}/installation/repositories`)) return json(200, { total_count: 1 });
  if (asked === `GET ${BASE}/repos/acme/site/issues`) return json(200, [{ number: 1 }]);
  return json(404, { message: 'Not Found' });
});

let service: TestService;
let ada: Person;
let workspace_id: string;

beforeAll(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  service = await TestService.start({ OUTGOING_PRIVATE_HOSTS: host });
  ada = await service.person('Ada');
  workspace_id = await service.workspace(ada);
  const field = (name: string, secret: boolean) => ({ name, label: name, secret });
  const definition = {
    ...{ id: 'enterprise', name: 'Our GitHub', docs: 'https://docs.example.com', auth: 'github_app' },
    api: {
      ...{ base_url: `http://${host}${BASE}`, hosts: [host], header: 'Authorization' },
      ...{ template: 'Bearer {access_token}', probe: '/installation/repositories?per_page=1' },
    },
    fields: [field('app_id', false), field('installation_id', false), field('private_key', true)],
  };
  const made = await ada.client.post('/api/integrations/providers', {
    organization_id: ada.organizationId,
    definition,
  });
  expect([made.status, made.body.detail]).toEqual([200, undefined]);
});
beforeEach(() => {
  github.isInstalled = true;
});
afterAll(async () => {
  await service.stop();
  server.closeAllConnections();
  server.close();
});

const pem = (key = github.privateKey) => String(key.export({ type: 'pkcs8', format: 'pem' }));
const create = (fields: Json = {}) =>
  ada.client.post('/api/integrations', {
    ...{ provider: 'enterprise', organization_id: ada.organizationId, owner: 'organization' },
    fields: {
      ...{ app_id: github.appId, installation_id: github.installation, private_key: pem() },
      ...fields,
    },
  });
const issues = async (id: string): Promise<Json> =>
  (
    await ada.client.post(`/api/integrations/${id}/request`, {
      ...{ workspace_id, method: 'GET', path: '/repos/acme/site/issues' },
    })
  ).body;
async function connected(): Promise<string> {
  const { status, body } = await create();
  expect([status, body.connection?.state]).toEqual([200, 'active']);
  const { id } = body.connection;
  await ada.client.put(`/api/integrations/${id}/workspaces`, { grants: [{ workspace_id }] });
  return id;
}
const end = (id: string) =>
  service.database.query(
    `update token_set set fresh_until = now() - interval '1 second', access_expires_at = now() - interval '1 second'
     where id = (select token_set_id from integration_connection where id = $1)`,
    [id],
  );

it('its installation is asked with tokens that are made when the last one has ended', async () => {
  const id = await connected();
  const before = github.made;
  expect(await issues(id)).toMatchObject({ status: 200 });
  expect(github.made).toBe(before);
  await end(id);
  const answers = await Promise.all(Array.from({ length: 20 }, () => issues(id)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(github.made).toBe(before + 1);
  expect(github.refused).toEqual([]);
});

it('it needs a person where the app is not installed any more', async () => {
  const id = await connected();
  await end(id);
  github.isInstalled = false;
  expect((await issues(id)).detail).toContain('not installed');
  const { body } = await ada.client.get(`/api/integrations/${id}`);
  expect(body).toMatchObject({ state: 'needs_reauth', reason: expect.stringContaining('not installed') });
});

it('the token ends with the connection', async () => {
  const id = await connected();
  const before = github.tokens.size;
  const [{ token_set_id: set } = {}] = await service.database.query<Json>(
    'select token_set_id from integration_connection where id = $1',
    [id],
  );
  expect((await ada.client.delete(`/api/integrations/${id}`)).status).toBe(200);
  while ((await service.database.query('select 1 from token_set where id = $1', [set])).length > 0);
  expect(github.tokens.size).toBe(before - 1);
});

it.each([
  [
    'the key of another app',
    { private_key: pem(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey) },
  ],
  ['what is no key', { private_key: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----' }],
  ['another app', { app_id: 'Iv23liOther' }],
  ['another installation', { installation_id: '../../user' }],
])('it is not made with %s, of which nothing is shown', async (_, fields) => {
  const { status, body } = await create(fields);
  expect([409, 422]).toContain(status);
  expect(JSON.stringify(body)).not.toContain('PRIVATE KEY');
  github.refused.splice(0);
});
