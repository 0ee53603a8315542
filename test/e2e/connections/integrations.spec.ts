import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { parseJson } from '#libs/exact-json/index.js';
import type { FakeOAuthProvider } from '../../fakes/oauth-provider.js';
import type { Client, Json } from '../../harness/client.js';
import {
  authorize,
  begin,
  browser,
  CALLBACK,
  connect,
  describeProvider,
  startConnected,
} from '../../harness/connections.js';
import type { Person, TestService } from '../../harness/service.js';

const out = new PassThrough();
const write = process.stdout.write.bind(process.stdout);
let logged = '';
let service: TestService;
let provider: FakeOAuthProvider;
let ada: Person;
/** A member of the organization, an editor of its workspaces. */
let bob: Person;
let eve: Person;
let workspace_id: string;

beforeAll(async () => {
  process.stdout.write = ((chunk: string) => out.write(chunk)) as typeof process.stdout.write;
  out.on('data', chunk => {
    logged += String(chunk);
  });
  ({ service, provider } = await startConnected({ LOG_LEVEL: 'trace', LOG_FORMAT: 'text' }));
  [ada, bob, eve] = [await service.person('Ada'), await service.person('Bob'), await service.person('Eve')];
  await service.join(bob, { organization: ada.organizationId, role: 'member' });
  workspace_id = await service.workspace(ada, { visibility: 'org' });
  await describeProvider(ada, provider);
});
beforeEach(() => {
  Object.assign(provider, {
    account: 'octocat',
    consents: true,
    rotates: true,
    expiresIn: 3600,
    refreshExpiresIn: undefined,
    iss: undefined,
    fault: undefined,
    delayMs: 0,
    accountId: undefined,
  });
  provider.apiRequests.length = 0;
  provider.tokenRequests.length = 0;
});
afterEach(async () => {
  await service.database.query('delete from integration_connection');
});
afterAll(async () => {
  await service.stop();
  await provider.stop();
  process.stdout.write = write;
});

const one = async (id: string, client: Client = ada.client): Promise<Json> =>
  (await client.get(`/api/integrations/${id}`)).body;
const grant = (id: string, grants: Json[], client: Client = ada.client) =>
  client.put(`/api/integrations/${id}/workspaces`, { grants });
const send = (id: string, fields: Json = {}, client: Client = ada.client) =>
  client.post(`/api/integrations/${id}/request`, { workspace_id, method: 'GET', path: '/items', ...fields });
const shared = async (fields: Json = {}): Promise<string> => {
  const { id } = await connect(ada, { owner: 'organization', ...fields });
  await grant(id, [{ workspace_id }]);
  return id;
};
const end = (id: string) =>
  service.database.query(
    `update token_set set fresh_until = now() - interval '1 second', access_expires_at = now() - interval '1 second',
       retry_at = null
     where id = (select token_set_id from integration_connection where id = $1)`,
    [id],
  );
/** Where the browser is sent with a state, and what comes back from there. */
async function halfway(
  person: Person,
  fields: Json = {},
  at = browser(),
): Promise<{ id: string; back: URL }> {
  const port = new URL(service.url).port;
  provider.redirectUris.push(`http://elsewhere.localhost:${port}${CALLBACK}`);
  const begun = await begin(person.client, { organization_id: person.organizationId, ...fields });
  // The way back is looked at before it is gone.
  let back: URL | undefined;
  const following = Object.create(at) as typeof at;
  const navigate = (at as unknown as { send: (url: URL, ...rest: unknown[]) => Promise<unknown> }).send.bind(
    at,
  );
  Object.assign(following, {
    send: (url: URL, ...rest: unknown[]) => {
      if (url.pathname !== CALLBACK) return navigate(url, ...rest);
      back = url;
      return Promise.resolve({ status: 200, url, headers: {}, text: '', way: [] });
    },
  });
  await authorize(begun.authorize_url, person, following);
  if (!back) throw new Error('the provider did not send the browser back');
  return { id: begun.id, back };
}

