import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Chores } from '../../../src/platform/jobs/index.js';
import { type Person, TestService } from '../../harness/service.js';
import { prolongWaits } from '../../harness/sign-in-waits.js';

let service: TestService;
let ada: Person;

/** The service believes the proxy before it where callers come from. */
beforeAll(async () => {
  service = await TestService.start({ PUBLIC_URL: 'https://atelier.example.com' });
  ada = await service.person('Ada');
});
afterAll(() => service.stop());
beforeEach(() => service.database.query('delete from attempt_count'));

const HOME = '192.0.2.1';
const ELSEWHERE = '203.0.113.9';
const from = (address: string) => service.stranger.with({ 'x-forwarded-for': address });
const signIn = (address: string, password = ada.password, email = ada.email) =>
  from(address).post('/api/auth/login', { email, password });
const fail = (address: string, email = ada.email) => signIn(address, 'wrong', email);
const times = async <T>(count: number, work: () => Promise<T>) => {
  const results: T[] = [];
  for (let turn = 0; turn < count; turn++) results.push(await work());
  return results;
};
const statuses = (answers: { status: number }[]) => answers.map(({ status }) => status);
/** The wait after the fifth is a second, and a slow machine may take longer for the sixth. */
const sixFailures = async (email?: string) => {
  const free = await times(5, () => fail(HOME, email));
  await prolongWaits(service);
  return [...free, await fail(HOME, email)];
};
/** Makes all failures so far look that much older. */
const letPass = (span: string) =>
  service.database.query(
    'update attempt_count set expire = expire - extract(epoch from $1::interval) * 1000',
    [span],
  );
/** What still counts. */
const counts = () =>
  service.database.query('select * from attempt_count where expire > $1 order by key', [Date.now()]);

describe('failed sign-ins', () => {
  it('are free five times; then the place they come from has to wait, also with the right password', async () => {
    expect(statuses(await sixFailures())).toEqual([401, 401, 401, 401, 401, 429]);
    const { status, headers, body } = await signIn(HOME);
    expect(status).toBe(429);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(body.detail).toContain('try again in');
  });

  it('never keep the owner from signing in from anywhere else', async () => {
    await sixFailures();
    expect((await signIn(ELSEWHERE)).status).toBe(200);
  });

  it('are forgotten with a success after the wait', async () => {
    await times(5, () => fail(HOME));
    await letPass('2 seconds');
    expect((await signIn(HOME)).status).toBe(200);
    expect(statuses(await times(5, () => fail(HOME)))).toEqual([401, 401, 401, 401, 401]);
  });

  it('double the wait each time, up to a quarter of an hour', async () => {
    const waits = [];
    for (const failures of [10, 11, 30]) {
      await fail(HOME);
      await service.database.query(`update attempt_count set points = $1 where key like 'login:%'`, [
        failures - 1,
      ]);
      expect((await fail(HOME)).status).toBe(401);
      waits.push(Number((await signIn(HOME)).headers.get('retry-after')));
      await service.database.query('delete from attempt_count');
    }
    expect(waits[0]).toBeGreaterThan(16);
    expect(waits[0]).toBeLessThanOrEqual(32);
    expect(waits[1]).toBeGreaterThan(32);
    expect(waits[1]).toBeLessThanOrEqual(64);
    expect(waits[2]).toBeGreaterThan(850);
    expect(waits[2]).toBeLessThanOrEqual(900);
  });

  it('count no more after a day', async () => {
    await times(5, () => fail(HOME));
    await service.database.query('update attempt_count set points = 100');
    await letPass('2 seconds');
    expect((await fail(HOME)).status).toBe(401);
    expect((await signIn(HOME)).status).toBe(429);
    await letPass('25 hours');
    expect((await fail(HOME)).status).toBe(401);
    expect((await counts()).map(({ points }) => points)).toEqual([1, 1]);
  });

  it('count alike for an address that has no account', async () => {
    const known = await sixFailures();
    const unknown = await sixFailures('nobody@example.com');
    expect(statuses(unknown)).toEqual(statuses(known));
    expect(unknown[0]?.body).toEqual(known[0]?.body);
  });

  it('count for the account in whatever case its address is typed', async () => {
    await times(3, () => fail(HOME));
    await times(2, () => fail(HOME, ` ${ada.email.toUpperCase()} `));
    await prolongWaits(service);
    expect((await signIn(HOME)).status).toBe(429);
  });

  it('count for a whole IPv6 site, and not for its neighbour', async () => {
    for (let host = 1; host <= 5; host++) await fail(`2001:db8:0:1::${host}`);
    await prolongWaits(service);
    expect((await signIn('2001:db8:0:1:ffff::1')).status).toBe(429);
    expect((await signIn('2001:db8:0:2::1')).status).toBe(200);
  });

  it('of many accounts count for the place as well', async () => {
    await fail(HOME, 'somebody@example.com');
    await service.database.query(`update attempt_count set points = 60 where key like 'login-from:%'`);
    expect((await fail(HOME, 'somebody.else@example.com')).status).toBe(401);
    expect((await fail(HOME, 'another@example.com')).status).toBe(429);
    expect((await signIn(ELSEWHERE)).status).toBe(200);
  });

  it('are counted also when they come all at once', async () => {
    const answers = await Promise.all(Array.from({ length: 30 }, () => fail(HOME)));
    const tried = statuses(answers).filter(status => status === 401);
    expect(tried.length).toBeLessThanOrEqual(8);
    expect(statuses(answers).filter(status => status === 429)).toHaveLength(30 - tried.length);
  });

  it('leave out those who come all at once with the right password', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => signIn(HOME)));
    expect(new Set(statuses(answers))).toEqual(new Set([200]));
    expect(await counts()).toEqual([]);
  });

  it('are kept without what was typed, and removed when they count no more', async () => {
    await service.database.query(`insert into attempt_count values ('login:old', 3, $1)`, [
      Date.now() - 86_400_000,
    ]);
    await fail(HOME, 'my password by mistake');
    await service.app.get(Chores, { strict: false }).run('remove_attempt_counts');
    const rows = await service.database.query('select * from attempt_count');
    expect(rows).toHaveLength(2);
    expect(JSON.stringify(rows)).not.toContain('mistake');
  });
});

describe('registration', () => {
  const register = (address: string, number: number) =>
    from(address).post('/api/auth/register', {
      email: `new${number}@example.com`,
      password: 'correct horse battery',
      name: 'New',
    });

  it('is limited for each address', async () => {
    expect((await register(HOME, 1)).status).toBe(200);
    await service.database.query(`update attempt_count set points = 200 where key = 'register:${HOME}'`);
    const { status, headers } = await register(HOME, 2);
    expect(status).toBe(429);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(3000);
    expect((await register(ELSEWHERE, 2)).status).toBe(200);
  });
});

describe('an installation without mail', () => {
  it('says so to whoever asks for a new password', async () => {
    const answers = [
      await from(HOME).post('/api/auth/password/reset', { email: ada.email }),
      await from(HOME).post('/api/auth/password/reset', { email: 'nobody@example.com' }),
      await ada.client.post('/api/auth/email/verification'),
    ];
    expect(statuses(answers)).toEqual([503, 503, 503]);
    expect(answers[0]?.body).toEqual(answers[1]?.body);
  });
});
