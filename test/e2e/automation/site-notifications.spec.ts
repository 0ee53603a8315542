import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';
import { settled } from '../../harness/settled.js';
import { Sites } from '../../harness/sites.js';

let service: TestService;
let ada: Person;
let grace: Person;
let sites: Sites;
let site: Json;

beforeAll(async () => {
  service = await TestService.start();
  [ada, grace] = [await service.person('Ada'), await service.person('Grace')];
  const workspace = await service.workspace(ada, { visibility: 'org' });
  await service.join(grace, { organization: ada.organizationId, role: 'member' });
  sites = await Sites.in(service, ada, workspace);
});
afterAll(() => service.stop());

/** What a person was told of a site, the newest first. */
async function told({ client }: Person): Promise<Json[]> {
  await settled(service, 'builds', 'notifications');
  const { body } = await client.get('/api/notifications?category=site');
  return body.items.filter(({ data }: Json) => data.site_id === site.id);
}

it('who asked for a version is told that it waits, until it is promoted', async () => {
  site = await sites.make();
  const version = await sites.publish(site, { auto_promote: false });
  expect(await told(ada)).toMatchObject([
    {
      type: 'site.version_ready',
      title: `Version 1 of “${site.name}” is built`,
      data: { version_id: version.id },
      read_at: null,
    },
  ]);
  const { status } = await ada.client.post(`/api/sites/${site.id}/versions/${version.id}/promote`);
  expect(status).toBe(200);
  // Whoever promotes something knows that it is live.
  expect(await told(ada)).toMatchObject([{ type: 'site.version_ready', read_at: expect.any(String) }]);
});

it('who made a site is told what others make live there, each time', async () => {
  site = await sites.make();
  const [first, second] = [await sites.publish(site), await sites.publish(site)];
  const promoted: Json[] = [];
  expect((await told(ada)).map(({ type }) => type)).toEqual(['site.promoted', 'site.promoted']);
  for (const { id } of [first, second, first]) {
    await grace.client.post(`/api/sites/${site.id}/versions/${id}/promote`);
    promoted.push((await told(ada))[0] as Json);
  }
  expect(promoted.map(({ title, body }) => [title, body])).toEqual(
    [1, 2, 1].map(number => [`Version ${number} of “${site.name}” went live`, 'Somebody promoted it.']),
  );
  expect(await told(grace)).toEqual([]);
});

it('who asked for a version is told why it could not be built', async () => {
  site = await sites.make();
  await ada.client.patch(`/api/sites/${site.id}`, { folder: 'gone' });
  await sites.publish(site);
  expect(await told(ada)).toMatchObject([
    {
      type: 'site.version_failed',
      severity: 'warning',
      title: `Version 1 of “${site.name}” could not be built`,
      body: expect.stringMatching(/^The folder of the site is not there: .* What is live stays as it is\.$/),
    },
  ]);
});

it('whoever may not see the site any more is told nothing', async () => {
  site = await sites.make();
  const { body } = await grace.client.post(`/api/sites/${site.id}/versions`, {});
  await sites.ended(body);
  expect(await told(grace)).toHaveLength(1);
  const left = await ada.client.delete(`/api/organizations/${ada.organizationId}/members/${grace.id}`);
  expect(left.status).toBe(200);
  expect(await told(grace)).toEqual([]);
});
