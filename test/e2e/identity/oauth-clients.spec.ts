import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import * as oauth from 'oauth4webapi';
import {
  ArtifactsStore,
  ClientsStore,
  OAuthResources,
  OAuthTokens,
  SigningKeys,
} from '../../../src/identity/oauth/index.js';
import { Config } from '../../../src/platform/config/index.js';
import { createLog } from '../../../src/platform/log/index.js';
import { type Topic, Topics } from '../../../src/platform/topics/index.js';
import { createServer } from '../../../src/server.js';
import { DocumentServer } from '../../fakes/document-server.js';
import { Browser } from '../../harness/browser.js';
import type { Json } from '../../harness/client.js';
import { allow, OAuthClient, REDIRECT, signIn, startOAuthService } from '../../harness/oauth.js';
import type { Person, TestService } from '../../harness/service.js';

const insecure = { [oauth.allowInsecureRequests]: true };

let documents: DocumentServer;
let service: TestService;
let ada: Person;
let client: OAuthClient;

beforeAll(async () => {
  documents = await DocumentServer.start();
  service = await startOAuthService(
    { RATE_LIMITS_PER_HOUR: 'oauth_client=30' },
    { outgoing: documents.wayIn },
  );
  ada = await service.person();
  client = await OAuthClient.register(service);
});
afterAll(async () => {
  await service.stop();
  await documents.stop();
});

const resources = () => service.app.get(OAuthResources, { strict: false });
const verify = (token: string, resource = resources().mcp) =>
  service.app.get(OAuthTokens, { strict: false }).verify(token, resource);

describe('dynamic registration', () => {
  const register = (metadata: Json) => service.stranger.post('/oauth/register', metadata);

  it('ignores scopes, so that a client can ask for others later', async () => {
    const odd = await OAuthClient.register(service, { scope: 'openid mcp:all whatever' });
    expect(odd.client.scope).toBeUndefined();
    expect((await odd.authorize(ada, { scope: 'read' })).scope).toBe('read');
  });

  it('gives what most clients need to those that say nothing', async () => {
    const { status, body } = await register({ redirect_uris: [REDIRECT] });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_basic',
      client_secret: expect.any(String),
    });
    const rows = await service.database.query('select metadata from oauth_client where id = $1', [
      body.client_id,
    ]);
    expect(JSON.stringify(rows)).not.toContain(body.client_secret);
  });

  it('takes the secret of a confidential client, and no other', async () => {
    const confidential = await OAuthClient.register(service, {
      token_endpoint_auth_method: 'client_secret_basic',
    });
    const tokens = await confidential.authorize(ada);
    expect(await verify(tokens.access_token)).toBeDefined();
    const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
    const basic = (secret: string) => ({
      authorization: `Basic ${Buffer.from(`${confidential.client.client_id}:${secret}`).toString('base64')}`,
    });
    const wrong = await confidential.post(confidential.server.token_endpoint, refresh, basic('wrong'));
    expect(wrong).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
  });

  it.each([
    ['plain http elsewhere', { redirect_uris: ['http://example.com/cb'], application_type: 'web' }],
    ['a script as redirect', { redirect_uris: ['javascript:alert(1)'] }],
    ['no redirect', { redirect_uris: [] }],
    ['the rights of a service account', { redirect_uris: [REDIRECT], grant_types: ['client_credentials'] }],
    ['text that cannot be kept', { redirect_uris: [REDIRECT], client_name: 'a\u0000b' }],
    ['an address that is not one', { redirect_uris: [REDIRECT], client_uri: 'javascript:alert(1)' }],
  ])('refuses %s', async (_what, metadata) => {
    expect((await register(metadata)).status).toBe(400);
  });

  it('is open to pages of any origin', async () => {
    const { status, headers } = await service.stranger.raw('OPTIONS', '/oauth/register');
    expect([status, headers.get('access-control-allow-origin')]).toEqual([204, '*']);
  });

  it('forgets clients that nobody let in within a day', async () => {
    const unused = await OAuthClient.register(service);
    await service.database.query(`update oauth_client set created_at = created_at - interval '25 hours'`);
    await service.app.get(ClientsStore, { strict: false }).deleteUnused();
    const left = await service.database.query<{ id: string }>('select id from oauth_client');
    const ids = left.map(({ id }) => id);
    expect(ids).not.toContain(unused.client.client_id);
    expect(ids.length).toBeGreaterThan(0);
    client = await OAuthClient.register(service);
  });
});

