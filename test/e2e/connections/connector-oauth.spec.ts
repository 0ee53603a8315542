import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { FakeAuthorizationServer } from '../../fakes/oauth-server.js';
import { ToolServer } from '../../fakes/tool-server.js';
import { AgentClient, type AgentGround, startAgents } from '../../harness/agent.js';
import { Browser, type Visit } from '../../harness/browser.js';
import type { Json } from '../../harness/client.js';
import { freePort } from '../../harness/free-port.js';
import type { Person, TestService } from '../../harness/service.js';
import { settled } from '../../harness/settled.js';

let ground: AgentGround;
let service: TestService;
let ada: Person;
let member: Person;
let tools: ToolServer;
let authorization: FakeAuthorizationServer;
let other: FakeAuthorizationServer;
let workspace_id: string;
/** Who gives access to the server, as it says. */
let issuer: string;
/** What it says instead of its metadata. */
let resource: Json | undefined;

beforeAll(async () => {
  tools = await ToolServer.start('modern');
  [authorization, other] = await Promise.all([
    FakeAuthorizationServer.start(),
    FakeAuthorizationServer.start(),
  ]);
  const port = String(await freePort());
  ground = await startAgents({
    PORT: port,
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    OUTGOING_PRIVATE_HOSTS: [tools, authorization, other].map(({ host }) => host).join(','),
  });
  ({ service, ada } = ground);
  member = await service.person('Mel');
  workspace_id = await service.workspace(ada, { visibility: 'restricted' });
  const place = { organization: ada.organizationId, role: 'member', workspace: workspace_id };
  await service.join(member, { ...place, workspaceRole: 'editor' });
  tools.offer('work', (_, { request }) => `for ${request.headers.authorization?.slice(0, 10)}`, {
    annotations: { readOnlyHint: true },
  });
  tools.intercept = (request, response) => {
    const metadata = `http://${tools.host}/.well-known/oauth-protected-resource/mcp`;
    if (request.url?.startsWith('/.well-known/oauth-protected-resource')) {
      const said = resource ?? {
        resource: tools.url,
        authorization_servers: [issuer],
        scopes_supported: ['work'],
      };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(said));
      return true;
    }
    if ([authorization, other].some(server => server.admits(request, tools.url))) return false;
    response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` }).end();
    return true;
  };
});
afterEach(() => {
  ground.model.clear();
  authorization.metadata = {};
  authorization.expiresIn = 3600;
  authorization.tokenRequests.splice(0);
  resource = undefined;
  issuer = authorization.issuer;
});
afterAll(async () => {
  await ground.stop();
  await Promise.all([tools.stop(), authorization.stop(), other.stop()]);
});

let made = 0;
async function create(more: Json = {}, by = ada): Promise<Json> {
  issuer ??= authorization.issuer;
  const { status, body } = await by.client.post('/api/connectors', {
    organization_id: ada.organizationId,
    owner: 'organization',
    auth: 'oauth',
    name: `Remote ${++made}`,
    url: tools.url,
    ...more,
  });
  expect([status, body.detail]).toEqual([200, undefined]);
  expect(body.state).toBe('needs_auth');
  return body;
}

/** Goes through the pages as a person does, and returns the last one. */
async function authorize({ id }: Json, by = ada): Promise<Visit> {
  const { status, body } = await by.client.post(`/api/connectors/${id}/authorize`, {
    return_path: '/settings',
  });
  expect([status, body.detail]).toEqual([200, undefined]);
  const browser = new Browser(service.url);
  const signIn = await browser.open(body.authorize_url);
  const sent = await browser.submit(signIn, '/sign-in', { email: by.email, password: by.password });
  expect(sent.status).toBe(0);
  const back = await fetch(sent.url, { redirect: 'manual' });
  return browser.open(back.headers.get('location') ?? '');
}

async function allow({ id }: Json): Promise<void> {
  expect((await ada.client.post(`/api/connectors/${id}/test`)).body).toMatchObject({ ok: true });
  const { body } = await ada.client.get(`/api/connectors/${id}/tools`);
  const approve = body.items.map(({ name, hash }: Json) => ({ name, hash }));
  await ada.client.put(`/api/connectors/${id}/tools`, { approve });
  await ada.client.put(`/api/connectors/${id}/workspaces`, { grants: [{ workspace_id }] });
}

async function call({ slug }: Json, by = ada): Promise<Json> {
  ground.model.reply({ tools: [{ name: `mcp__${slug}__work`, input: {} }] });
  ground.model.reply({ text: 'done' });
  const { result } = await new AgentClient(by.client).run('go', { workspace_id, on_approval: 'refuse' });
  return result.toolOutputs[0];
}

const stateOf = async ({ id }: Json, by = ada): Promise<Json> =>
  (await by.client.get(`/api/connectors/${id}`)).body;

/** The access tokens of all connectors are at their end. */
async function end(): Promise<void> {
  authorization.expire();
  await service.database.query(
    `update token_set set fresh_until = now() - interval '1 s', access_expires_at = now() - interval '1 s', retry_at = null`,
  );
}

describe('a connector with OAuth', () => {
  it('registers itself, is authorized by a person, and used by agents', async () => {
    const connector = await create();
    const result = await authorize(connector);
    expect(result.html).toContain('is connected');
    const [registration] = authorization.registrations.slice(-1);
    expect(registration).toMatchObject({ redirect_uris: [`${service.url}/api/connectors/callback`] });
    expect(authorization.tokenRequests).toEqual([
      expect.objectContaining({
        grant_type: 'authorization_code',
        resource: tools.url,
        code_verifier: expect.any(String),
      }),
    ]);
    await allow(connector);
    expect(await call(connector)).toMatchObject({
      is_error: false,
      output: expect.stringContaining('Bearer at-'),
    });
    expect(await stateOf(connector)).toMatchObject({ state: 'active', reason: null });
  });

  it('renews its tokens once, whatever is called at their end', async () => {
    const connector = await create();
    await authorize(connector);
    await allow(connector);
    await end();
    authorization.tokenRequests.splice(0);
    const calls = Array.from({ length: 50 }, () => ada.client.post(`/api/connectors/${connector.id}/test`));
    const answers = await Promise.all(calls);
    const refreshes = authorization.tokenRequests.filter(({ grant_type }) => grant_type === 'refresh_token');
    expect(refreshes).toHaveLength(1);
    expect(refreshes[0]).toMatchObject({ resource: tools.url });
    expect(authorization.reused).toBe(0);
    const failed = answers.filter(({ body }) => !body.ok).map(({ body }) => body.reason ?? body.detail);
    expect(failed.filter(reason => !/at once, and no more may/.test(reason))).toEqual([]);
    expect((await call(connector)).is_error).toBe(false);
  });

  it('needs a person again where its grant is over, and is back under the same id', async () => {
    const connector = await create();
    await authorize(connector);
    await allow(connector);
    expect((await call(connector)).is_error).toBe(false);
    authorization.revoke();
    await end();
    expect(await call(connector)).toMatchObject({
      is_error: true,
      output: expect.stringContaining('authorized again'),
    });
    expect((await stateOf(connector)).state).toBe('needs_reauth');
    await settled(service, 'notifications');
    const told = await ada.client.get('/api/notifications?category=connector');
    expect(told.body.items[0]).toMatchObject({
      type: 'connector.needs_reauth',
      data: { connector_id: connector.id },
    });
    await authorize(connector);
    expect(await stateOf(connector)).toMatchObject({
      id: connector.id,
      state: 'active',
      tools: { approved: 1 },
    });
    expect((await call(connector)).is_error).toBe(false);
  });

  it('is looked at by a person where its server names another authorization server', async () => {
    const connector = await create();
    await authorize(connector);
    await allow(connector);
    issuer = other.issuer;
    await end();
    expect((await call(connector)).is_error).toBe(true);
    expect(other.tokenRequests).toEqual([]);
    expect(await stateOf(connector)).toMatchObject({
      state: 'needs_review',
      reason: expect.stringContaining(other.issuer),
    });
    await authorize(connector);
    expect(await stateOf(connector)).toMatchObject({ state: 'active' });
    expect((await call(connector)).is_error).toBe(false);
  });

  it('has an account for each person, where it says so', async () => {
    const connector = await create({ per_user: true });
    await authorize(connector);
    await allow(connector);
    expect((await stateOf(connector, member)).state).toBe('needs_auth');
    expect((await call(connector, member)).output).toContain('has to be authorized first');
    await authorize(connector, member);
    expect((await call(connector, member)).is_error).toBe(false);
  });

  it('is what its metadata document says where servers take that, and a typed client where there is one', async () => {
    const { status, body } = await service.stranger.get('/oauth/client.json');
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({
        client_id: `${service.url}/oauth/client.json`,
        redirect_uris: [`${service.url}/api/connectors/callback`],
        token_endpoint_auth_method: 'none',
      }),
    ]);
    authorization.metadata = { registration_endpoint: undefined };
    const connector = await create();
    const refused = await ada.client.post(`/api/connectors/${connector.id}/authorize`, {});
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      expect.stringContaining('/api/connectors/callback'),
    ]);
    await ada.client.patch(`/api/connectors/${connector.id}`, { client: { id: 'typed' } });
    await authorize(connector);
    expect(authorization.tokenRequests.at(-1)).toMatchObject({ client_id: 'typed' });
  });
});

describe('what a server says of authorization', () => {
  it.each<[string, () => void, RegExp]>([
    [
      'a javascript: address to send people to',
      () => {
        authorization.metadata = { authorization_endpoint: 'javascript:alert(document.cookie)' };
      },
      /authorization/,
    ],
    [
      'http to a host that is not listed',
      () => {
        authorization.metadata = { authorization_endpoint: 'http://login.example.com/authorize' };
      },
      /https/,
    ],
    [
      'tokens from within',
      () => {
        authorization.metadata = { token_endpoint: 'http://127.0.0.1:1/token' };
      },
      /https/,
    ],
    [
      'a registration at a metadata service',
      () => {
        authorization.metadata = { registration_endpoint: 'http://169.254.169.254/register' };
      },
      /https/,
    ],
    [
      'an authorization server within',
      () => {
        resource = { resource: tools.url, authorization_servers: ['https://127.0.0.1:1'] };
      },
      /not a public address/,
    ],
    [
      'a metadata service',
      () => {
        resource = { resource: tools.url, authorization_servers: ['http://169.254.169.254'] };
      },
      /https/,
    ],
    [
      'another issuer than the one that was asked',
      () => {
        authorization.metadata = { issuer: 'https://login.example.com' };
      },
      /issuer/i,
    ],
    [
      'access to another server',
      () => {
        resource = { resource: 'https://bank.example.com/', authorization_servers: [authorization.issuer] };
      },
      /bank\.example\.com|resource/,
    ],
    [
      'no S256',
      () => {
        authorization.metadata = { code_challenge_methods_supported: ['plain'] };
      },
      /S256/,
    ],
  ])('is refused where it is %s', async (_, arrange, why) => {
    const connector = await create();
    arrange();
    const { status, body } = await ada.client.post(`/api/connectors/${connector.id}/authorize`, {});
    expect([status, body.detail]).toEqual([409, expect.stringMatching(why)]);
    expect(authorization.tokenRequests).toEqual([]);
  });

  it('takes nothing back from another browser, another person or another server', async () => {
    const connector = await create();
    const { body } = await ada.client.post(`/api/connectors/${connector.id}/authorize`, {});
    const browser = new Browser(service.url);
    const sent = await browser.submit(await browser.open(body.authorize_url), '/sign-in', {
      email: ada.email,
      password: ada.password,
    });
    const back = (await fetch(sent.url, { redirect: 'manual' })).headers.get('location') ?? '';
    expect((await new Browser(service.url).open(back)).status).toBe(403);
    const forged = new URL(back);
    forged.searchParams.set('iss', other.issuer);
    expect((await browser.open(forged)).status).toBe(403);
    expect((await stateOf(connector)).state).toBe('needs_auth');
    expect((await browser.open(back)).html).toContain('is connected');
    expect(authorization.tokenRequests).toHaveLength(1);
  });
});
