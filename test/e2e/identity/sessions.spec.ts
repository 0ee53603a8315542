import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Chores } from '../../../src/platform/jobs/index.js';
import { Client, type Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';
import { prolongWaits } from '../../harness/sign-in-waits.js';

let service: TestService;
let ada: Person;
let grace: Person;

beforeAll(async () => {
  service = await TestService.start();
  grace = await service.person('Grace');
});
afterAll(() => service.stop());
beforeEach(async () => {
  ada = await service.person('Ada');
});

const refresh = (refresh_token: string) => service.stranger.post('/api/auth/refresh', { refresh_token });
const list = async (client: Client): Promise<Json[]> => (await client.get('/api/auth/sessions')).body.items;

async function signIn(person: Person, password = person.password, userAgent = 'test') {
  const { status, body } = await service.stranger
    .with({ 'user-agent': userAgent })
    .post('/api/auth/login', { email: person.email, password });
  const client = new Client(service.url, { authorization: `Bearer ${body.access_token}` });
  return { status, client, refreshToken: body.refresh_token as string };
}

async function works({ client, refreshToken }: { client: Client; refreshToken: string }): Promise<boolean> {
  const { status } = await client.get('/api/auth/me');
  expect((await refresh(refreshToken)).status).toBe(status);
  return status === 200;
}

describe('the list of sessions', () => {
  it('shows each sign-in, newest first, and which of them asks', async () => {
    const phone = await signIn(ada, ada.password, 'Phone/1.0');
    const [newest, oldest, ...others] = await list(phone.client);
    expect(others).toEqual([]);
    expect(newest).toMatchObject({ current: true, user_agent: 'Phone/1.0', address: '127.0.0.1' });
    expect(oldest).toMatchObject({ current: false });
    expect(Object.keys(newest).sort()).toEqual(
      ['address', 'created_at', 'current', 'expires_at', 'id', 'last_used_at', 'user_agent'].sort(),
    );
  });

  it('comes in pages', async () => {
    await signIn(ada);
    await signIn(ada);
    const first = (await ada.client.get('/api/auth/sessions?limit=2')).body;
    const { body: rest } = await ada.client.get(`/api/auth/sessions?limit=2&cursor=${first.next_cursor}`);
    expect(rest.next_cursor).toBeNull();
    expect([...first.items, ...rest.items].map(({ id }) => id)).toEqual(
      (await list(ada.client)).map(({ id }) => id),
    );
  });

  it('leaves out what has ended or expired', async () => {
    await service.stranger.post('/api/auth/logout', { refresh_token: (await signIn(ada)).refreshToken });
    await signIn(ada);
    await service.database.query(
      `update session set expires_at = now() where id = (select max(id::text)::uuid from session where user_id = $1)`,
      [ada.id],
    );
    expect(await list(ada.client)).toHaveLength(1);
  });
});

describe('a session that ended long ago', () => {
  it('is removed with its refresh tokens, and no other is', async () => {
    await signIn(ada);
    const [{ id }] = await list(ada.client);
    const age = async (days: number) => {
      await service.database.query(
        `update session set revoked_at = now() - make_interval(days => $2) where id = $1`,
        [id, days],
      );
      await service.app.get(Chores, { strict: false }).run('remove_ended_sessions');
      const rows = await service.database.query('select 1 from refresh_token where session_id = $1', [id]);
      return rows.length;
    };
    expect([await age(29), await age(31)]).toEqual([1, 0]);
    expect((await ada.client.get('/api/auth/me')).status).toBe(200);
  });
});

describe('ending sessions', () => {
  it('stops the tokens of one at once, and no others', async () => {
    const phone = await signIn(ada);
    const laptop = await signIn(ada);
    const [, { id }] = await list(laptop.client);
    expect((await ada.client.delete(`/api/auth/sessions/${id}`)).body).toEqual({ id, deleted: true });
    expect(await works(phone)).toBe(false);
    expect(await works(laptop)).toBe(true);
    expect((await ada.client.delete(`/api/auth/sessions/${id}`)).status).toBe(404);
  });

  it('counts once when it is asked twice at once', async () => {
    await signIn(ada);
    const [{ id }] = await list(ada.client);
    const answers = await Promise.all([1, 2].map(() => ada.client.delete(`/api/auth/sessions/${id}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404]);
  });

  it('knows nothing of the sessions of others', async () => {
    const [{ id }] = await list(grace.client);
    expect((await ada.client.delete(`/api/auth/sessions/${id}`)).status).toBe(404);
    expect((await grace.client.get('/api/auth/me')).status).toBe(200);
  });

  it('signs out everywhere else', async () => {
    const others = [await signIn(ada), await signIn(ada)];
    expect((await ada.client.delete('/api/auth/sessions')).body).toEqual({ ended: 2 });
    expect(await Promise.all(others.map(works))).toEqual([false, false]);
    expect(await works(ada)).toBe(true);
    expect((await grace.client.get('/api/auth/me')).status).toBe(200);
  });

  it('signs out here as well when asked to', async () => {
    const phone = await signIn(ada);
    expect((await ada.client.delete('/api/auth/sessions?current=true')).body).toEqual({ ended: 2 });
    expect(await Promise.all([ada, phone].map(works))).toEqual([false, false]);
  });

  it('is for the person alone: a key is told why it may not', async () => {
    const key = await service.key(ada);
    const [{ id }] = await list(ada.client);
    const answers = [
      await key.get('/api/auth/sessions'),
      await key.delete('/api/auth/sessions'),
      await key.delete(`/api/auth/sessions/${id}`),
      await key.post('/api/auth/password', { current_password: ada.password, new_password: 'new password' }),
    ];
    for (const { status, body } of answers) {
      expect(status).toBe(403);
      expect(body.detail).toContain('your own sign-in');
    }
  });

  it('is told in the audit log', async () => {
    await signIn(ada);
    await ada.client.delete('/api/auth/sessions');
    const [entry] = await service.database.query(
      'select * from audit_entry where actor_id = $1 order by id desc limit 1',
      [ada.id],
    );
    expect(entry).toMatchObject({ action: 'session_revoke_all', target_id: ada.id, details: { ended: 1 } });
  });
});

describe('changing the password', () => {
  const NEW = 'a whole new password';
  const change = (person: Person, current_password: string, new_password = NEW) =>
    person.client.post('/api/auth/password', { current_password, new_password });

  it('takes the current one', async () => {
    const { status, body } = await change(ada, 'not my password');
    expect([status, body]).toEqual([403, { detail: 'The current password is wrong' }]);
    expect((await signIn(ada)).status).toBe(200);
  });

  it('holds from then on, and ends every other session', async () => {
    const phone = await signIn(ada);
    expect((await change(ada, ada.password)).body).toEqual({ changed: true });
    expect((await signIn(ada)).status).toBe(401);
    expect((await signIn(ada, NEW)).status).toBe(200);
    expect(await works(phone)).toBe(false);
    expect(await works(ada)).toBe(true);
  });

  it('happens once of twice at once', async () => {
    const answers = await Promise.all([
      change(ada, ada.password, `${NEW} 1`),
      change(ada, ada.password, `${NEW} 2`),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403]);
    const winner = answers[0].status === 200 ? `${NEW} 1` : `${NEW} 2`;
    expect((await signIn(ada, winner)).status).toBe(200);
  });

  it('leaves no session that was opened with the old one meanwhile', async () => {
    const signIns = Promise.all([1, 2, 3, 4].map(() => signIn(ada)));
    expect((await change(ada, ada.password)).status).toBe(200);
    await signIns;
    const opened = await signIns;
    const alive = await Promise.all(
      opened.filter(({ status }) => status === 200).map(({ client }) => client.get('/api/auth/me')),
    );
    expect(alive.map(({ status }) => status)).not.toContain(200);
  });

  it('cannot be used to guess it', async () => {
    const answers = [];
    for (let guess = 0; guess < 5; guess++) answers.push(await change(ada, `guess ${guess}`));
    await prolongWaits(service);
    answers.push(await change(ada, 'guess 5'));
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403, 429]);
    expect(Number(answers[5]?.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('is told in the audit log, without a password', async () => {
    await change(ada, ada.password);
    const entries = await service.database.query('select * from audit_entry where actor_id = $1', [ada.id]);
    expect(entries.map(({ action }) => action)).toContain('account_change_password');
    expect(JSON.stringify(entries)).not.toContain(NEW);
  });
});