describe('a client that is a metadata document', () => {
  const describe_ = (path: string, change: (document: Json) => Json = document => document) =>
    documents.documents.set(path, origin =>
      change({
        client_id: `${origin}${path}`,
        client_name: 'Documented',
        redirect_uris: [REDIRECT],
        token_endpoint_auth_method: 'none',
        scope: 'anything at all',
      }),
    );

  it('is let in by its address, at whatever port of the machine it listens', async () => {
    describe_('/client.json');
    const documented = await OAuthClient.of(service, `${documents.origin}/client.json`);
    const { access_token } = await documented.authorize(ada, {
      redirect_uri: 'http://127.0.0.1:4711/callback',
    });
    expect(await verify(access_token)).toBeDefined();
    const { parameters } = await documented.request();
    const browser = new Browser(service.url);
    const page = await signIn(browser, await browser.open(documented.address(parameters)), ada);
    expect(page.html).toContain(`as ${new URL(documents.origin).host} says of it`);
  });

  it.each([
    [
      'of another address',
      '/stolen.json',
      (document: Json) => ({ ...document, client_id: 'https://a.example/' }),
    ],
    ['with a secret', '/secret.json', (document: Json) => ({ ...document, client_secret: 'x' })],
    ['that redirects', '/redirect.json', undefined],
  ])('is refused for a document %s', async (_what, path, change) => {
    if (change) describe_(path, change);
    const documented = await OAuthClient.of(service, documents.origin + path);
    const { parameters } = await documented.request();
    expect((await new Browser(service.url).open(documented.address(parameters))).status).toBe(400);
    expect(documents.requests).toContain(path);
  });
});

describe('the device flow', () => {
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
  let device: OAuthClient;
  beforeAll(async () => {
    device = await OAuthClient.register(service, {
      client_name: 'Terminal',
      grant_types: [grant_type, 'refresh_token'],
      redirect_uris: [],
      response_types: [],
    });
  });
  const start = async () => {
    const parameters = { scope: 'read', resource: device.mcp };
    const response = await oauth.deviceAuthorizationRequest(
      device.server,
      device.client,
      device.authentication,
      parameters,
      insecure,
    );
    return oauth.processDeviceAuthorizationResponse(device.server, device.client, response);
  };
  const poll = (device_code: string) => device.token({ grant_type, device_code });

  it('asks the person in a browser, and gives the device its tokens', async () => {
    const { device_code, user_code, verification_uri } = await start();
    expect((await poll(device_code)).body.error).toBe('authorization_pending');
    const browser = new Browser(service.url);
    const entered = await browser.submit(await browser.open(verification_uri), '/oauth/device', {
      user_code,
    });
    expect(entered.html).toContain(user_code);
    const consent = await signIn(browser, await browser.submit(entered, '/oauth/device', {}), ada);
    expect(consent.html).toContain('The device that showed you a code');
    expect((await allow(browser, consent)).html).toContain('Your device is connected');
    const { status, body } = await poll(device_code);
    expect(status).toBe(200);
    expect(await verify(body.access_token)).toMatchObject({ id: ada.id });
    expect((await device.refresh(body.refresh_token)).status).toBe(200);
    expect((await poll(device_code)).body.error).toBe('invalid_grant');
    expect((await poll(device_code)).body.error).toBe('invalid_grant');
    expect((await device.as(body.access_token).get('/api/auth/principal')).status).not.toBe(404);
    expect((await device.refresh(body.refresh_token)).status).toBe(200);
  });

  it('fills in a code from the address, and waits for the person', async () => {
    const { device_code, user_code, verification_uri_complete = '' } = await start();
    const page = await new Browser(service.url).open(verification_uri_complete);
    expect(page.html).toContain(`value="${user_code}"`);
    expect(page.html).not.toContain('<script');
    expect((await poll(device_code)).body.error).toBe('authorization_pending');
  });

  it('tells the device when the person declines, and the person when a code is wrong', async () => {
    const { device_code, user_code, verification_uri } = await start();
    const browser = new Browser(service.url);
    const wrong = await browser.submit(await browser.open(verification_uri), '/oauth/device', {
      user_code: 'BBBB-BBBB',
    });
    expect(wrong.html).toContain('This code is not valid');
    const entered = await browser.submit(wrong, '/oauth/device', { user_code });
    await browser.submit(entered, '/oauth/device', { abort: 'yes' });
    expect((await poll(device_code)).body.error).toBe('access_denied');
  });
});