describe('connecting', () => {
  it('takes a person to the provider and back, who then reads which account it is', async () => {
    const { body } = await ada.client.post('/api/integrations', {
      provider: 'acme',
      organization_id: ada.organizationId,
      return_path: '/docs',
    });
    expect(body).toMatchObject({
      connection: {
        provider: 'acme',
        state: 'pending',
        account: null,
        owner: 'user',
        user_id: ada.id,
        name: 'Acme',
      },
      authorization: { authorize_url: expect.stringContaining('/connections/authorize/') },
    });
    const shown = await authorize(body.authorization.authorize_url, ada);
    expect([shown.status, shown.url.pathname]).toEqual([
      200,
      expect.stringMatching(/^\/connections\/authorized\//),
    ]);
    expect(shown.text).toContain('“octocat”');
    expect(shown.text).toContain('href="/docs"');
    expect(await one(body.connection.id)).toMatchObject({
      state: 'active',
      account: { id: 'id-of-octocat', label: 'octocat' },
      scopes: ['read'],
      access_expires_at: expect.any(String),
    });
    const { body: audit } = await ada.client.get(`/api/organizations/${ada.organizationId}/audit?limit=5`);
    expect(audit.items.map(({ action }: Json) => action)).toContain('connection.authorize');
  });

  it('counts in the browser in which it began, for the person who began it', async () => {
    const at = browser();
    const { id, back } = await halfway(ada, {}, at);
    // Mallory sends the address on: to one who is not signed in, and to one who is.
    expect((await browser().open(back)).status).toBe(403);
    const victim = browser();
    const hers = await halfway(eve, { provider: 'acme', organization_id: eve.organizationId }, victim).catch(
      () => undefined,
    );
    expect(hers).toBeUndefined();
    const { authorize_url } = await begin(ada.client, { organization_id: ada.organizationId });
    expect((await authorize(authorize_url, bob, victim)).status).toBe(403);
    expect((await victim.open(back)).status).toBe(403);
    expect(await one(id)).toMatchObject({ state: 'pending' });
    expect(provider.tokenRequests).toEqual([]);
    // It was not used up by that.
    expect((await at.open(back)).text).toContain('“octocat”');
    expect(await one(id)).toMatchObject({ state: 'active' });
  });

  it('counts once, while there is time, and while the session stands that began it', async () => {
    const at = browser();
    const { id, back } = await halfway(ada, {}, at);
    expect((await at.open(back)).status).toBe(200);
    const again = await at.open(back);
    expect([again.status, provider.tokenRequests.length]).toEqual([410, 1]);
    const late = await halfway(ada, {}, at);
    await service.database.query(`update oauth_flow set expires_at = now() - interval '1 second'`);
    expect((await at.open(late.back)).status).toBe(410);
    back.searchParams.set('state', 'x'.repeat(43));
    expect((await at.open(back)).status).toBe(410);
    back.searchParams.delete('state');
    expect((await at.open(back)).status).toBe(400);
    expect((await one(id)).state).toBe('active');
    // By a key that is revoked meanwhile.
    const { body: key } = await ada.client.post('/api/keys', { name: 'short' });
    const begun = await begin(service.stranger.with({ 'x-api-key': key.api_key }), {
      organization_id: ada.organizationId,
    });
    await ada.client.delete(`/api/keys/${key.id}`);
    expect((await authorize(begun.authorize_url, ada, at)).status).toBe(410);
    expect(provider.tokenRequests).toHaveLength(1);
  });

  it('is refused where another server answers than the one that was asked', async () => {
    provider.iss = 'https://evil.example.com';
    const { id, shown } = await connect(ada);
    expect([shown.status, provider.tokenRequests.length]).toEqual([403, 0]);
    provider.iss = provider.url;
    expect((await connect(ada)).shown.text).toContain('is connected');
    expect(await one(id)).toMatchObject({ state: 'pending' });
  });

  it('says what went wrong at the provider', async () => {
    provider.consents = false;
    expect((await connect(ada)).shown.text).toContain('was not allowed');
    provider.consents = true;
    provider.fault = { status: 500 };
    expect((await connect(ada)).shown.text).toContain('Acme was not connected');
    provider.fault = { status: 401, body: { error: 'invalid_client' } };
    expect((await connect(ada)).shown.text).toContain('invalid_client');
  });

  it('ends in a page with a way back, whatever becomes of it, and shows it again as it is', async () => {
    const at = browser();
    const { id, back } = await halfway(ada, { return_path: '/docs' }, at);
    provider.fault = { status: 500 };
    const shown = await at.open(back);
    const asked = provider.tokenRequests.length;
    provider.fault = undefined;
    expect(shown.url.pathname).toMatch(/^\/connections\/authorized\//);
    expect((await at.open(shown.url)).text).toBe(shown.text);
    expect(shown.text).toContain('Acme was not connected');
    expect(shown.text).toMatch(/<a class="button" href="\/docs">Go back and try again<\/a>/);
    expect([await one(id), provider.tokenRequests.length]).toMatchObject([{ state: 'pending' }, asked]);
    const noState = `${back.origin}${back.pathname}?error=access_denied`;
    for (const [address, status] of [
      [back, 410],
      [noState, 400],
      [`${noState}&state=x`, 410],
    ] as const) {
      const page = await at.open(address);
      expect([page.status, page.headers['content-type']]).toEqual([status, 'text/html; charset=utf-8']);
      expect(page.text).toContain('This did not work');
      expect(page.text).toContain('<a href="/">To the start page</a>');
    }
  });

  it.each(['https://evil.example.com/', '//evil.example.com', '/\\evil.example.com', 'settings'])(
    'leads on to no other place: %s',
    async return_path => {
      const fields = { provider: 'acme', organization_id: ada.organizationId, return_path };
      expect((await ada.client.post('/api/integrations', fields)).status).toBe(422);
    },
  );

  it('takes a client first, and says which address to register', async () => {
    const fields = { provider: 'github', organization_id: ada.organizationId };
    const { status, body } = await ada.client.post('/api/integrations', fields);
    expect([status, body.detail]).toEqual([409, expect.stringContaining(CALLBACK)]);
    const unknown = await ada.client.post('/api/integrations', { ...fields, provider: 'gihub' });
    expect([unknown.status, unknown.body.detail]).toEqual([
      404,
      expect.stringContaining('did you mean github'),
    ]);
    const scopes = await ada.client.post('/api/integrations', {
      ...fields,
      provider: 'acme',
      scopes: ['admin'],
    });
    expect([scopes.status, scopes.body.detail]).toEqual([422, expect.stringContaining('no scope admin')]);
  });
});

describe('authorizing again', () => {
  const reauthorize = async (id: string, fields: Json = {}) => {
    const { body } = await ada.client.post(`/api/integrations/${id}/authorize`, fields);
    return body.authorize_url as string;
  };

  it('keeps the id and the grants, and may ask for more', async () => {
    const id = await shared();
    await authorize(await reauthorize(id, { scopes: ['read', 'write'] }), ada);
    expect(await one(id)).toMatchObject({
      id,
      state: 'active',
      scopes: ['read', 'write'],
      grants: [{ workspace_id }],
    });
    expect((await send(id)).body).toMatchObject({ status: 200, body: { items: [1] } });
  });

  it('asks before it goes over to another account', async () => {
    const id = await shared();
    provider.account = 'hubot';
    const at = browser();
    const asked = await authorize(await reauthorize(id), ada, at);
    expect(asked.text).toContain('Use “hubot”');
    expect(await one(id)).toMatchObject({ account: { label: 'octocat' } });
    const kept = await at.submit(asked, asked.url.pathname, { answer: 'no' });
    expect(kept.text).toContain('Nothing was changed');
    expect(await one(id)).toMatchObject({ account: { label: 'octocat' } });
    const again = await authorize(await reauthorize(id), ada, at);
    expect((await at.submit(again, again.url.pathname, { answer: 'yes' })).text).toContain('“hubot”');
    expect(await one(id)).toMatchObject({ id, account: { label: 'hubot' } });
    // The answer counts once.
    expect((await at.submit(again, again.url.pathname, { answer: 'yes' })).status).toBe(410);
  });

  it('tells accounts apart whose ids are numbers that only differ in their last digit', async () => {
    provider.accountId = parseJson('8202522731445525542');
    const id = await shared();
    expect(await one(id)).toMatchObject({ account: { id: '8202522731445525542' } });
    provider.accountId = parseJson('8202522731445525543');
    expect((await authorize(await reauthorize(id), ada)).text).toContain('another account');
  });

  it('mends what needs it, of which its people are notified', async () => {
    const id = await shared();
    for (const granted of provider.grants) granted.isRevoked = true;
    await end(id);
    const refused = await send(id);
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining('authorized again')]);
    expect(await one(id)).toMatchObject({
      state: 'needs_reauth',
      reason: expect.stringContaining('invalid_grant'),
    });
    expect(
      await service.database.query('select 1 from secret s join token_set t on t.secret_id = s.id'),
    ).toHaveLength((await service.database.query('select 1 from token_set')).length);
    for (;;) {
      const { body } = await ada.client.get('/api/notifications?category=connection');
      if (body.items.length === 0) continue;
      expect(body.items[0]).toMatchObject({
        type: 'connection.needs_reauth',
        title: expect.stringContaining('Acme'),
      });
      break;
    }
    await authorize(await reauthorize(id), ada);
    expect(await one(id)).toMatchObject({ id, state: 'active', reason: null });
    expect((await send(id)).body.status).toBe(200);
  });
});

