import { createDecipheriv, hkdfSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeProtectedHeader, SignJWT } from 'jose';
import { Database } from '../../../src/platform/database/index.js';
import { Vault } from '../../../src/platform/vault/index.js';
import type { Json } from '../../harness/client.js';
import { command } from '../../harness/command.js';
import { OAuthClient, startOAuthService } from '../../harness/oauth.js';
import type { Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
let vault: Vault;
let database: Database;

beforeAll(async () => {
  service = await startOAuthService();
  ada = await service.person();
  vault = service.app.get(Vault, { strict: false });
  database = service.app.get(Database, { strict: false });
});
afterAll(() => service.stop());

const query = (sql: string, values: unknown[] = []) => service.database.query<Json>(sql, values);
const put = (value: string, organization_id: string | null = null) =>
  database.transaction(unit => vault.put(unit, { place: 'test', organization_id }, value));
const reveal = async (id: string, organization_id: string | null = null) =>
  (await vault.open({ place: 'test', id, organization_id }))?.secret.reveal();
const upkeep = (...words: string[]) =>
  command('dist/bundle/vault.js', words, { DATABASE_URL: service.database.url, DATA_DIR: service.dataDir });
const ready = () => service.stranger.get('/api/health/ready');
const counts = async () => (await service.stranger.get('/api/health/metadata')).body.vault_keys as Json[];

async function share(): Promise<Json> {
  const workspace_id = await service.workspace(ada);
  await ada.client.put(`/api/workspaces/${workspace_id}/files/content`, { path: 'a.txt', content: 'a' });
  return (await ada.client.post('/api/share', { workspace_id, path: 'a.txt' })).body;
}

describe('a secret', () => {
  it('opens for its owner and for nobody else', async () => {
    const { organizationId } = ada;
    const id = await put('mine', organizationId);
    expect(await reveal(id, organizationId)).toBe('mine');
    expect(await reveal(id)).toBeUndefined();
    expect(await vault.open({ place: 'other', id, organization_id: organizationId })).toBeUndefined();
  });

  it.each([
    ['its value is that of another row', `sealed = other.sealed`],
    ['value and key are those of another row', `sealed = other.sealed, wrapped_key = other.wrapped_key`],
    ['a byte is another', `sealed = set_byte(mine.sealed, 20, get_byte(mine.sealed, 20) # 1)`],
  ])('is refused when %s', async (_what, change) => {
    const [mine, other] = [await put('mine'), await put('other')];
    await query(`update secret mine set ${change} from secret other where mine.id = $1 and other.id = $2`, [
      mine,
      other,
    ]);
    await expect(reveal(mine)).rejects.toThrow(`The secret ${mine} of test does not open`);
    expect(await reveal(other)).toBe('other');
    await query('delete from secret where id = $1', [mine]);
  });

  it('is refused when its row is given to another organization or place', async () => {
    const id = await put('mine');
    await query('update secret set organization_id = $2 where id = $1', [id, ada.organizationId]);
    await expect(reveal(id, ada.organizationId)).rejects.toThrow('does not open');
    await query(`update secret set organization_id = null, place = 'elsewhere' where id = $1`, [id]);
    await expect(vault.open({ place: 'elsewhere', id, organization_id: null })).rejects.toThrow(
      'does not open',
    );
    await query('delete from secret where id = $1', [id]);
  });

  it('is replaced by whoever saw its last value, once', async () => {
    const id = await put('first');
    const owner = { place: 'test', id, organization_id: null };
    const replace = (value: string) => database.transaction(unit => vault.replace(unit, owner, value, 1));
    expect((await Promise.all([replace('one'), replace('two')])).sort()).toEqual([false, true]);
    expect(await vault.open(owner)).toMatchObject({ revision: 2 });
  });
});

describe('somebody with a dump of the database', () => {
  /** Every value of every table, and those inside JSON, as bytes. */
  async function dump(): Promise<Set<string>> {
    const tables = await query(
      `select format('%I.%I', schemaname, relname) as name from pg_stat_user_tables`,
    );
    const values = new Set<string>();
    const add = (value: unknown): void => {
      if (Buffer.isBuffer(value)) values.add(value.toString('base64'));
      else if (value !== null && typeof value === 'object') Object.values(value).forEach(add);
      else if (value !== null) values.add(Buffer.from(String(value)).toString('base64'));
    };
    for (const { name } of tables) for (const row of await query(`select * from ${name}`)) add(row);
    return values;
  }

  /** What a value may stand for as a key. */
  function* keysOf(value: string): Generator<Buffer> {
    const bytes = Buffer.from(value, 'base64');
    yield bytes;
    const text = bytes.toString();
    if (/^[\w+/=-]{22,}$/.test(text)) yield Buffer.from(text, 'base64url');
  }

  const signs = async (key: Buffer, kid?: string): Promise<boolean> => {
    const [session] = await query('select id from session where user_id = $1 limit 1', [ada.id]);
    const token = await new SignJWT({ sid: session?.id })
      .setProtectedHeader({ alg: 'HS256', ...(kid ? { kid } : {}) })
      .setSubject(ada.id)
      .setIssuer('atelier')
      .setExpirationTime('5m')
      .sign(key);
    return (
      (await service.stranger.with({ authorization: `Bearer ${token}` }).get('/api/auth/me')).status === 200
    );
  };

  const PURPOSES = ['access token', 'oauth seal', 'share links'].map(purpose => `atelier ${purpose}`);
  const opens = (key: Buffer, sealed: Buffer, context: string, skip: number): boolean => {
    const inside = sealed.subarray(skip);
    const decipher = createDecipheriv('aes-256-gcm', key, inside.subarray(0, 12));
    decipher.setAAD(Buffer.from(context)).setAuthTag(inside.subarray(-16));
    try {
      decipher.update(inside.subarray(12, -16));
      decipher.final();
      return true;
    } catch {
      return false;
    }
  };

  let link: Json;
  let sealed: Buffer;
  beforeAll(async () => {
    link = await share();
    const [row] = await query('select sealed_token from share_link where id = $1', [link.id]);
    sealed = Buffer.from(row?.sealed_token, 'base64url');
    const client = await OAuthClient.register(service);
    await client.authorize(ada);
  });

  it('finds no key there that opens a value or signs a token', async () => {
    const { current } = vault.roots;
    // With the right key the same attack succeeds.
    expect(await signs(current.derive('access token').export(), current.id)).toBe(true);
    expect(opens(current.derive('share links').export(), sealed, link.id, 16)).toBe(true);

    const candidates = [...(await dump())].flatMap(value => [...keysOf(value)]);
    expect(candidates.length).toBeGreaterThan(200);
    for (const candidate of candidates) {
      const derived = PURPOSES.map(purpose => Buffer.from(hkdfSync('sha256', candidate, '', purpose, 32)));
      const keys = candidate.length === 32 ? [candidate, ...derived] : derived;
      for (const key of keys)
        for (const skip of [0, 16]) expect(opens(key, sealed, link.id, skip)).toBe(false);
    }
    // Over HTTP only what may be a key at all.
    for (const key of candidates.filter(({ length }) => length >= 32 && length <= 64))
      for (const kid of [undefined, current.id]) expect(await signs(key, kid)).toBe(false);
  });

  it('finds neither the vault key nor anything that a person was given', async () => {
    const headers = { 'idempotency-key': 'once' };
    const { body: key } = await ada.client.with(headers).post('/api/keys', { name: 'CI' });
    const client = await OAuthClient.register(service);
    const tokens = await client.authorize(ada);
    const [, wrapping = ''] = readFileSync(path.join(service.dataDir, 'vault.keys'), 'utf8')
      .trim()
      .split(':');
    const given = [
      key.api_key,
      ada.refreshToken,
      ada.client.headers.authorization?.slice(7),
      ada.password,
      tokens.access_token,
      tokens.refresh_token,
      new URL(link.url).pathname.slice(3),
    ] as string[];
    const text = [...(await dump())].map(value => Buffer.from(value, 'base64').toString('latin1')).join('\n');
    expect(text).toContain(ada.email);
    for (const secret of [...given, wrapping]) expect(text).not.toContain(secret);
    expect(text).not.toContain(Buffer.from(wrapping, 'base64').toString('latin1'));
  });
});

describe('a rotation', () => {
  it('brings every secret under a new key while people work, and breaks nothing', async () => {
    const link = await share();
    const client = await OAuthClient.register(service);
    const tokens = await client.authorize(ada);
    const headers = { 'idempotency-key': 'across-a-rotation' };
    const first = await ada.client.with(headers).post('/api/keys', { name: 'CI' });
    const values = new Map<string, string>();
    for (let index = 0; index < 1_200; index++) values.set(await put(`value ${index}`), `value ${index}`);
    const [before] = vault.roots.ring.ids;

    const { email, password } = ada;
    let isOver = false;
    const work = (async () => {
      for (let round = 0; !isOver; round++) {
        for (const [id, value] of [...values].slice(round * 7, round * 7 + 7)) {
          expect(await reveal(id)).toBe(value);
          const owner = { place: 'test', id, organization_id: null };
          const { revision = 0 } = (await vault.open(owner)) ?? {};
          await database.transaction(unit => vault.replace(unit, owner, `${value}!`, revision));
          values.set(id, `${value}!`);
        }
        values.set(await put('new'), 'new');
        expect((await service.stranger.post('/api/auth/login', { email, password })).status).toBe(200);
      }
    })();
    const rotated = await upkeep('rotate');
    isOver = true;
    await work;
    expect(rotated).toMatchObject({ code: 0, said: expect.stringMatching(/\d{4} secrets were rewrapped/) });

    await vault.roots.reload();
    const after = vault.roots.ring.first.id;
    expect(after).not.toBe(before);
    expect((await upkeep('rotate')).code).toBe(0);
    const [{ id: last } = { id: '' }, ...others] = await counts();
    expect(others).toEqual([]);
    expect(last).not.toBe(after);
    for (const [id, value] of values) expect(await reveal(id)).toBe(value);
    expect(await upkeep('verify')).toMatchObject({ code: 0, said: expect.stringContaining(', 0 do not') });
    expect((await ready()).status).toBe(200);

    // When every process knows it, the new root key takes over.
    const login = async () =>
      (await service.stranger.post('/api/auth/login', { email, password })).body.access_token;
    const old = await login();
    await query(`update secret set created_at = created_at - interval '2 hours' where place = 'root_key'`);
    await vault.roots.reload();
    const fresh = await login();
    expect(decodeProtectedHeader(fresh).kid).not.toBe(decodeProtectedHeader(old).kid);
    for (const token of [old, fresh])
      expect(
        (await service.stranger.with({ authorization: `Bearer ${token}` }).get('/api/auth/me')).status,
      ).toBe(200);
    expect((await ada.client.get(`/api/share/${link.id}`)).body.url).toBe(link.url);
    expect((await client.refresh(tokens.refresh_token)).status).toBe(200);
    const again = await ada.client.with(headers).post('/api/keys', { name: 'CI' });
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });
});

describe('a key that is missing', () => {
  it('is named by readiness, the count and verify, and can be given up for good', async () => {
    const [lost, kept] = [await put('lost'), await put('kept')];
    await query(`update secret set key_id = 'gone' where id = $1`, [lost]);
    await expect(reveal(lost)).rejects.toThrow(/the vault key "gone".*vault\.keys has "\w{8}"/);
    expect(await reveal(kept)).toBe('kept');
    expect(await counts()).toContainEqual({ id: 'gone', secrets: 1 });
    expect(await ready()).toMatchObject({
      status: 503,
      body: { detail: 'A stored secret needs the vault key "gone", which is missing' },
    });
    expect(await upkeep('verify')).toMatchObject({
      code: 1,
      said: expect.stringMatching(/gone: 1 secrets \(this key is missing\)[\s\S]*1 do not/),
    });
    expect((await upkeep('rotate')).code).toBe(1);
    expect(await upkeep('forget', 'gone')).toEqual({
      code: 0,
      said: '1 secrets that were sealed with the key "gone" are deleted.\n',
    });
    expect((await ready()).status).toBe(200);
    expect(await reveal(kept)).toBe('kept');
  });

  it.each([[['forget']], [['rotat']], [[]]])('is not touched by a command like %p', async words => {
    expect(await upkeep(...words)).toEqual({ code: 1, said: expect.stringContaining('rotate | verify') });
  });
});