describe('a service account', () => {
  let id: string;
  let key: Json;
  beforeAll(async () => {
    const account = { organization_id: ada.organizationId, name: 'Bot', role: 'member' };
    id = (await ada.client.post('/api/service-accounts', account)).body.id;
    key = (
      await ada.client.post(`/api/service-accounts/${id}/keys`, {
        name: 'CI',
        scopes: ['workspaces:read', 'organizations:read'],
      })
    ).body;
  });
  const obtain = async (fields: Record<string, string> = {}) => {
    const bot = await OAuthClient.of(service, id, key.api_key);
    const parameters = { resource: resources().api, ...fields };
    const response = await oauth.clientCredentialsGrantRequest(
      bot.server,
      bot.client,
      bot.authentication,
      parameters,
      insecure,
    );
    return oauth.processClientCredentialsResponse(bot.server, bot.client, response);
  };

  it('gets a token for its id and one of its keys, within the limits of the key', async () => {
    const { access_token } = await obtain();
    const principal = await client.as(access_token).get('/api/auth/principal');
    expect(principal.body).toMatchObject({
      type: 'service_account',
      id,
      credential: { type: 'oauth', id: key.id },
    });
    expect(principal.body.credential.scopes).toEqual(['organizations:read', 'workspaces:read']);
    expect((await client.as(access_token).post('/api/workspaces', { name: 'No' })).status).toBe(403);
  });

  it('gets none with a wrong key, or with the key of a person', async () => {
    const own = (await ada.client.post('/api/keys', { name: 'own' })).body.api_key;
    for (const secret of [own, 'atl_wrong', key.api_key.slice(0, -1)]) {
      const bot = await OAuthClient.of(service, id, secret);
      const { status, body } = await bot.post(bot.server.token_endpoint, {
        grant_type: 'client_credentials',
        client_id: id,
        client_secret: secret,
      });
      expect({ status, error: body.error }).toEqual({ status: 401, error: 'invalid_client' });
    }
  });

  it('can have its token looked at, and revoked before its time', async () => {
    const bot = await OAuthClient.of(service, id, key.api_key);
    const { access_token } = await obtain();
    const about = { token: access_token, client_id: id, client_secret: key.api_key };
    expect((await bot.post(bot.server.introspection_endpoint, about)).body).toMatchObject({
      active: true,
      client_id: id,
    });
    expect((await bot.post(bot.server.revocation_endpoint, about)).status).toBe(200);
    expect((await client.as(access_token).get('/api/auth/principal')).status).toBe(401);
    expect((await bot.post(bot.server.introspection_endpoint, about)).body).toEqual({ active: false });
  });

  it('loses its tokens with the key', async () => {
    const { access_token } = await obtain();
    expect(await verify(access_token, resources().api)).toBeDefined();
    await ada.client.delete(`/api/service-accounts/${id}/keys/${key.id}`);
    expect(await verify(access_token, resources().api)).toBeUndefined();
  });
});

