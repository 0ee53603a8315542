import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { CountExchange } from '#libs/shared-counter/index.js';
import { Config } from '../../../src/platform/config/index.js';
import { Chores } from '../../../src/platform/jobs/index.js';
import { createLog } from '../../../src/platform/log/index.js';
import { createServer } from '../../../src/server.js';
import { Client } from '../../harness/client.js';
import { getRaw } from '../../harness/raw-http.js';
import { type Person, TestService } from '../../harness/service.js';

const LIMIT = 40;
const ANONYMOUS = 20;
const settings = {
  RATE_LIMITS_PER_MINUTE: `credential=${LIMIT},anonymous=${ANONYMOUS},shared=30`,
  // Requests of tests come through a proxy, from whatever address it says.
  PUBLIC_URL: 'http://atelier.test',
  STREAM_LIMITS: 'credential=3,owner=4,process=5',
};

let service: TestService;
let other: { app: NestFastifyApplication; url: string };
let ada: Person;

beforeAll(async () => {
  service = await TestService.start(settings);
  ada = await service.person();
  other = await secondProcess();
});
afterAll(async () => {
  await other.app.close();
  await service.stop();
});

/** Another instance of the service on the same database. */
async function secondProcess() {
  const config = Config.from({
    DATABASE_URL: service.database.url,
    DATA_DIR: service.dataDir,
    LOG_LEVEL: 'error',
    ROLE: 'api',
    ...settings,
  });
  const database = { connectionString: service.database.url };
  const app = await createServer({ config, log: createLog(config), database });
  await app.listen(0, '127.0.0.1');
  return { app, url: await app.getUrl() };
}

let addresses = 0;
/** A caller from an address of its own. */
const from = (url: string, address = `198.51.100.${++addresses}`, headers = {}) =>
  new Client(url, { 'x-forwarded-for': address, ...headers });

const freshKey = async () =>
  (await service.key(ada)).with({ 'x-forwarded-for': `198.51.100.${++addresses}` });

async function exhaust(client: Client, path = '/api/workspaces'): Promise<number> {
  for (let passed = 0; ; passed++) if ((await client.get(path)).status === 429) return passed;
}

const exchange = (app: NestFastifyApplication) => app.get(CountExchange, { strict: false }).run();

describe('a credential', () => {
  it('is told what is left, and refused beyond its limit', async () => {
    const key = await freshKey();
    const first = await key.get('/api/workspaces');
    expect(first.headers.get('ratelimit-policy')).toBe(`"credential";q=${LIMIT};w=60`);
    expect(first.headers.get('ratelimit')).toMatch(new RegExp(`^"credential";r=${LIMIT - 1};t=\\d+$`));
    expect(await exhaust(key)).toBe(LIMIT - 1);
    const { status, headers, body } = await key.get('/api/workspaces');
    expect(status).toBe(429);
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(headers.get('ratelimit')).toContain(';r=0;');
    expect(headers.get('x-request-id')).toBeTruthy();
    expect(body.detail).toMatch(/^More than 40 requests a minute .* try again in \d+ s$/);
  });

  it('does not use up what others have', async () => {
    await exhaust(await freshKey());
    expect((await (await freshKey()).get('/api/workspaces')).status).toBe(200);
  });

  it('is limited from whatever address it comes', async () => {
    const key = await freshKey();
    await exhaust(key);
    expect((await key.with({ 'x-forwarded-for': '203.0.113.9' }).get('/api/workspaces')).status).toBe(429);
  });

  it('that is valid does not use up its address', async () => {
    const address = `198.51.100.${++addresses}`;
    for (let count = 0; count < ANONYMOUS + 2; count++) {
      const key = (
        await service.key({ ...ada, client: ada.client.with({ 'x-forwarded-for': address }) })
      ).with({
        'x-forwarded-for': address,
      });
      expect((await key.get('/api/workspaces')).status).toBe(200);
    }
    expect((await from(service.url, address).get('/api/auth/me')).headers.get('ratelimit')).toContain(
      `r=${ANONYMOUS - 1};`,
    );
  });
});

describe('a caller without a valid credential', () => {
  it('is limited by address', async () => {
    const stranger = from(service.url);
    const first = await stranger.get('/api/auth/me');
    expect(first.status).toBe(401);
    expect(first.headers.get('ratelimit-policy')).toBe(`"address";q=${ANONYMOUS};w=60`);
    expect(await exhaust(stranger, '/api/auth/me')).toBe(ANONYMOUS - 1);
    expect((await from(service.url).get('/api/auth/me')).status).toBe(401);
  });

  it('cannot guess on with another credential each time', async () => {
    const address = `198.51.100.${++addresses}`;
    const guesses = Array.from({ length: ANONYMOUS + 1 }, (_, n) =>
      from(service.url, address, { 'x-api-key': `atl_${n}` }).get('/api/auth/me'),
    );
    const statuses = (await Promise.all(guesses)).map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(ANONYMOUS).fill(401), 429]);
  });

  it('cannot take another address by saying so to the proxy', async () => {
    const address = `198.51.100.${++addresses}`;
    await exhaust(from(service.url, address), '/api/auth/me');
    expect((await from(service.url, `203.0.113.1, ${address}`).get('/api/auth/me')).status).toBe(429);
  });

  it('is one with its whole IPv6 network', async () => {
    await exhaust(from(service.url, '2001:db8:1:2::1'), '/api/auth/me');
    expect((await from(service.url, '2001:db8:1:2:ffff::2').get('/api/auth/me')).status).toBe(429);
    expect((await from(service.url, '2001:db8:1:3::1').get('/api/auth/me')).status).toBe(401);
  });

  it('may ask about health as often as it likes', async () => {
    const stranger = from(service.url);
    await exhaust(stranger, '/api/auth/me');
    const { status, headers } = await stranger.get('/api/health');
    expect(status).toBe(200);
    expect(headers.get('ratelimit')).toBeNull();
  });
});

