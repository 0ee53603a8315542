/** @isolated It registers kinds of tokens, each of which can be registered once only. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  ClientRejected,
  GrantRejected,
  ProviderFault,
  type RefreshedTokens,
  type TokenSet,
  Tokens,
  tokensChanged,
  tokensExpiring,
} from '../../../src/connections/stored-credentials/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { Events } from '../../../src/platform/events/index.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
let tokens: Tokens;
let database: Database;

const heard: string[] = [];
let asked: TokenSet[] = [];
/** How the provider answers next. */
let provider: (current: TokenSet) => RefreshedTokens | Promise<RefreshedTokens>;
let accepts = true;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person();
  tokens = service.app.get(Tokens, { strict: false });
  database = service.app.get(Database, { strict: false });
  tokens.register('test', {
    refresh: async (_id, current) => {
      asked.push(current);
      return provider(current);
    },
    accepts: async () => accepts,
  });
  const events = service.app.get(Events, { strict: false });
  events.on(tokensChanged, async (_unit, { state }) => void heard.push(state));
  events.on(tokensExpiring, async () => void heard.push('expiring'));
});
afterEach(async () => {
  asked = [];
  heard.length = 0;
  accepts = true;
  await service.database.query('delete from token_set');
});
afterAll(() => service.stop());

const add = (set: Partial<TokenSet> = {}) =>
  database.transaction(unit =>
    tokens.add(
      unit,
      { kind: 'test', organization_id: ada.organizationId },
      {
        accessToken: 'access-1',
        refreshToken: 'refresh-1',
        scopes: ['read'],
        expiresIn: 3600,
        ...set,
      },
    ),
  );
const reveal = (id: string) => tokens.use(id, async token => token.accessToken.reveal());
const row = async (id: string) =>
  (await service.database.query<Json>('select * from token_set where id = $1', [id]))[0] ?? {};
const end = (id: string) =>
  service.database.query(
    `update token_set set fresh_until = now() - interval '1 second', access_expires_at = now() - interval '1 second' where id = $1`,
    [id],
  );
const again = (id: string) =>
  service.database.query('update token_set set retry_at = null where id = $1', [id]);
const rotating = async ({ refreshToken = '' }: TokenSet) => {
  const next = Number(refreshToken.split('-')[1]) + 1;
  return { accessToken: `access-${next}`, refreshToken: `refresh-${next}`, expiresIn: 3600 };
};

describe('a token', () => {
  it('is used as it is while it lasts, and noted as used', async () => {
    const id = await add();
    expect(await reveal(id)).toBe('access-1');
    expect(asked).toEqual([]);
    expect((await row(id)).last_used_at).not.toBeNull();
  });

  it('is renewed once when it ends, however many want it', async () => {
    provider = rotating;
    const id = await add();
    await end(id);
    const all = await Promise.all(Array.from({ length: 50 }, () => reveal(id)));
    expect(new Set(all)).toEqual(new Set(['access-2']));
    expect(asked.map(({ refreshToken }) => refreshToken)).toEqual(['refresh-1']);
    expect(await row(id)).toMatchObject({ revision: 2, state: 'active', holder: null, scopes: ['read'] });
  });

  it('is renewed where the API rejects it, and the request is sent once more', async () => {
    provider = rotating;
    const id = await add();
    const sent: string[] = [];
    const send = async (token: { accessToken: { reveal(): string } }) => {
      sent.push(token.accessToken.reveal());
      return token.accessToken.reveal() === 'access-1' ? 401 : 200;
    };
    expect(await tokens.use(id, send, status => status === 401)).toBe(200);
    expect(sent).toEqual(['access-1', 'access-2']);
    // One that rejects everything does not make us ask again and again.
    for (let i = 0; i < 3; i++)
      expect(
        await tokens.use(
          id,
          async () => 401,
          status => status === 401,
        ),
      ).toBe(401);
    expect(asked).toHaveLength(1);
  });

  it('that cannot be renewed is looked at where it is rejected', async () => {
    const id = await add({ refreshToken: undefined, expiresIn: undefined });
    expect(
      await tokens.use(
        id,
        async () => 401,
        status => status === 401,
      ),
    ).toBe(401);
    expect(await row(id)).toMatchObject({ state: 'active' });
    await again(id);
    accepts = false;
    await expect(
      tokens.use(
        id,
        async () => 401,
        status => status === 401,
      ),
    ).rejects.toMatchObject({ status: 409 });
    expect(await row(id)).toMatchObject({ state: 'needs_reauth' });
    expect(heard).toEqual(['needs_reauth']);
  });

  it('that cannot be renewed and has ended needs a person', async () => {
    const id = await add({ refreshToken: undefined });
    await end(id);
    await expect(reveal(id)).rejects.toMatchObject({ status: 409 });
    expect(heard).toEqual(['needs_reauth']);
  });

  it('goes with the secret that held it', async () => {
    const id = await add();
    const { secret_id } = await row(id);
    await database.transaction(unit => tokens.remove(unit, [id]));
    expect(await service.database.query('select 1 from secret where id = $1', [secret_id])).toEqual([]);
    await expect(reveal(id)).rejects.toMatchObject({ status: 404 });
  });
});