describe('a request', () => {
  it('goes out with the credential, which its caller never sees', async () => {
    const id = await shared();
    const { body } = await send(id, {
      method: 'POST',
      query: { page: 2, q: 'a b' },
      headers: { 'x-mine': 'yes' },
      body: { title: 'Hello' },
    });
    expect(body).toMatchObject({
      status: 200,
      encoding: 'json',
      body: { method: 'POST', query: '?page=2&q=a+b', body: '{"title":"Hello"}' },
    });
    const sent = provider.apiRequests.at(-1);
    expect(sent?.headers).toMatchObject({
      authorization: `Bearer ${provider.grants.at(-1)?.access}`,
      'x-mine': 'yes',
      'content-type': 'application/json',
    });
    expect((await send(id, { path: '/bytes' })).body).toMatchObject({ encoding: 'base64', body: 'AP+A' });
    expect((await send(id, { path: `${provider.url}/other` })).body).toMatchObject({ status: 200 });
    expect(await one(id)).toMatchObject({ last_used_at: expect.any(String) });
  });

  it('asks for new tokens once, however many come when they end', async () => {
    const id = await shared();
    provider.delayMs = 100;
    await end(id);
    const all = await Promise.all(Array.from({ length: 50 }, () => send(id)));
    expect(new Set(all.map(({ body }) => body.status))).toEqual(new Set([200]));
    expect(provider.tokenRequests.map(({ body }) => new URLSearchParams(body).get('grant_type'))).toEqual([
      'authorization_code',
      'refresh_token',
    ]);
  });

  it('tells a provider that is away from one that says no', async () => {
    const id = await shared();
    for (const fault of [{ status: 500 }, { status: 503 }, { status: 429 }]) {
      provider.fault = fault;
      await end(id);
      expect((await send(id)).status).toBe(503);
      expect(await one(id)).toMatchObject({ state: 'active' });
    }
    provider.fault = undefined;
    await end(id);
    expect((await send(id)).body.status).toBe(200);
    provider.fault = { status: 400, body: { error: 'invalid_client' } };
    await end(id);
    expect((await send(id)).status).toBe(503);
    expect(await one(id)).toMatchObject({ state: 'error' });
    provider.fault = undefined;
    await end(id);
    expect((await send(id)).body.status).toBe(200);
    expect(await one(id)).toMatchObject({ state: 'active', reason: null });
  });

  it('that the API rejects is sent once more, with new tokens', async () => {
    const id = await shared();
    const granted = provider.grants.at(-1);
    if (granted) granted.expiresAt = 0;
    expect((await send(id)).body.status).toBe(200);
    expect(provider.tokenRequests).toHaveLength(2);
  });

  it.each(['/echo', '/header'])('whose answer holds the credential is withheld: %s', async path => {
    const id = await shared();
    const { status, body } = await send(id, { path });
    expect([status, body.detail]).toEqual([409, expect.stringContaining('credential back')]);
  });

  it.each(['hex', 'entities', 'escapes', 'percent', 'base64url', 'gzip', 'zstd'])(
    'whose answer holds the credential in another form is withheld: %s',
    async form => {
      const id = await shared();
      const { status, body } = await send(id, { path: '/echo/in', query: { form } });
      expect([status, body.detail]).toEqual([409, expect.stringContaining('credential back')]);
      expect(provider.apiRequests.at(-1)?.headers['accept-encoding']).toBe('identity');
    },
  );

  it('whose answer is in a coding that nobody can read is withheld', async () => {
    const id = await shared();
    const { status, body } = await send(id, { path: '/echo/in', query: { form: 'own' } });
    expect([status, body.detail]).toEqual([409, expect.stringContaining('Content-Encoding: x-own')]);
  });

  it('sends and answers numbers with all their digits', async () => {
    const id = await shared();
    const numbers =
      '{"id":8202522731445525542,"list":[1e400,-9223372036854775808,0.12345678901234567891],"n":3}';
    const { body } = await ada.client.json(
      'POST',
      `/api/integrations/${id}/request`,
      `{"workspace_id":"${workspace_id}","method":"POST","path":"/mirror","query":{"id":8202522731445525542},"body":${numbers}}`,
    );
    expect([body.detail, body.status, body.encoding, JSON.stringify(body.body)]).toEqual([
      undefined,
      200,
      'json',
      numbers,
    ]);
    const sent = provider.apiRequests.at(-1);
    expect(sent).toMatchObject({ body: numbers });
    expect(JSON.stringify(sent)).toContain('?id=8202522731445525542');
  });

  it('hands redirects back, and refuses what is too large', async () => {
    const id = await shared();
    expect((await send(id, { path: '/moved' })).body).toMatchObject({
      status: 302,
      headers: { location: `${provider.url}/api/items` },
    });
    expect((await send(id, { path: '/large' })).status).toBe(409);
    expect((await send(id, { method: 'POST', body: 'x'.repeat(1024 * 1024 + 1) })).status).toBe(413);
  });

  it.each([
    [{ path: '/a/../../secret' }],
    [{ path: '/a/%2e%2e/secret' }],
    [{ path: '/a%2f..%2fb' }],
    [{ path: '/a%252fb' }],
    [{ path: '//evil.example.com/' }],
    [{ path: 'https://evil.example.com/items' }],
    [{ path: 'file:///etc/passwd' }],
    [{ path: 'items' }],
    [{ headers: { Authorization: 'Bearer mine' } }],
    [{ headers: { Host: 'evil.example.com' } }],
    [{ headers: { Range: 'bytes=9-' } }],
    [{ headers: { 'Accept-Charset': 'utf-16' } }],
    [{ headers: { 'X-Forwarded-For': '1.2.3.4' } }],
    [{ headers: { a: 'b\r\nc: d' } }],
    [{ path: '/acme/..;/whoami' }],
    [{ method: 'POST', headers: { 'X-HTTP-Method-Override': 'DELETE' } }],
    [{ method: 'POST', headers: { 'X-HTTP-Method': 'DELETE' } }],
    [{ method: 'POST', headers: { 'X-Method-Override': 'DELETE' } }],
    [{ headers: { 'X-Original-URL': '/whoami' } }],
    [{ headers: { 'X-Rewrite-URL': '/whoami' } }],
    [{ method: 'POST', query: { _method: 'delete' } }],
    [{ method: 'POST', query: { _HttpMethod: 'PATCH' } }],
    [{ method: 'POST', body: { _method: 'DELETE' } }],
    [
      {
        method: 'POST',
        body: 'a=1&_method=DELETE',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      },
    ],
    [
      {
        method: 'POST',
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
        body: '--x\r\nContent-Disposition: form-data; name="_method"\r\n\r\nDELETE\r\n--x--\r\n',
      },
    ],
    [{ method: 'TRACE' }],
    [{ body: {} }],
    [{ query: { a: { b: 1 } } }],
  ])('like %j is not sent', async fields => {
    const id = await shared();
    provider.apiRequests.length = 0;
    expect((await send(id, fields)).status).toBe(422);
    expect(provider.apiRequests).toEqual([]);
  });

  it('is limited to what is granted to its workspace', async () => {
    const { id } = await connect(ada, { owner: 'organization' });
    expect((await send(id)).status).toBe(403);
    await grant(id, [{ workspace_id, methods: ['GET'], paths: ['/items'] }]);
    expect((await send(id, { path: '/items/1' })).body.status).toBe(200);
    const beside = { path: `${provider.url}/items` };
    for (const fields of [{ method: 'POST' }, { path: '/other' }, { path: '/items-of-others' }, beside])
      expect((await send(id, fields)).status).toBe(403);
    const another = await service.workspace(ada);
    expect((await send(id, { workspace_id: another })).status).toBe(403);
    await grant(id, []);
    expect((await send(id)).status).toBe(403);
  });
});

