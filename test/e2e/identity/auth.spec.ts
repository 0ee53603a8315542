import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Browser } from '../../harness/browser.js';
import { Client } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person();
});
afterAll(() => service.stop());

describe('registration', () => {
  it('makes the first account the owner of the installation, and no other', async () => {
    const second = await service.person('Grace');
    expect((await ada.client.get('/api/auth/me')).body.installation_owner).toBe(true);
    expect((await second.client.get('/api/auth/me')).body.installation_owner).toBe(false);
  });

  it('refuses a second account with the same address, in whatever case', async () => {
    const { status, body } = await service.stranger.post('/api/auth/register', {
      email: ada.email.toUpperCase(),
      password: 'another password',
      name: 'Impostor',
    });
    expect(status).toBe(409);
    expect(body.detail).toContain('sign in instead');
  });

  it('lets exactly one of two registrations with one address through', async () => {
    const input = { email: 'twice@example.com', password: 'correct horse', name: 'Twin' };
    const answers = await Promise.all([1, 2].map(() => service.stranger.post('/api/auth/register', input)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  it.each([
    ['email', { email: 'no address', password: 'correct horse', name: 'X' }],
    ['password', { email: 'x@example.com', password: 'short', name: 'X' }],
    ['name', { email: 'x@example.com', password: 'correct horse', name: ' ' }],
    ['role', { email: 'x@example.com', password: 'correct horse', name: 'X', role: 'owner' }],
  ])('names %s when it is wrong', async (field, input) => {
    const { status, body } = await service.stranger.post('/api/auth/register', input);
    expect(status).toBe(422);
    expect(body.detail).toMatch(new RegExp(`^${field} `));
  });
});

describe('sign-in', () => {
  it('answers the same for a wrong password and an unknown address', async () => {
    const wrong = await service.stranger.post('/api/auth/login', { email: ada.email, password: 'wrong' });
    const unknown = await service.stranger.post('/api/auth/login', {
      email: 'nobody@example.com',
      password: 'wrong',
    });
    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    expect(wrong.body).toEqual(unknown.body);
  });

  it('gives tokens that name the user', async () => {
    const { body } = await service.stranger.post('/api/auth/login', {
      email: ada.email,
      password: ada.password,
    });
    expect(body).toMatchObject({
      token_type: 'Bearer',
      expires_in: 900,
      user: { id: ada.id, email: ada.email },
    });
    const principal = await new Client(service.url, { authorization: `Bearer ${body.access_token}` }).get(
      '/api/auth/principal',
    );
    expect(principal.body).toMatchObject({
      type: 'user',
      id: ada.id,
      organization_id: null,
      credential: { type: 'session' },
    });
  });
});

describe('refresh', () => {
  const signIn = async () =>
    (await service.stranger.post('/api/auth/login', { email: ada.email, password: ada.password })).body;
  const refresh = (refresh_token: string) => service.stranger.post('/api/auth/refresh', { refresh_token });

  it('rotates, and ends the session when an old token comes back', async () => {
    const first = await signIn();
    const second = await refresh(first.refresh_token);
    expect(second.status).toBe(200);
    expect((await refresh(first.refresh_token)).status).toBe(401);
    expect((await refresh(second.body.refresh_token)).status).toBe(401);
    const thief = new Client(service.url, { authorization: `Bearer ${second.body.access_token}` });
    expect((await thief.get('/api/auth/me')).status).toBe(401);
  });

  it('lets one of two simultaneous uses through', async () => {
    const { refresh_token } = await signIn();
    const answers = await Promise.all([refresh(refresh_token), refresh(refresh_token)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401]);
  });

  it('is over after sign-out', async () => {
    const { refresh_token, access_token } = await signIn();
    expect((await service.stranger.post('/api/auth/logout', { refresh_token })).body).toEqual({
      signed_out: true,
    });
    expect((await refresh(refresh_token)).status).toBe(401);
    expect(
      (await new Client(service.url, { authorization: `Bearer ${access_token}` }).get('/api/auth/me')).status,
    ).toBe(401);
  });
});

describe('access tokens', () => {
  const asBearer = (token: string) =>
    new Client(service.url, { authorization: `Bearer ${token}` }).get('/api/auth/me');
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

  it('refuses a token without a signature, and one signed with another key', async () => {
    const token = String(ada.client.headers.authorization).slice(7);
    const [header = '', payload = ''] = token.split('.');
    expect((await asBearer(`${part({ alg: 'none', typ: 'JWT' })}.${payload}.`)).status).toBe(401);
    const { createHmac } = await import('node:crypto');
    const forged = createHmac('sha256', 'another key').update(`${header}.${payload}`).digest('base64url');
    const { status, headers, body } = await asBearer(`${header}.${payload}.${forged}`);
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toBe('Bearer');
    expect(Object.keys(body)).toEqual(['detail']);
  });
});

describe('API keys', () => {
  it('shows the secret once and keeps only a hash', async () => {
    const { body } = await ada.client.post('/api/keys', { name: 'CI' });
    expect(body.api_key).toMatch(/^atl_[\w-]{43}_[0-9a-f]{8}$/);
    const listed = await ada.client.get('/api/keys');
    expect(JSON.stringify(listed.body)).not.toContain(body.api_key);
    const rows = await service.database.query('select * from api_key');
    expect(JSON.stringify(rows)).not.toContain(body.api_key);
  });

  it('notes its last use', async () => {
    const { body } = await ada.client.post('/api/keys', { name: 'used' });
    await new Client(service.url, { 'x-api-key': body.api_key }).get('/api/auth/me');
    expect((await ada.client.get(`/api/keys/${body.id}`)).body.last_used_at).not.toBeNull();
  });

  it('is taken as a bearer token as well', async () => {
    const { body } = await ada.client.post('/api/keys', { name: 'bearer' });
    const as = (headers: Record<string, string>) => new Client(service.url, headers);
    const { status, body: principal } = await as({ authorization: `Bearer ${body.api_key}` }).get(
      '/api/auth/principal',
    );
    expect([status, principal.credential]).toMatchObject([200, { type: 'api_key', id: body.id }]);
    expect((await as({ authorization: `bearer  ${body.api_key}` }).get('/api/auth/me')).status).toBe(200);
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const mcp = as({
      authorization: `Bearer ${body.api_key}`,
      accept: 'application/json, text/event-stream',
    });
    expect(
      (
        await mcp.raw('POST', '/mcp', {
          body: JSON.stringify(ping),
          headers: { 'content-type': 'application/json' },
        })
      ).status,
    ).toBe(200);
    expect((await as({ authorization: 'Bearer atl_nonsense' }).get('/api/auth/me')).status).toBe(401);
    const both = { authorization: `Bearer ${body.api_key}`, 'x-api-key': body.api_key };
    expect((await as(both).get('/api/auth/me')).status).toBe(400);
  });

  it('is refused with one character changed, when revoked, and when expired', async () => {
    const { body } = await ada.client.post('/api/keys', { name: 'short-lived' });
    const use = (key: string) => new Client(service.url, { 'x-api-key': key }).get('/api/auth/me');
    const swapped = body.api_key[10] === 'A' ? 'B' : 'A';
    expect((await use(`${body.api_key.slice(0, 10)}${swapped}${body.api_key.slice(11)}`)).status).toBe(401);
    expect((await use(body.api_key)).status).toBe(200);
    await service.database.query(
      `update api_key set expires_at = now() - interval '1 second' where id = $1`,
      [body.id],
    );
    expect((await use(body.api_key)).status).toBe(401);
    await service.database.query('update api_key set expires_at = null where id = $1', [body.id]);
    await ada.client.delete(`/api/keys/${body.id}`);
    expect((await use(body.api_key)).status).toBe(401);
  });

  it('cannot make keys, and does not go together with a token', async () => {
    const key = await service.key(ada);
    expect((await key.post('/api/keys', { name: 'child' })).status).toBe(403);
    expect((await key.with(ada.client.headers).get('/api/auth/me')).status).toBe(400);
  });

  it('is limited to its scopes', async () => {
    const key = await service.key(ada, { scopes: ['workspaces:read'] });
    expect((await key.get('/api/workspaces')).status).toBe(200);
    const { status, body } = await key.post('/api/workspaces', { name: 'No' });
    expect(status).toBe(403);
    expect(body.detail).toContain('workspaces:write');
  });

  it('sees its organization alone when bound to one', async () => {
    const { body: other } = await ada.client.post('/api/organizations', { name: 'Other' });
    const workspace = await service.workspace(ada);
    const key = await service.key(ada, { organization_id: other.id });
    expect((await key.get('/api/organizations')).body.items.map(({ id }: { id: string }) => id)).toEqual([
      other.id,
    ]);
    expect((await key.get(`/api/workspaces/${workspace}`)).status).toBe(404);
    expect((await key.get('/api/auth/principal')).body).toMatchObject({
      organization_id: other.id,
      role: 'owner',
    });
  });
});

describe('signing out', () => {
  const signIn = async () => {
    const { body } = await service.stranger.post('/api/auth/login', {
      email: ada.email,
      password: ada.password,
    });
    return { body, client: new Client(service.url, { authorization: `Bearer ${body.access_token}` }) };
  };

  it('needs no more than the session', async () => {
    const { body, client } = await signIn();
    const other = await signIn();
    expect((await client.post('/api/auth/logout')).body).toEqual({ signed_out: true });
    expect((await client.get('/api/auth/me')).status).toBe(401);
    const { refresh_token } = body;
    expect((await service.stranger.post('/api/auth/refresh', { refresh_token })).status).toBe(401);
    expect((await other.client.get('/api/auth/me')).status).toBe(200);
  });

  it('is for sign-ins', async () => {
    const { status, body } = await service.stranger.post('/api/auth/logout', {});
    expect([status, body.detail]).toEqual([401, expect.stringContaining('refresh_token')]);
    expect((await (await service.key(ada)).post('/api/auth/logout')).status).toBe(403);
  });
});

describe('the address of the service', () => {
  it('is a page for people, and links for programs', async () => {
    const page = await service.stranger.raw('GET', '/', { headers: { accept: 'text/html,*/*;q=0.8' } });
    const html = await page.text();
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    for (const part of ['/docs', '/mcp', '/api/auth/login', '/api/health']) expect(html).toContain(part);
    for (const link of html.matchAll(/href="([^"]+)"/g))
      expect((await service.stranger.raw('GET', link[1] ?? '')).status).toBeLessThan(402);
    for (const accept of ['application/json', '*/*']) {
      const { status, body } = await service.stranger.with({ accept }).get('/');
      expect([status, body.name]).toEqual([200, 'Atelier']);
      expect(body.openapi).toMatch(/\/api\/openapi\.json$/);
    }
  });

  it.each([
    ['/nothing/here', 404, 'No such endpoint'],
    ['/api/nothing', 404, 'No such endpoint'],
    ['/api/workspaces', 401, 'Sign in, or send an API key'],
    ['/api/integrations/callback', 400, 'The address lacks its state: start again'],
    ['/%zz', 400, 'malformed percent escape'],
  ])(
    'says what is wrong as a page to browsers, and as JSON to programs: %s',
    async (path, status, detail) => {
      const page = await service.stranger.raw('GET', path, { headers: { accept: 'text/html,*/*;q=0.8' } });
      expect([page.status, page.headers.get('content-type')]).toEqual([status, 'text/html; charset=utf-8']);
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
      const html = await page.text();
      expect(html).toContain(detail);
      expect(html).toContain('<a href="/">To the start page</a>');
      if (path === '/api/integrations/callback') return;
      const told = await service.stranger.raw('GET', path);
      expect([told.status, told.headers.get('content-type'), await told.json()]).toEqual([
        status,
        'application/json; charset=utf-8',
        { detail: expect.stringContaining(detail) },
      ]);
      expect(told.headers.get('vary')).toContain('Accept');
    },
  );
});

// Last, as another service takes the strategies of sign-in over from the first.
describe.each(['invite', 'closed'])('with REGISTRATION=%s', REGISTRATION => {
  it('says what to do, and takes an invited person in or says why not', async () => {
    const other = await TestService.start({ REGISTRATION });
    try {
      const owner = await other.person('Owner');
      const input = { email: 'new@example.com', password: 'correct horse', name: 'New' };
      const alone = await other.stranger.post('/api/auth/register', input);
      expect(alone.status).toBe(403);
      expect(alone.body.detail).toMatch(
        REGISTRATION === 'invite' ? /open the link of an invitation/ : /takes no new accounts; ask/,
      );
      const { body } = await owner.client.post(`/api/organizations/${owner.organizationId}/invitations`, {
        email: input.email,
      });
      const { pathname } = new URL(body.link);
      const browser = new Browser(other.url);
      const page = await browser.open(pathname);
      const accepted = await other.stranger.post(`/api${pathname}/accept`, {
        name: 'New',
        password: input.password,
      });
      if (REGISTRATION === 'invite') {
        expect(page.html).toContain('Create account and accept');
        expect(accepted.body.account_created).toBe(true);
      } else {
        expect(page.html).toContain('this installation takes no new ones');
        expect(accepted.status).toBe(403);
        expect(accepted.body.detail).toContain('REGISTRATION=invite');
      }
    } finally {
      await other.stop();
    }
  });
});