describe('introspection and revocation', () => {
  const about = (token: string) => ({ token, client_id: client.client.client_id });

  it('tell a client of its own tokens only', async () => {
    const { access_token, refresh_token } = await client.authorize(ada, { scope: 'read' });
    const address = client.server.introspection_endpoint;
    for (const token of [access_token, refresh_token])
      expect((await client.post(address, about(token))).body).toMatchObject({
        active: true,
        scope: 'read',
        sub: ada.id,
      });
    const stranger = await OAuthClient.register(service);
    const asked = { token: access_token, client_id: stranger.client.client_id };
    expect((await stranger.post(address, asked)).body).toEqual({ active: false });
    expect((await client.post(address, about('nonsense'))).body).toEqual({ active: false });
  });

  it.each(['access_token', 'refresh_token'] as const)('of the %s end the grant', async kind => {
    const tokens = await client.authorize(ada);
    expect((await client.post(client.server.revocation_endpoint, about(tokens[kind]))).status).toBe(200);
    expect(await verify(tokens.access_token)).toBeUndefined();
    expect((await client.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
  });
});

describe('a pushed authorization request', () => {
  const push = async () => {
    const { parameters, verifier, state } = await client.request({ scope: 'read' });
    const response = await oauth.pushedAuthorizationRequest(
      client.server,
      client.client,
      client.authentication,
      parameters,
      insecure,
    );
    const { request_uri } = await oauth.processPushedAuthorizationResponse(
      client.server,
      client.client,
      response,
    );
    const short = new URLSearchParams({ client_id: client.client.client_id, request_uri });
    return { short, verifier, state };
  };

  it('stands for its parameters, once', async () => {
    const { short, verifier, state } = await push();
    const tokens = await client.redeem(await client.approve(ada, short), verifier, state);
    expect(tokens.scope).toBe('read');
    const { url } = await new Browser(service.url).open(client.address(short));
    expect(url.searchParams.get('error')).toBe('invalid_request_uri');
  });
});

describe('a token bound to a key (DPoP)', () => {
  const bind = async () => {
    const keys = await oauth.generateKeyPair('ES256');
    const dpop = oauth.DPoP(client.client, keys);
    const { access_token, token_type } = await client.authorize(ada, {
      resource: resources().api,
      scope: 'read',
      dpop,
    });
    expect(token_type).toBe('dpop');
    return { keys, dpop, access_token };
  };
  const call = (access_token: string, dpop: oauth.DPoPHandle) =>
    oauth.protectedResourceRequest(
      access_token,
      'GET',
      new URL(`${resources().api}/auth/principal`),
      undefined,
      undefined,
      { ...insecure, DPoP: dpop },
    );

  it('opens the API with a proof, and neither without one nor with one of another key', async () => {
    const { dpop, access_token } = await bind();
    expect(decodeJwt(access_token).cnf).toMatchObject({ jkt: expect.any(String) });
    expect((await call(access_token, dpop)).status).toBe(200);
    expect((await client.as(access_token).get('/api/auth/principal')).status).toBe(401);
    const stolen = oauth.DPoP(client.client, await oauth.generateKeyPair('ES256'));
    await expect(call(access_token, stolen)).rejects.toThrow();
  });

  it('takes each proof once, for the one request it is made for', async () => {
    const { dpop, access_token } = await bind();
    let proof = '';
    const spying = {
      ...insecure,
      DPoP: dpop,
      [oauth.customFetch]: (url: string, init: Json) => {
        proof = new Headers(init.headers).get('dpop') ?? '';
        return fetch(url, init);
      },
    };
    const address = new URL(`${resources().api}/auth/principal`);
    expect(
      (await oauth.protectedResourceRequest(access_token, 'GET', address, undefined, undefined, spying))
        .status,
    ).toBe(200);
    const replay = service.stranger.with({ authorization: `DPoP ${access_token}`, dpop: proof });
    expect((await replay.get('/api/auth/principal')).status).toBe(401);
  });
});

describe('signing keys', () => {
  const keys = () => service.app.get(SigningKeys, { strict: false });
  const kids = async () => (await service.stranger.get('/oauth/jwks')).body.keys.map(({ kid }: Json) => kid);
  const age = (interval: string) =>
    service.database.query(
      `update secret set created_at = created_at - $1::interval where place = 'oauth_signing_key'`,
      [interval],
    );
  /** The row was changed behind the back of the service; a rotation by another process tells it by a signal. */
  const rotate = async () => {
    keys().forget();
    await keys().rotate();
  };

  it('lie sealed in the database', async () => {
    const [row] = await service.database.query<{ text: string }>(
      `select encode(sealed, 'escape') as text from secret where place = 'oauth_signing_key'`,
    );
    expect(row?.text).toEqual(expect.not.stringContaining('"d"'));
  });

  it('are replaced without breaking tokens in flight', async () => {
    const before = await client.authorize(ada);
    const [old] = await kids();
    await age('31 days');
    await rotate();
    expect(await kids()).toHaveLength(2);
    const meanwhile = await client.authorize(ada);
    expect(decodeProtectedHeader(meanwhile.access_token).kid).toBe(old);
    await age('2 hours');
    await rotate();
    const after = await client.authorize(ada);
    expect(decodeProtectedHeader(after.access_token).kid).not.toBe(old);
    for (const { access_token } of [before, meanwhile, after])
      expect(await verify(access_token)).toBeDefined();
    await age('25 hours');
    await rotate();
    expect(await kids()).toHaveLength(1);
    expect(await verify(before.access_token)).toBeUndefined();
    expect(await verify(after.access_token)).toBeDefined();
  });
});

describe('what has expired', () => {
  it('is removed', async () => {
    await service.database.query(`update oauth_artifact set expires_at = now() - interval '2 hours'`);
    await service.app.get(ArtifactsStore, { strict: false }).deleteExpired();
    expect(await service.database.query('select 1 from oauth_artifact')).toEqual([]);
  });
});

describe('another process', () => {
  let there: { app: NestFastifyApplication; url: string };
  beforeAll(async () => {
    const environment = { PUBLIC_URL: service.url, DATA_DIR: service.dataDir, LOG_LEVEL: 'error' };
    const config = Config.from({ ...environment, RATE_LIMITS_PER_MINUTE: 'anonymous=0', DRAIN_SECONDS: '0' });
    const database = { connectionString: service.database.url };
    const app = await createServer({ config, log: createLog(config), database });
    await app.listen(0, '127.0.0.1');
    there = { app, url: await app.getUrl() };
  });
  afterAll(() => there.app.close());

  it('goes on where this one stopped, and learns of new keys', async () => {
    const { parameters, verifier } = await client.request();
    const code = String((await client.approve(ada, parameters)).searchParams.get('code'));
    const fields = { client_id: client.client.client_id, code_verifier: verifier, redirect_uri: REDIRECT };
    const request = { grant_type: 'authorization_code', code, ...fields };
    const { status, body } = await client.post(`${there.url}/oauth/token`, request);
    expect(status).toBe(200);
    expect(await verify(body.access_token)).toBeDefined();

    const told = new Promise<void>(resolve => {
      there.app.get(Topics, { strict: false }).subscribe('oauth-signing-keys' as Topic, () => resolve());
    });
    await service.database.query(
      `update secret set created_at = created_at - interval '31 days' where place = 'oauth_signing_key'`,
    );
    const keys = service.app.get(SigningKeys, { strict: false });
    keys.forget();
    await keys.rotate();
    await told;
    const [here, elsewhere] = await Promise.all(
      [service, there].map(async ({ url }) => (await fetch(`${url}/oauth/jwks`)).json() as Promise<Json>),
    );
    expect(here.keys).toHaveLength(2);
    expect(elsewhere).toEqual(here);
  });
});