describe('whose a connection is', () => {
  it('decides who sees, manages and uses it', async () => {
    const id = await shared();
    const { id: own } = await connect(ada);
    await grant(own, [{ workspace_id }]);
    // A member uses what the organization granted, and manages nothing of it.
    expect((await send(id, {}, bob.client)).body.status).toBe(200);
    expect((await one(id, bob.client)).id).toBe(id);
    for (const answer of [
      await bob.client.patch(`/api/integrations/${id}`, { name: 'Mine' }),
      await bob.client.delete(`/api/integrations/${id}`),
      await grant(id, [], bob.client),
      await bob.client.post(`/api/integrations/${id}/authorize`, {}),
      await bob.client.post(`/api/integrations/${id}/test`),
      await bob.client.post('/api/integrations', {
        provider: 'acme',
        organization_id: ada.organizationId,
        owner: 'organization',
      }),
      await bob.client.put('/api/integrations/providers/acme/client', {
        organization_id: ada.organizationId,
        client_id: 'x',
      }),
    ])
      expect([answer.status, answer.body.detail]).toEqual([403, expect.stringContaining('admin')]);
    // What is personal is for its owner alone.
    expect((await bob.client.get(`/api/integrations/${own}`)).status).toBe(404);
    expect((await send(own, {}, bob.client)).status).toBe(404);
    expect((await send(own)).body.status).toBe(200);
    const { id: bobs } = await connect(bob, { organization_id: ada.organizationId });
    await grant(bobs, [{ workspace_id }], bob.client);
    expect((await send(bobs, {}, bob.client)).body.status).toBe(200);
    // Admins see that it is there, and may end it; they do not use it.
    expect((await one(bobs)).user_id).toBe(bob.id);
    expect((await send(bobs)).status).toBe(403);
    expect((await ada.client.post(`/api/integrations/${bobs}/authorize`, {})).status).toBe(403);
    const { body } = await bob.client.get(`/api/integrations?organization_id=${ada.organizationId}`);
    expect(body.items.map((each: Json) => each.id)).toEqual([id, bobs]);
    expect((await ada.client.delete(`/api/integrations/${bobs}`)).status).toBe(200);
    // An admin of another organization sees none of it.
    for (const each of [id, own]) {
      expect((await eve.client.get(`/api/integrations/${each}`)).status).toBe(404);
      expect((await send(each, {}, eve.client)).status).toBe(404);
      expect((await eve.client.delete(`/api/integrations/${each}`)).status).toBe(404);
    }
    expect((await grant(id, [{ workspace_id: await service.workspace(eve) }])).status).toBe(404);
    // A viewer of the workspace uses nothing there.
    const restricted = await service.workspace(ada, { visibility: 'restricted' });
    await service.join(bob, {
      organization: ada.organizationId,
      role: 'member',
      workspace: restricted,
      workspaceRole: 'viewer',
    });
    await grant(id, [{ workspace_id: restricted }]);
    expect((await send(id, { workspace_id: restricted }, bob.client)).status).toBe(403);
    const reader = await service.key(ada, { scopes: ['connections:read'] });
    expect((await reader.get(`/api/integrations/${id}`)).status).toBe(200);
    expect((await send(id, { workspace_id: restricted }, reader)).status).toBe(403);
  });

  it('ends with their membership', async () => {
    const { id } = await connect(bob, { organization_id: ada.organizationId });
    await ada.client.delete(`/api/organizations/${ada.organizationId}/members/${bob.id}`);
    expect((await ada.client.get(`/api/integrations/${id}`)).status).toBe(404);
    await service.join(bob, { organization: ada.organizationId, role: 'member' });
  });

  it('is asked by programs, too: an action is as grave as what it sends', async () => {
    const id = await shared();
    const run = (client: Client, input: Json) =>
      client.post('/api/actions/integration_request/run', {
        workspace_id,
        input: { id, path: '/items', ...input },
      });
    const { body } = await run(ada.client, { method: 'GET' });
    expect(body.output).toMatchObject({ status: 200, body: { items: [1] } });
    const effects = new Map<string, string>();
    for (const method of ['GET', 'POST', 'DELETE']) {
      const { run_id } = (await run(ada.client, { method })).body;
      effects.set(method, (await ada.client.get(`/api/action-runs/${run_id}`)).body.effect);
    }
    expect(Object.fromEntries(effects)).toEqual({ GET: 'read', POST: 'write', DELETE: 'destructive' });
    const reading = await service.key(ada, { scopes: ['actions:read', 'connections:write'] });
    expect((await run(reading, { method: 'GET' })).status).toBe(200);
    expect((await run(reading, { method: 'POST' })).status).toBe(403);
  });
});