describe('a renewal that fails', () => {
  it('for now changes nothing but when it is tried again', async () => {
    provider = () => {
      throw new ProviderFault('provider answered 500', 7000);
    };
    const id = await add();
    await end(id);
    await expect(reveal(id)).rejects.toMatchObject({
      status: 503,
      headers: { 'retry-after': expect.anything() },
    });
    await expect(reveal(id)).rejects.toMatchObject({ status: 503 });
    expect(asked).toHaveLength(1);
    expect(await row(id)).toMatchObject({ state: 'active', revision: 1, failures: 1, holder: null });
    await again(id);
    provider = rotating;
    expect(await reveal(id)).toBe('access-2');
    expect(await row(id)).toMatchObject({ failures: 0 });
    expect(heard).toEqual([]);
  });

  it('while the token lasts is no failure of the request', async () => {
    provider = () => {
      throw new Error('socket hang up');
    };
    const id = await add();
    await service.database.query(
      `update token_set set fresh_until = now() - interval '1 second' where id = $1`,
      [id],
    );
    expect(await reveal(id)).toBe('access-1');
    expect(asked).toHaveLength(1);
  });

  it('for good needs a person, once, and deletes nothing', async () => {
    provider = () => {
      throw new GrantRejected('provider answered invalid_grant');
    };
    const id = await add();
    await end(id);
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => reveal(id)));
    expect(all.every(({ status }) => status === 'rejected')).toBe(true);
    expect([asked.length, heard]).toEqual([1, ['needs_reauth']]);
    expect((await tokens.opened(id))?.refreshToken).toBe('refresh-1');
    await database.transaction(unit =>
      tokens.replace(unit, id, { accessToken: 'access-9', scopes: ['read', 'write'] }),
    );
    expect(await reveal(id)).toBe('access-9');
    expect(heard).toEqual(['needs_reauth', 'active']);
    expect((await tokens.standings([id]))[0]).toMatchObject({
      id,
      state: 'active',
      scopes: ['read', 'write'],
    });
  });

  it('because another replaced the tokens meanwhile goes on with those', async () => {
    const id = await add();
    await end(id);
    provider = async () => {
      await database.transaction(unit => tokens.replace(unit, id, { accessToken: 'access-9', scopes: [] }));
      throw new GrantRejected('reused');
    };
    expect(await reveal(id)).toBe('access-9');
    expect(heard).toEqual([]);
    // What comes too late replaces nothing.
    await end(id);
    await database.transaction(unit =>
      tokens.replace(unit, id, { accessToken: 'a', refreshToken: 'r-1', scopes: [], expiresIn: 60 }),
    );
    await end(id);
    provider = async () => {
      await database.transaction(unit => tokens.replace(unit, id, { accessToken: 'newer', scopes: [] }));
      return { accessToken: 'late' };
    };
    expect(await reveal(id)).toBe('newer');
  });

  it('because of how we are set up is an error until it is mended', async () => {
    provider = () => {
      throw new ClientRejected('provider answered invalid_client');
    };
    const id = await add();
    await end(id);
    await expect(reveal(id)).rejects.toMatchObject({ status: 503 });
    expect(await row(id)).toMatchObject({ state: 'error', reason: 'provider answered invalid_client' });
    await again(id);
    provider = rotating;
    expect(await reveal(id)).toBe('access-2');
    expect(heard).toEqual(['error', 'active']);
  });
});

describe('without a request', () => {
  const wake = () => service.database.query(`select notify_topic('tokens-due')`);
  const until = async (id: string, isThere: (found: Json) => boolean) => {
    for (;;) {
      const found = await row(id);
      if (isThere(found)) return found;
      await wake();
    }
  };

  it('tokens in use are renewed before they end, and others are left alone', async () => {
    provider = rotating;
    const [used, unused] = [await add(), await add()];
    for (const id of [used, unused]) {
      const { refresh_at, created_at } = await row(id);
      const share = (Date.parse(refresh_at) - Date.parse(created_at)) / 3_600_000;
      expect(share).toBeGreaterThanOrEqual(0.74);
      expect(share).toBeLessThanOrEqual(0.86);
    }
    await service.database.query(
      `update token_set set refresh_at = now(), last_used_at = case when id = $1 then now() else now() - interval '8 days' end`,
      [used],
    );
    await until(used, ({ revision }) => revision === 2);
    expect(await row(unused)).toMatchObject({ revision: 1 });
    expect(asked).toHaveLength(1);
  });

  it('people learn a week before of an end that is known, once', async () => {
    provider = rotating;
    const id = await add({ refreshExpiresIn: 30 * 86_400 });
    expect((await row(id)).warn_at).not.toBeNull();
    expect((await row(await add({ refreshExpiresIn: 3600 }))).warn_at).toBeNull();
    await service.database.query('update token_set set warn_at = now() where id = $1', [id]);
    await until(id, ({ warn_at }) => warn_at === null);
    await wake();
    expect(heard).toEqual(['expiring']);
  });
});
