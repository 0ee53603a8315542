import { createCipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { SignJWT } from 'jose';
import { Vault } from '../../src/platform/vault/index.js';
import { Client, type Json } from '../harness/client.js';
import { command, SERVICE } from '../harness/command.js';
import { TestDatabase } from '../harness/database.js';
import { freePort } from '../harness/free-port.js';
import { OAuthClient, startOAuthService } from '../harness/oauth.js';
import type { Person, TestService } from '../harness/service.js';
import { ServiceProcess } from './service-process.js';

const leftovers: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of leftovers.splice(0).reverse()) await clean();
});

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'atelier-keys-'));
  leftovers.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

async function emptyDatabase(): Promise<TestDatabase> {
  const database = await TestDatabase.createEmpty();
  leftovers.push(() => database.drop());
  return database;
}

const keysIn = (dataDir: string) => readFileSync(path.join(dataDir, 'vault.keys'), 'utf8');

/** A process, and a client of it. */
async function start(
  place: { database: TestDatabase; dataDir: string },
  environment: Record<string, string> = {},
) {
  const port = environment.PORT ?? (await freePort());
  const started = await ServiceProcess.start(place, { ROLE: 'api', PORT: `${port}`, ...environment });
  leftovers.push(() => started.stop());
  return { started, client: new Client(`http://127.0.0.1:${port}`) };
}

async function register({ started, client }: Awaited<ReturnType<typeof start>>): Promise<Client> {
  const setup_token = started.lines
    .map(({ msg }) => /setup_token is (\S+)/.exec(msg)?.[1])
    .find(found => found !== undefined);
  const account = { email: 'ada@example.com', password: 'correct horse', name: 'Ada', setup_token };
  const { status, body } = await client.post('/api/auth/register', account);
  expect(status).toBe(200);
  return client.with({ authorization: `Bearer ${body.access_token}` });
}

describe('the first start', () => {
  it('of several processes at once leaves one key, which all of them have', async () => {
    const place = { database: await emptyDatabase(), dataDir: folder() };
    const processes = await Promise.all([start(place), start(place)]);
    expect(keysIn(place.dataDir)).toMatch(/^[\da-f]{8}:[\w+/]{43}=\n$/);
    expect(await place.database.query(`select place from secret`)).toEqual([{ place: 'root_key' }]);
    const [first] = processes;
    const ada = await register(first as Awaited<ReturnType<typeof start>>);
    for (const { client } of processes)
      expect((await client.with(ada.headers).get('/api/auth/me')).status).toBe(200);
  });
});

describe('a process without the key', () => {
  it('does not start, makes no key of its own, and says what to do; with VAULT_KEYS it starts', async () => {
    const place = { database: await emptyDatabase(), dataDir: folder() };
    const ada = await register(await start(place));
    const elsewhere = { DATABASE_URL: place.database.url, DATA_DIR: folder(), ROLE: 'api', PORT: '0' };
    const [id] = keysIn(place.dataDir).split(':');
    const refused = await command(SERVICE, [], elsewhere);
    expect(refused.code).toBe(1);
    expect(refused.said).toContain(`the vault key "${id}"`);
    expect(refused.said).toContain('set VAULT_KEYS, or share DATA_DIR');
    expect(existsSync(path.join(elsewhere.DATA_DIR, 'vault.keys'))).toBe(false);
    const other = `other:${randomBytes(32).toString('base64')}`;
    expect((await command(SERVICE, [], { ...elsewhere, VAULT_KEYS: other })).said).toContain(
      'VAULT_KEYS has "other"',
    );
    const VAULT_KEYS = keysIn(place.dataDir).trim();
    const { client } = await start({ ...place, dataDir: elsewhere.DATA_DIR }, { VAULT_KEYS });
    expect((await client.with(ada.headers).get('/api/auth/me')).status).toBe(200);
    expect(existsSync(path.join(elsewhere.DATA_DIR, 'vault.keys'))).toBe(false);
  });

  it('goes on without the secrets when the operator gives them up', async () => {
    const place = { database: await emptyDatabase(), dataDir: folder() };
    const before = await start(place);
    const ada = await register(before);
    const { body: signedIn } = await before.client.post('/api/auth/login', {
      email: 'ada@example.com',
      password: 'correct horse',
    });
    await before.started.stop();
    const [id = ''] = keysIn(place.dataDir).split(':');
    rmSync(path.join(place.dataDir, 'vault.keys'));
    const environment = { DATABASE_URL: place.database.url, DATA_DIR: place.dataDir };
    expect((await command(SERVICE, [], environment)).code).toBe(1);
    expect((await command('dist/bundle/vault.js', ['forget', id], environment)).code).toBe(0);
    const { client } = await start(place);
    expect((await client.with(ada.headers).get('/api/auth/me')).status).toBe(401);
    const { refresh_token } = signedIn;
    expect((await client.post('/api/auth/refresh', { refresh_token })).status).toBe(200);
  });
});