describe('deleting', () => {
  it('takes the access back at the provider, and leaves no secret', async () => {
    const id = await shared();
    const refresh = provider.grants.at(-1)?.refresh;
    const [row] = await service.database.query<Json>(
      'select t.* from token_set t join integration_connection c on c.token_set_id = t.id where c.id = $1',
      [id],
    );
    expect((await ada.client.delete(`/api/integrations/${id}`)).body).toEqual({ id, deleted: true });
    expect((await send(id)).status).toBe(404);
    while ((await service.database.query('select 1 from token_set where id = $1', [row.id])).length > 0);
    expect(provider.revoked).toContain(refresh);
    expect(await service.database.query('select 1 from secret where id = $1', [row.secret_id])).toEqual([]);
  });
});

describe('a provider', () => {
  it('comes with the service, or is an organization’s own', async () => {
    const { body } = await ada.client.get(
      `/api/integrations/providers?organization_id=${ada.organizationId}`,
    );
    const ids = body.items.map(({ id }: Json) => id);
    for (const id of ['github', 'github_app', 'gitlab', 'google', 'slack', 'stripe', 'api_key', 'acme'])
      expect(ids).toContain(id);
    expect(body.items.find(({ id }: Json) => id === 'acme')).toMatchObject({
      built_in: false,
      client: 'organization',
    });
    expect(
      (await ada.client.get('/api/integrations/providers?q=git%20hub')).body.items.map(({ id }: Json) => id),
    ).toEqual(['github', 'github_app']);
    expect((await eve.client.get('/api/integrations/providers/acme')).status).toBe(404);
    expect((await ada.client.get('/api/integrations/providers/github')).body).toMatchObject({
      client: null,
      built_in: true,
    });
  });

  it('is refused where it could not be used, or would be misused', async () => {
    const create = async (changes: object, id = 'other') =>
      (
        await ada.client.post('/api/integrations/providers', {
          organization_id: ada.organizationId,
          definition: provider.definition(id, changes),
        })
      ).status;
    expect(await create({}, 'github')).toBe(409);
    expect(await create({}, 'acme')).toBe(409);
    expect(await create({ token_url: 'http://10.0.0.1/token' })).toBe(422);
    expect(await create({ token_url: 'https://169.254.169.254/token' })).toBe(422);
    expect(await create({ token_url: undefined })).toBe(422);
    const { api } = provider.definition('other');
    expect(await create({ api: { ...api, header: 'Host' } })).toBe(422);
    expect(await create({ api: { ...api, template: 'Bearer {nothing}' } })).toBe(422);
    expect(await create({ unknown: true })).toBe(422);
  });

  it('whose addresses members gave credentials to keeps them', async () => {
    const place = { organization_id: ada.organizationId };
    await shared();
    const evil = provider.definition('acme', { token_url: `${provider.url}/elsewhere` });
    expect(
      (await ada.client.patch('/api/integrations/providers/acme', { ...place, definition: evil })).status,
    ).toBe(409);
    const renamed = provider.definition('acme', { name: 'Acme' });
    expect(
      (await ada.client.patch('/api/integrations/providers/acme', { ...place, definition: renamed })).status,
    ).toBe(200);
    expect(
      (await ada.client.delete(`/api/integrations/providers/acme?organization_id=${ada.organizationId}`))
        .status,
    ).toBe(409);
  });
});