describe('however an address is spelt', () => {
  it.each([
    '/%61pi/auth/me',
    'http://atelier.test/api/auth/me',
    'http://127.0.0.1:1/%61pi/%61uth/me',
    '/docs',
    '/no/such/page',
    '/.well-known/oauth-authorization-server',
    '/%6Fauth/jwks',
  ])('%s counts', async target => {
    const headers = { 'x-forwarded-for': `198.51.100.${++addresses}` };
    const first = await getRaw(service.url, target, headers);
    expect(first.status).not.toBe(429);
    expect(first.headers.get('ratelimit')).toContain(`"address";r=${ANONYMOUS - 1};`);
    await exhaust(from(service.url, headers['x-forwarded-for']), '/api/auth/me');
    expect((await getRaw(service.url, target, headers)).status).toBe(429);
  });

  it('share links count for themselves', async () => {
    const headers = { 'x-forwarded-for': `198.51.100.${++addresses}`, host: 'share.atelier.test' };
    const answers = [];
    for (let count = 0; count < 31; count++)
      answers.push(await getRaw(service.url, `/%73/${count}`, headers));
    const statuses = answers.map(({ status }) => status);
    expect(statuses).toEqual([...Array(30).fill(404), 429]);
    expect(
      (await from(service.url, headers['x-forwarded-for']).get('/api/auth/me')).headers.get('ratelimit'),
    ).toContain(`r=${ANONYMOUS - 1};`);
  });
});

describe('an address whose anonymous requests are spent', () => {
  it('still lets in a valid credential that is new to the process', async () => {
    const address = `198.51.100.${++addresses}`;
    const key = (await service.key(ada)).with({ 'x-forwarded-for': address });
    await exhaust(from(service.url, address), '/api/auth/me');
    expect((await key.get('/api/workspaces')).status).toBe(200);
  });

  it('cannot guess credentials beyond a limit of their own', async () => {
    const address = `198.51.100.${++addresses}`;
    await exhaust(from(service.url, address), '/api/auth/me');
    const statuses = [];
    for (let n = 0; n <= ANONYMOUS; n++)
      statuses.push(
        (await from(service.url, address, { 'x-api-key': `atl_${n}` }).get('/api/auth/me')).status,
      );
    expect(statuses).toEqual([...Array(ANONYMOUS).fill(401), 429]);
  });
});

describe('event streams', () => {
  /** Opens the stream of a workspace; its status, and what closes it. */
  async function open(client: Client, workspace: string) {
    const gone = new AbortController();
    const path = `/api/workspaces/${workspace}/events`;
    const response = await client.raw('GET', path, { signal: gone.signal });
    return { response, close: () => gone.abort() };
  }

  it('are limited for each credential, each owner and the process, and are given back', async () => {
    const workspace = await service.workspace(ada);
    const keys = [await freshKey(), await freshKey()];
    const bob = await service.person('Bob');
    const other = { client: bob.client, workspace: await service.workspace(bob) };
    const opened: Awaited<ReturnType<typeof open>>[] = [];
    const take = async (client: Client, of = workspace) => {
      const one = await open(client, of);
      if (one.response.status === 200) opened.push(one);
      return one.response;
    };
    const [first, second] = keys as [Client, Client];
    for (let count = 0; count < 3; count++) expect((await take(first)).status).toBe(200);
    const refused = await take(first);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(((await refused.json()) as { detail: string }).detail).toMatch(
      /^This credential has 3 event streams/,
    );
    expect((await take(second)).status).toBe(200);
    const owner = await take(second);
    expect([owner.status, ((await owner.json()) as { detail: string }).detail]).toEqual([
      429,
      expect.stringMatching(/^You have 4 event streams/),
    ]);
    expect((await take(other.client, other.workspace)).status).toBe(200);
    expect((await take(other.client, other.workspace)).status).toBe(429);
    opened[0]?.close();
    // The place is free as soon as the service sees that the client has gone.
    while ((await take(first)).status !== 200) await new Promise(resolve => setTimeout(resolve, 100));
    for (const { close } of opened) close();
  });
});

describe('two processes on one database', () => {
  it('refuse together what one alone would let through', async () => {
    const key = await freshKey();
    expect(await exhaust(key)).toBe(LIMIT);
    await exchange(service.app);
    const there = new Client(other.url, key.headers);
    for (let count = 0; count < LIMIT / 10; count++)
      expect((await there.get('/api/workspaces')).status).toBe(200);
    await exchange(other.app);
    expect((await there.get('/api/workspaces')).status).toBe(429);
  });

  it('go on by themselves while the counts cannot be exchanged', async () => {
    const key = await freshKey();
    await service.database.query('alter table rate_count rename to rate_count_away');
    expect(await exhaust(key)).toBe(LIMIT);
    await exchange(service.app);
    expect((await key.get('/api/workspaces')).status).toBe(429);
    await service.database.query('alter table rate_count_away rename to rate_count');
  });
});

it('forgets counts that have run out', async () => {
  const now = Date.now();
  await service.database.query(
    `insert into rate_count values ('somebody', 1, $1), ('somebody else', 1, $2)`,
    [now - 60_000, now + 60_000],
  );
  await service.app.get(Chores, { strict: false }).run('rate_limits');
  const left = await service.database.query("select key from rate_count where key like 'somebody%'");
  expect(left).toEqual([{ key: 'somebody else' }]);
});