/** The state of the version before the vault, and its ways to seal and sign, with one key that lay in the database. */
describe('data of a version before the vault', () => {
  const TOKEN_KEY = randomBytes(32).toString('base64url');
  const derive = (purpose: string) =>
    Buffer.from(hkdfSync('sha256', TOKEN_KEY, '', `atelier ${purpose}`, 32));
  const seal = (purpose: string, context: string, content: string): Buffer => {
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', derive(purpose), iv).setAAD(Buffer.from(context));
    const inside = [cipher.update(content), cipher.final()];
    return Buffer.concat([iv, ...inside, cipher.getAuthTag()]);
  };

  let service: TestService;
  let ada: Person;
  beforeAll(async () => {
    service = await startOAuthService();
    ada = await service.person();
  });
  afterAll(async () => {
    await service.database.drop();
    rmSync(service.dataDir, { recursive: true });
  });

  it('goes on: sessions, share links, OAuth grants and tokens; and its key leaves the database', async () => {
    const { database, app } = service;
    const vault = app.get(Vault, { strict: false });
    const workspace_id = await service.workspace(ada);
    await ada.client.put(`/api/workspaces/${workspace_id}/files/content`, { path: 'a.txt', content: 'a' });
    const { body: link } = await ada.client.post('/api/share', { workspace_id, path: 'a.txt' });
    const oauth = await OAuthClient.register(service);
    const tokens = await oauth.authorize(ada, { resource: `${service.url}/api` });
    const [session] = await database.query<Json>('select id from session where user_id = $1', [ada.id]);

    const token = new URL(link.url).pathname.slice(3);
    await database.query('update share_link set sealed_token = $2 where id = $1', [
      link.id,
      seal('share links', link.id, token).toString('base64url'),
    ]);
    for (const { model, id, sealed } of await database.query<Json>('select * from oauth_artifact')) {
      const content = vault.seal('oauth seal').open(sealed, `${model} ${id}`)?.toString() ?? '';
      await database.query('update oauth_artifact set sealed = $3 where model = $1 and id = $2', [
        model,
        id,
        seal('oauth seal', `${model} ${id}`, content),
      ]);
    }
    const [key] = await vault.list('oauth_signing_key');
    const jwk = key?.secret.reveal() ?? '';
    const { kid } = JSON.parse(jwk);
    await database.query('insert into oauth_signing_key (id, sealed, created_at) values ($1, $2, $3)', [
      kid,
      seal('oauth seal', `oauth_signing_key ${kid}`, jwk),
      key?.createdAt,
    ]);
    await app.close();
    await database.query('delete from secret');
    // Processes of that version did not say where they run.
    await database.query('update process set machine = null, seen_at = now()');
    await database.query(`update installation set token_key = $1, created_at = now() - interval '1 day'`, [
      TOKEN_KEY,
    ]);
    rmSync(path.join(service.dataDir, 'vault.keys'));
    const accessToken = await new SignJWT({ sid: session?.id })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setSubject(ada.id)
      .setIssuer('atelier')
      .setExpirationTime('5m')
      .sign(Buffer.from(TOKEN_KEY));

    const PORT = new URL(service.url).port;
    const { client } = await start(service, { PORT, PUBLIC_URL: service.url });
    const signedIn = client.with({ authorization: `Bearer ${accessToken}` });
    expect((await signedIn.get('/api/auth/me')).body.id).toBe(ada.id);
    expect((await client.post('/api/auth/refresh', { refresh_token: ada.refreshToken })).status).toBe(200);
    expect((await signedIn.get(`/api/share/${link.id}`)).body.url).toBe(link.url);
    expect((await oauth.as(tokens.access_token).get('/api/auth/principal')).status).toBe(200);
    expect((await oauth.refresh(tokens.refresh_token)).status).toBe(200);

    // A process of that version that still runs may read it.
    const plainKey = async () =>
      (await database.query<Json>('select token_key from installation'))[0]?.token_key;
    expect(await plainKey()).toBe(TOKEN_KEY);
    await database.query(`update process set seen_at = now() - interval '1 minute' where machine is null`);
    const environment = { DATABASE_URL: database.url, DATA_DIR: service.dataDir };
    expect((await command('dist/bundle/vault.js', ['rotate'], environment)).code).toBe(0);
    expect(await plainKey()).toBeNull();
    expect((await signedIn.get(`/api/share/${link.id}`)).body.url).toBe(link.url);
    expect(await database.query('select id from oauth_signing_key')).toEqual([]);
    const places = await database.query<Json>('select place from secret order by place');
    expect(places.map(({ place }) => place)).toEqual([
      'legacy_key',
      'oauth_signing_key',
      'root_key',
      'root_key',
    ]);
    const secrets = JSON.stringify(await database.query(`select encode(sealed, 'escape') from secret`));
    expect(secrets).not.toContain(TOKEN_KEY);
  });
});