describe('a connection by a key', () => {
  const typed = (fields: Json = {}) => ({
    provider: 'api_key',
    organization_id: ada.organizationId,
    owner: 'organization',
    name: 'Things',
    fields: {
      base_url: `${provider.url}/api`,
      header: 'X-API-Key',
      prefix: '',
      api_key: 'key-that-is-good',
      ...fields,
    },
  });

  it('is active at once, used like others, and given another key', async () => {
    const { body } = await ada.client.post('/api/integrations', typed());
    const { id } = body.connection;
    expect(body).toMatchObject({
      authorization: null,
      connection: { state: 'active', settings: { header: 'X-API-Key' } },
    });
    await grant(id, [{ workspace_id }]);
    expect((await send(id)).body).toMatchObject({ status: 200 });
    expect(provider.apiRequests.at(-1)?.headers['x-api-key']).toBe('key-that-is-good');
    expect((await ada.client.post(`/api/integrations/${id}/test`)).body).toMatchObject({ accepted: true });
    await ada.client.patch(`/api/integrations/${id}`, { fields: { api_key: 'key-that-is-bad' } });
    expect((await send(id)).body).toMatchObject({ status: 401 });
    // A key that was typed for one place goes to no other.
    const moved = await ada.client.patch(`/api/integrations/${id}`, {
      fields: { base_url: 'https://example.com' },
    });
    expect(moved.status).toBe(422);
    expect((await ada.client.post(`/api/integrations/${id}/authorize`, {})).status).toBe(409);
  });

  it.each([
    [{ base_url: 'http://10.0.0.1' }],
    [{ base_url: 'nowhere' }],
    [{ base_url: 'file:///etc' }],
    [{ header: 'Host' }],
    [{ header: 'a b' }],
    [{ api_key: 'a\r\nb: c' }],
    [{ api_key: '' }],
    [{ other: 'x' }],
  ])('is refused with %j', async fields => {
    expect((await ada.client.post('/api/integrations', typed(fields))).status).toBe(422);
  });

  it('is asked about before it is kept', async () => {
    await describeProvider(ada, provider, 'keyed', {
      auth: 'api_key',
      fields: [{ name: 'api_key', label: 'Key', secret: true }],
      identity: undefined,
      authorize_url: undefined,
      token_url: undefined,
      revocation: undefined,
      api: {
        ...provider.definition('keyed').api,
        header: 'X-API-Key',
        template: '{api_key}',
        probe: '/items',
      },
    });
    const create = (api_key: string) =>
      ada.client.post('/api/integrations', {
        provider: 'keyed',
        organization_id: ada.organizationId,
        fields: { api_key },
      });
    expect((await create('key-that-is-bad')).status).toBe(409);
    const { body } = await create('key-that-is-good');
    expect((await ada.client.post(`/api/integrations/${body.connection.id}/test`)).body).toMatchObject({
      accepted: true,
      status: 200,
    });
  });
});

