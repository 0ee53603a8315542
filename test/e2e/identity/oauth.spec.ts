import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { OAuthResources, OAuthTokens } from '../../../src/identity/oauth/index.js';
import { Browser } from '../../harness/browser.js';
import type { Json } from '../../harness/client.js';
import { allow, OAuthClient, REDIRECT, signIn, startOAuthService } from '../../harness/oauth.js';
import type { Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
let client: OAuthClient;
let workspace: string;
let other: string;

beforeAll(async () => {
  service = await startOAuthService({ RATE_LIMITS_PER_HOUR: 'oauth_client=40' });
  ada = await service.person();
  workspace = await service.workspace(ada, { name: 'Research' });
  other = await service.workspace(ada, { name: 'Private notes' });
  client = await OAuthClient.register(service);
});
afterAll(() => service.stop());

const tokens = () => service.app.get(OAuthTokens, { strict: false });
const resources = () => service.app.get(OAuthResources, { strict: false });
const atMcp = (token: string) => tokens().verify(token, resources().mcp);
const api = () => `${service.url}/api`;
const codeOf = (callback: URL) => String(callback.searchParams.get('code'));

/** Trades a code by hand, with whatever is to be wrong. */
async function redeem(asking: Parameters<OAuthClient['request']>[0] = {}, fields: Json = {}) {
  const { parameters, verifier } = await client.request(asking);
  const code = codeOf(await client.approve(ada, parameters));
  const request = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: REDIRECT };
  return { code, request, answer: await client.token({ ...request, ...fields }) };
}

/** What the client is told of a request that is refused before anybody is asked. */
async function refusal(change: (parameters: URLSearchParams) => void) {
  const { parameters } = await client.request({ scope: 'read' });
  change(parameters);
  const { url, status, html } = await new Browser(service.url).open(client.address(parameters));
  const told = new URLSearchParams(url.search || url.hash.slice(1));
  return { error: told.get('error'), iss: told.get('iss'), status, html };
}

