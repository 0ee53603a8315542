import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Client } from '../harness/client.js';
import { command, SERVICE } from '../harness/command.js';
import { TestDatabase } from '../harness/database.js';
import { freePort } from '../harness/free-port.js';
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