it('nothing of a credential is in a log, an answer, an event or a table', async () => {
  const id = await shared();
  await end(id);
  await send(id, { path: '/echo' });
  // A fault of ours, with the tokens in the transaction that fails.
  await service.database.query('alter table token_set add constraint broken check (revision < 3) not valid');
  await end(id);
  await send(id);
  await service.database.query('alter table token_set drop constraint broken');
  const answers = JSON.stringify([
    await one(id),
    (await ada.client.get(`/api/integrations?organization_id=${ada.organizationId}`)).body,
    (await ada.client.get(`/api/integrations/providers/acme?organization_id=${ada.organizationId}`)).body,
    (await ada.client.get(`/api/organizations/${ada.organizationId}/audit?limit=200`)).body,
    (await ada.client.get('/api/notifications?limit=200')).body,
    (await ada.client.get('/api/action-runs?limit=200')).body,
  ]);
  const names = await service.database.query<Json>(
    `select table_name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  let tables = '';
  for (const { table_name } of names) {
    const [dump] = await service.database.query<Json>(
      `select string_agg(t::text, ' ') as text from "${table_name}" t`,
    );
    tables += dump?.text ?? '';
  }
  expect(provider.secrets.length).toBeGreaterThan(5);
  for (const secret of [...provider.secrets, 'key-that-is-good', 'key-that-is-bad'])
    for (const [where, text] of Object.entries({ logged, answers, tables }))
      expect([where, text.includes(secret)]).toEqual([where, false]);
});