describe('discovery', () => {
  it('is the same for OAuth and OpenID Connect, with the origin as issuer', async () => {
    const [oauth, openid] = await Promise.all(
      ['oauth-authorization-server', 'openid-configuration'].map(name =>
        service.stranger.get(`/.well-known/${name}`),
      ),
    );
    expect(oauth?.body).toEqual(openid?.body);
    expect(oauth?.body).toMatchObject({
      issuer: service.url,
      authorization_endpoint: `${service.url}/oauth/authorize`,
      code_challenge_methods_supported: ['S256'],
      response_types_supported: ['code'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
      scopes_supported: ['read', 'write', 'openid', 'offline_access'],
      pushed_authorization_request_endpoint: `${service.url}/oauth/par`,
      device_authorization_endpoint: `${service.url}/oauth/device/authorize`,
      dpop_signing_alg_values_supported: ['ES256', 'Ed25519', 'EdDSA'],
    });
  });

  it('names the authorization server of the MCP endpoint, to pages of any origin', async () => {
    for (const path of ['', '/mcp']) {
      const { body, headers } = await service.stranger.get(`/.well-known/oauth-protected-resource${path}`);
      expect(body).toMatchObject({ resource: `${service.url}/mcp`, authorization_servers: [service.url] });
      expect(headers.get('access-control-allow-origin')).toBe('*');
    }
  });

  it('shows public keys only', async () => {
    const { body } = await service.stranger.get('/oauth/jwks');
    expect(body.keys).toHaveLength(1);
    expect(body.keys[0]).toMatchObject({ kty: 'EC', alg: 'ES256', use: 'sig' });
    expect(body.keys[0].d).toBeUndefined();
  });

  it('answers a detail for what is no endpoint', async () => {
    expect(await service.stranger.get('/oauth/nothing')).toMatchObject({
      status: 404,
      body: { detail: 'No such endpoint' },
    });
  });
});

describe('the authorization code flow', () => {
  it('ends in an access token for the MCP endpoint (RFC 9068), and a refresh token', async () => {
    const { access_token, refresh_token, token_type, scope } = await client.authorize(ada, { scope: 'read' });
    expect({ token_type, scope }).toEqual({ token_type: 'bearer', scope: 'read' });
    expect(refresh_token).toMatch(/^[\w-]{43}$/);
    expect(decodeProtectedHeader(access_token)).toMatchObject({ typ: 'at+jwt', alg: 'ES256' });
    expect(decodeJwt(access_token)).toMatchObject({
      iss: service.url,
      aud: `${service.url}/mcp`,
      sub: ada.id,
      client_id: client.client.client_id,
    });
  });

  it('makes an actor of the token, with our scopes and no administration', async () => {
    const { access_token } = await client.authorize(ada, { scope: 'read write' });
    const actor = await atMcp(access_token);
    expect(actor).toMatchObject({ type: 'user', id: ada.id, email: ada.email });
    expect(actor?.credential).toMatchObject({ type: 'oauth', organization_id: null, workspace_ids: null });
    expect(actor?.credential.scopes).toEqual(
      expect.arrayContaining(['files:read', 'files:write', 'agent:run']),
    );
    expect(actor?.credential.scopes).not.toContain('keys:write');
    expect(actor?.credential.scopes).not.toContain('grants:write');
  });

  it.each([
    ['no scope', {}],
    ['only scopes that nobody knows', { scope: 'mcp:connect profile' }],
  ])('gives read and write for %s', async (_what, asking) => {
    expect((await client.authorize(ada, asking)).scope).toBe('read write');
  });

  it('takes a request without resource, or with a slash too many, for the MCP endpoint', async () => {
    for (const resource of [null, `${service.url}/mcp/`]) {
      const { access_token } = await client.authorize(ada, { resource });
      expect(decodeJwt(access_token).aud).toBe(`${service.url}/mcp`);
    }
  });

  it('gives what the person leaves of it', async () => {
    const asking = { scope: 'read write' };
    const chosen = { level: 'read', reach: 'chosen', workspace: [workspace] };
    const { access_token, scope } = await client.authorize(ada, asking, chosen);
    expect(scope).toBe('read');
    const actor = await atMcp(access_token);
    expect(actor?.credential.workspace_ids).toEqual([workspace]);
    expect(actor?.credential.scopes).not.toContain('files:write');
  });

  it('asks again when no workspace is chosen, or one that the person does not see', async () => {
    const { parameters } = await client.request();
    const browser = new Browser(service.url);
    const consent = await signIn(browser, await browser.open(client.address(parameters)), ada);
    const strange = '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f';
    for (const workspace of [[], [strange]]) {
      const { status, html } = await allow(browser, consent, { reach: 'chosen', workspace });
      expect(status).toBe(422);
      expect(html).toContain('Choose at least one workspace');
    }
  });

  it('asks again when workspaces are ticked but all are chosen, unless the person insists', async () => {
    const { parameters } = await client.request();
    const browser = new Browser(service.url);
    const consent = await signIn(browser, await browser.open(client.address(parameters)), ada);
    const doubt = await allow(browser, consent, { workspace: [workspace] });
    expect(doubt.html).toContain('Which is it?');
    expect(
      (await allow(browser, doubt, { workspace: [workspace] })).url.searchParams.get('code'),
    ).toBeTruthy();
  });

  it('tells the client when the person declines', async () => {
    const { parameters } = await client.request();
    const browser = new Browser(service.url);
    const consent = await signIn(browser, await browser.open(client.address(parameters)), ada);
    const { url } = await browser.submit(consent, '/consent', { decision: 'deny' });
    expect(Object.fromEntries(url.searchParams)).toMatchObject({ error: 'access_denied', iss: service.url });
    const again = await browser.open(client.address((await client.request()).parameters));
    expect(again.html).toContain('Let Example in?');
    expect((await allow(browser, again)).url.searchParams.get('code')).toBeTruthy();
  });

  it('says what became of a page that was answered already, and blames nobody', async () => {
    const { parameters } = await client.request();
    const browser = new Browser(service.url);
    const consent = await signIn(browser, await browser.open(client.address(parameters)), ada);
    await allow(browser, consent);
    for (const used of [
      await browser.submit(consent, '/consent', { decision: 'allow' }),
      await browser.open(consent.url),
      await new Browser(service.url).open(consent.url),
    ]) {
      expect(used.status).toBe(400);
      expect(used.html).toContain('It was answered already');
      expect(used.html).toContain('go back to it and start again');
      expect(used.html).not.toMatch(/cannot be answered|For its developers/);
    }
  });

  it('does not ask for the password twice in one browser, but asks for consent each time', async () => {
    const browser = new Browser(service.url);
    const { parameters } = await client.request();
    await client.approve(ada, parameters, {}, browser);
    const again = await browser.open(client.address((await client.request()).parameters));
    expect(again.html).toContain('Let Example in?');
    expect(again.html).toContain(ada.email);
  });

  it('gives a program on the same machine any port, and no other place', async () => {
    const redirect_uri = 'http://127.0.0.1:54321/callback';
    expect((await client.authorize(ada, { redirect_uri })).access_token).toBeTruthy();
  });
});

describe('an authorization request is refused', () => {
  it('without PKCE, and with a plain challenge', async () => {
    const without = await refusal(parameters => {
      parameters.delete('code_challenge');
      parameters.delete('code_challenge_method');
    });
    const plain = await refusal(parameters => parameters.set('code_challenge_method', 'plain'));
    expect([without, plain]).toMatchObject([
      { error: 'invalid_request', iss: service.url },
      { error: 'invalid_request', iss: service.url },
    ]);
  });

  it('for a foreign redirect, on a page and without a redirect', async () => {
    const { status, html } = await refusal(parameters =>
      parameters.set('redirect_uri', 'https://evil.example/cb'),
    );
    expect(status).toBe(400);
    expect(html).toContain('an address that it did not register');
  });

  it('for a client that nobody knows', async () => {
    const { status, html } = await refusal(parameters => parameters.set('client_id', 'app_unknown'));
    expect(status).toBe(400);
    expect(html).toContain('is not known');
  });

  it.each(['https://elsewhere.example/mcp', 'no address', `http://127.0.0.1/mcp#fragment`])(
    'for the resource %s',
    async resource => {
      expect((await refusal(parameters => parameters.set('resource', resource))).error).toBe(
        'invalid_target',
      );
    },
  );

  it('for an implicit token', async () => {
    const { error } = await refusal(parameters => parameters.set('response_type', 'token'));
    expect(error).toBe('unsupported_response_type');
  });
});

describe('a code', () => {
  it('is good once; a second use revokes what the first one gave', async () => {
    const { request, answer } = await redeem();
    expect(answer.status).toBe(200);
    expect(await atMcp(answer.body.access_token)).toBeDefined();
    expect(await client.token(request)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await atMcp(answer.body.access_token)).toBeUndefined();
    expect((await client.refresh(answer.body.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('is good for one of two who use it at once', async () => {
    const { parameters, verifier } = await client.request();
    const code = codeOf(await client.approve(ada, parameters));
    const fields = {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: REDIRECT,
    };
    const answers = await Promise.all([client.token(fields), client.token(fields)]);
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
  });

  it.each([
    ['a wrong verifier', { code_verifier: 'x'.repeat(43) }],
    ['no verifier', { code_verifier: '' }],
    ['another redirect', { redirect_uri: 'http://127.0.0.1:9/other' }],
  ])('is nothing with %s', async (_what, fields) => {
    const { answer } = await redeem({}, fields);
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  });

  it('is nothing for another resource than was consented to', async () => {
    const { answer } = await redeem({}, { resource: api() });
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_target' } });
  });

  it('is nothing for another client', async () => {
    const thief = await OAuthClient.register(service);
    const { parameters, verifier } = await client.request();
    const code = codeOf(await client.approve(ada, parameters));
    const fields = {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: REDIRECT,
    };
    expect((await thief.token(fields)).body.error).toBe('invalid_grant');
  });

  it('lies in the database as a hash, its content sealed', async () => {
    const { parameters } = await client.request();
    const code = codeOf(await client.approve(ada, parameters));
    const rows = await service.database.query('select *, encode(sealed, $1) as text from oauth_artifact', [
      'escape',
    ]);
    expect(JSON.stringify(rows)).not.toContain(code);
    expect(JSON.stringify(rows)).not.toContain(ada.id);
  });
});

describe('a refresh token', () => {
  const age = (seconds: number) =>
    service.database.query(
      `update oauth_artifact set consumed_at = consumed_at - make_interval(secs => $1) where consumed_at is not null`,
      [seconds],
    );

  it('rotates, for the same resource and scope', async () => {
    const first = await client.authorize(ada, { scope: 'read' });
    const { status, body } = await client.refresh(first.refresh_token);
    expect(status).toBe(200);
    expect(body.refresh_token).not.toBe(first.refresh_token);
    expect(decodeJwt(body.access_token)).toMatchObject({ aud: `${service.url}/mcp`, scope: 'read' });
    expect((await client.refresh(body.refresh_token, { scope: 'read write' })).body.error).toBe(
      'invalid_scope',
    );
  });

  it('works for two at once, and for a minute after', async () => {
    const { refresh_token } = await client.authorize(ada);
    const answers = await Promise.all([client.refresh(refresh_token), client.refresh(refresh_token)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    await age(30);
    expect((await client.refresh(refresh_token)).status).toBe(200);
    for (const { body } of answers) expect(await atMcp(body.access_token)).toBeDefined();
  });

  it('ends the whole family when it comes back later than that', async () => {
    const { refresh_token, access_token } = await client.authorize(ada);
    const { body } = await client.refresh(refresh_token);
    await age(61);
    expect(await client.refresh(refresh_token)).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    });
    expect((await client.refresh(body.refresh_token)).body.error).toBe('invalid_grant');
    expect(await atMcp(access_token)).toBeUndefined();
    expect(await atMcp(body.access_token)).toBeUndefined();
  });

  it('is not for another client', async () => {
    const { refresh_token } = await client.authorize(ada);
    const thief = await OAuthClient.register(service);
    expect((await thief.refresh(refresh_token)).body.error).toBe('invalid_grant');
  });
});

describe('at /api', () => {
  it('a token for it acts within its scopes and workspaces', async () => {
    const asking = { resource: api(), scope: 'workspaces:read organizations:read' };
    const { access_token } = await client.authorize(ada, asking, { reach: 'chosen', workspace: [workspace] });
    const program = client.as(access_token);
    expect((await program.get('/api/workspaces')).body.items.map(({ id }: Json) => id)).toEqual([workspace]);
    expect((await program.get(`/api/workspaces/${other}`)).status).toBe(404);
    expect((await program.post('/api/workspaces', { name: 'No' })).status).toBe(403);
    expect((await program.post('/api/keys', { name: 'No' })).status).toBe(403);
    const principal = await program.get('/api/auth/principal');
    expect(principal.body.credential).toMatchObject({
      type: 'oauth',
      scopes: ['organizations:read', 'workspaces:read'],
    });
  });

  it('a token for the MCP endpoint is refused, and the other way round', async () => {
    const { access_token } = await client.authorize(ada);
    const { status, headers } = await client.as(access_token).get('/api/auth/principal');
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toBe('Bearer');
    const forApi = await client.authorize(ada, { resource: api() });
    expect(await atMcp(forApi.access_token)).toBeUndefined();
  });

  it('tells the two kinds of tokens apart, and takes neither for the other', async () => {
    const { access_token } = await client.authorize(ada, { resource: api() });
    const session = String(ada.client.headers.authorization).slice(7);
    const [header = '', payload = '', signature = ''] = access_token.split('.');
    const [sessionHeader = ''] = session.split('.');
    const header2 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const forged = [
      `${sessionHeader}.${payload}.${signature}`,
      `${header}.${session.split('.').slice(1).join('.')}`,
      `${header2({ typ: 'at+jwt', alg: 'none' })}.${payload}.`,
      `${header2({ typ: 'at+jwt', alg: 'HS256' })}.${payload}.${signature}`,
      `${header2({ typ: 'JWT', alg: 'ES256', kid: decodeProtectedHeader(access_token).kid })}.${payload}.${signature}`,
    ];
    const answers = await Promise.all(forged.map(token => client.as(token).get('/api/auth/principal')));
    expect(answers.map(({ status }) => status)).toEqual(forged.map(() => 401));
    expect((await client.as(access_token).get('/api/auth/principal')).status).toBe(200);
    expect(await atMcp(session)).toBeUndefined();
  });
});

describe('grants', () => {
  it('are listed to the person alone, and revoked at once', async () => {
    const { access_token, refresh_token } = await client.authorize(ada, { resource: api(), scope: 'read' });
    const grantId = (await client.as(access_token).get('/api/auth/principal')).body.credential.id;
    const listed = (await ada.client.get('/api/oauth/grants?limit=200')).body.items;
    expect(listed.find(({ id }: Json) => id === grantId)).toMatchObject({
      client_id: client.client.client_id,
      client_name: 'Example',
      redirect_host: '127.0.0.1:9',
      scopes: ['read'],
      resources: [api()],
      workspace_ids: null,
      last_used_at: expect.any(String),
    });
    const stranger = await service.person('Stranger');
    expect((await stranger.client.get('/api/oauth/grants')).body.items).toEqual([]);
    expect((await stranger.client.delete(`/api/oauth/grants/${grantId}`)).status).toBe(404);
    expect((await client.as(access_token).delete(`/api/oauth/grants/${grantId}`)).status).toBe(403);
    expect((await ada.client.delete(`/api/oauth/grants/${grantId}`)).status).toBe(200);
    expect((await client.as(access_token).get('/api/auth/principal')).status).toBe(401);
    expect((await client.refresh(refresh_token)).body.error).toBe('invalid_grant');
    expect((await ada.client.delete(`/api/oauth/grants/${grantId}`)).status).toBe(404);
  });

  it('come in pages', async () => {
    const first = await ada.client.get('/api/oauth/grants?limit=1');
    const second = await ada.client.get(`/api/oauth/grants?limit=1&cursor=${first.body.next_cursor}`);
    expect(second.body.items[0].id).not.toBe(first.body.items[0].id);
  });

  it('lose what the person loses', async () => {
    const grace = await service.person('Grace');
    await service.join(grace, { organization: ada.organizationId, role: 'member' });
    const { access_token } = await client.authorize(grace, { resource: api(), scope: 'read' });
    const shared = await service.workspace(ada, { visibility: 'org' });
    expect((await client.as(access_token).get(`/api/workspaces/${shared}`)).status).toBe(200);
    await service.database.query(
      'delete from organization_member where organization_id = $1 and user_id = $2',
      [ada.organizationId, grace.id],
    );
    expect((await client.as(access_token).get(`/api/workspaces/${shared}`)).status).toBe(404);
  });

  it('are written down, made and revoked', async () => {
    const rows = await service.database.query(
      `select action from audit_entry where target_type = 'oauth_grant'`,
    );
    expect(new Set(rows.map(({ action }) => action))).toEqual(new Set(['grant_create', 'grant_revoke']));
  });
});

describe('the sign-in page', () => {
  const loginPage = async () => {
    const browser = new Browser(service.url);
    const { parameters } = await client.request();
    return { browser, page: await browser.open(client.address(parameters)) };
  };

  it('says what is wrong with the password, and keeps the address', async () => {
    const { browser, page } = await loginPage();
    const answer = await browser.submit(page, '/login', { email: ada.email, password: 'wrong' });
    expect(answer.status).toBe(422);
    expect(answer.html).toContain('E-mail address or password is wrong');
    expect(answer.html).toContain(`value="${ada.email}"`);
    expect((await signIn(browser, answer, ada)).html).toContain('Let Example in?');
  });

  it('cannot be framed, runs no script, and tells nobody its address', async () => {
    const { page } = await loginPage();
    const policy = page.headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("form-action 'self' http://127.0.0.1:9;");
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.html).not.toContain('<script');
  });

  it('takes a form from nowhere else, and from no other browser', async () => {
    const { browser, page } = await loginPage();
    const credentials = { email: ada.email, password: ada.password };
    expect((await browser.submit(page, '/login', { ...credentials, csrf: 'forged' })).status).toBe(403);
    expect((await new Browser(service.url).submit(page, '/login', credentials)).status).toBe(400);
  });

  it('lets one go on as somebody else', async () => {
    const grace = await service.person('Grace');
    const { browser, page } = await loginPage();
    const consent = await signIn(browser, page, ada);
    const login = await browser.submit(consent, '/switch', {});
    expect(login.html).toContain('name="password"');
    expect((await signIn(browser, login, grace)).html).toContain(grace.email);
  });

  it('is shown again once the sign-in was ended elsewhere', async () => {
    const { browser, page } = await loginPage();
    await signIn(browser, page, ada);
    await ada.client.delete('/api/auth/sessions');
    const again = await browser.open(client.address((await client.request()).parameters));
    expect(again.html).toContain('name="password"');
  });

  it('shows a name as text, whatever it holds', async () => {
    const odd = await OAuthClient.register(service, { client_name: '<b>Bold</b> "x"' });
    const { html } = await new Browser(service.url).open(odd.address((await odd.request()).parameters));
    expect(html).toContain('&lt;b&gt;Bold&lt;/b&gt; &quot;x&quot;');
  });

  it('keeps its cookies to the browser and to this site', async () => {
    const { parameters } = await client.request();
    const cookies = (await fetch(client.address(parameters), { redirect: 'manual' })).headers.getSetCookie();
    expect(cookies.length).toBeGreaterThan(0);
    for (const cookie of cookies) expect(cookie).toMatch(/; samesite=lax; httponly/i);
  });
});
