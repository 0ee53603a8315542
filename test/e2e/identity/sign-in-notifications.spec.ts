/** Every way in announces the sign-in: the owner of the account is notified of a new program. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Browser } from '../../harness/browser.js';
import { OAuthClient, startOAuthService } from '../../harness/oauth.js';
import type { Person, TestService } from '../../harness/service.js';
import { settled } from '../../harness/settled.js';

let service: TestService;

beforeAll(async () => {
  service = await startOAuthService();
});
afterAll(() => service.stop());

/** Bodies of what a person was told of sign-ins. */
async function told({ client }: Person): Promise<string[]> {
  await settled(service, 'notifications');
  const { body } = await client.get('/api/notifications?category=security');
  const of = (type: string) => body.items.filter((item: { type: string }) => item.type === type);
  return of('security.signed_in').map((item: { body: string }) => item.body);
}

const WAYS: Record<string, (person: Person, agent: string) => Promise<unknown>> = {
  'the API': ({ email, password }, agent) =>
    service.stranger.with({ 'user-agent': agent }).post('/api/auth/login', { email, password }),
  'the page of an authorization': async (person, agent) => {
    const application = await OAuthClient.register(service);
    const { parameters } = await application.request();
    await application.approve(person, parameters, {}, new Browser(service.url, agent));
  },
  'the page of an approval': async ({ id, email, password }, agent) => {
    const [approval] = await service.database.query<{ id: string }>(
      `insert into approval (id, subject_kind, tool, effect, requested_by, status, expires_at, created_at)
       values (gen_random_uuid(), 'mcp_call', 'file_delete', 'destructive', $1, 'pending', now() + interval '1 day', now())
       returning id`,
      [id],
    );
    const browser = new Browser(service.url, agent);
    const page = await browser.open(`/approvals/${approval?.id}`);
    expect((await browser.submit(page, '/sign-in', { email, password })).html).toContain(email);
  },
  'the page of an invitation': async ({ email, password }, agent) => {
    const inviter = await service.person('Inviter');
    const { body } = await inviter.client.post(`/api/organizations/${inviter.organizationId}/invitations`, {
      email,
    });
    const browser = new Browser(service.url, agent);
    const page = await browser.open(body.link);
    expect((await browser.submit(page, '/sign-in', { email, password })).html).toContain(email);
  },
};

it.each(Object.keys(WAYS))('by %s', async way => {
  const person = await service.person('Ada');
  expect(await told(person)).toEqual([]);
  const agent = `Program of ${way}`;
  await WAYS[way]?.(person, agent);
  await WAYS[way]?.(person, agent);
  expect(await told(person)).toEqual([expect.stringContaining(`with ${agent}`)]);
});

it('of two at once with one new program, too', async () => {
  const person = await service.person('Ada');
  await Promise.all([WAYS['the API']?.(person, 'New'), WAYS['the API']?.(person, 'New')]);
  expect((await told(person)).length).toBeGreaterThan(0);
});
