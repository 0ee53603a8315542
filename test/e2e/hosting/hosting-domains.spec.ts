import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type HostedTarget } from '../../../src/hosting/gateway/index.js';
import { Chores } from '../../../src/platform/jobs/index.js';
import { FakeNameServer } from '../../fakes/dns-server.js';
import type { Json } from '../../harness/client.js';
import { FakeSites } from '../../harness/fake-sites.js';
import { type Person, TestService } from '../../harness/service.js';
import { settled } from '../../harness/settled.js';
import { Visitor } from '../../harness/visitor.js';

let dns: FakeNameServer;
let service: TestService;
let sites: FakeSites;
let ada: Person;
let site: HostedTarget;
let host: string;
let names = 0;

beforeAll(async () => {
  dns = await FakeNameServer.start();
  service = await TestService.start({ HOSTING_DNS: dns.address });
  ada = await service.person('Ada');
  sites = FakeSites.of(service);
});
afterAll(async () => {
  await service?.stop();
  await dns?.stop();
});

beforeEach(async () => {
  dns.failure = undefined;
  site = await sites.make(service, ada, `site ${++names}`);
  await sites.publish(site, ada);
  host = `docs${names}.example.com`;
});

const domains = (of = site) => `/api/sites/${of.id}/domains`;
const add = async (of = site, by = ada): Promise<Json> => {
  const { status, body } = await by.client.post(domains(of), { host });
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const verify = (of = site, by = ada) => by.client.post(`${domains(of)}/${host}/verify`);
const publish = ({ record }: Json) => dns.records.set(record.name, [record.value]);
const open = async (at = host) => {
  const { status, text } = await new Visitor(service.url).visit('/', { host: at });
  // A host of nobody is taken for the API's.
  return status === 200 ? (JSON.parse(text).site ?? 404) : status;
};
const stateOf = async (of = site) => (await ada.client.get(domains(of))).body.items[0]?.state;

describe('a custom host', () => {
  it('serves the site once its record is found', async () => {
    const added = await add();
    expect(added).toMatchObject({
      host,
      state: 'pending',
      record: {
        type: 'TXT',
        name: `_atelier.${host}`,
        value: expect.stringMatching(/^atelier-verification=[\w-]{43}$/),
      },
    });
    expect(await open()).toBe(404);
    const tried = await verify();
    expect(tried.body).toMatchObject({ state: 'pending', problem: `_atelier.${host} has no TXT record yet` });
    dns.records.set(added.record.name, ['something else']);
    expect((await verify()).body.problem).toContain('none of them is the one');
    dns.failure = 2;
    expect((await verify()).body.problem).toContain('could not be looked up');
    dns.failure = undefined;
    dns.records.set(added.record.name, ['something else', added.record.value]);
    expect((await verify()).body).toMatchObject({ state: 'verified', problem: null });
    for (const at of [host, host.toUpperCase(), `${host}:8080`, `${host}.`])
      expect(await open(at)).toBe(site.slug);
  });

  it('serves nothing any more once it is deleted, or its site is', async () => {
    publish(await add());
    await verify();
    expect(await open()).toBe(site.slug);
    expect((await ada.client.delete(`${domains()}/${host}`)).body).toEqual({ host, removed: true });
    expect(await open()).toBe(404);
    expect((await ada.client.delete(`${domains()}/${host}`)).status).toBe(404);
    publish(await add());
    await verify();
    await sites.release(site);
    expect(await open()).toBe(404);
  });

  it('that is named twice has one record', async () => {
    const both = await Promise.all([add(), add()]);
    expect(both[0].record).toEqual(both[1].record);
    expect((await ada.client.get(domains())).body.items).toHaveLength(1);
  });

  it.each([
    'localhost',
    'docs.sites.localhost',
    'share.localhost',
    'a.localhost',
    'example',
    '192.0.2.7',
    'a..example.com',
    'ex ample.com',
    '*.example.com',
    'https://example.com',
    `${'a'.repeat(64)}.example.com`,
  ])('cannot be %s', async wrong => {
    expect((await ada.client.post(domains(), { host: wrong })).status).toBe(422);
  });

  it('is kept as browsers send it', async () => {
    const { body } = await ada.client.post(domains(), { host: 'Bücher.Example.com.' });
    expect(body.host).toBe('xn--bcher-kva.example.com');
  });
});

describe('a host that two want', () => {
  let other: HostedTarget;
  let grace: Person;
  beforeEach(async () => {
    grace = await service.person('Grace');
    other = await sites.make(service, grace, `other ${names}`);
    await sites.publish(other, grace);
  });

  it('is not kept from its owner by who names it first', async () => {
    await add(other, grace);
    publish(await add());
    expect((await verify()).body.state).toBe('verified');
    expect((await verify(other, grace)).body.state).toBe('pending');
    expect(await open()).toBe(site.slug);
  });

  it('goes to whose record is there', async () => {
    publish(await add());
    await verify();
    publish(await add(other, grace));
    expect((await verify(other, grace)).body.state).toBe('verified');
    expect([await open(), await stateOf()]).toEqual([other.slug, 'failed']);
  });

  it('stays where it is while both records are there', async () => {
    const mine = await add();
    publish(mine);
    await verify();
    const theirs = await add(other, grace);
    dns.records.set(mine.record.name, [mine.record.value, theirs.record.value]);
    const refused = await verify(other, grace);
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      expect.stringContaining('Another site is served'),
    ]);
    expect(await open()).toBe(site.slug);
  });
});

describe('a host whose record is gone', () => {
  /** What the person who added the host is notified of, the newest first. */
  const told = async () => {
    await settled(service, 'notifications');
    const { body } = await ada.client.get('/api/notifications?category=domain');
    return body.items.filter(({ data }: Json) => data.host === host);
  };
  const checkAgain = async () => {
    await service.database.query(
      `update host_name set checked_at = now() - interval '1 day' where name = $1`,
      [host],
    );
    await service.app.get(Chores, { strict: false }).run('hosted_domains');
  };

  it('is served for two weeks more', async () => {
    publish(await add());
    await verify();
    dns.records.clear();
    await checkAgain();
    expect([await stateOf(), await open()]).toEqual(['verified', site.slug]);
    await checkAgain();
    expect(await told()).toMatchObject([
      { type: 'domain.failing', title: `The DNS record of ${host} is not found any more` },
    ]);
    await service.database.query(
      `update host_name set failing_since = now() - interval '15 days' where name = $1`,
      [host],
    );
    await checkAgain();
    expect([await stateOf(), await open()]).toEqual(['failed', 404]);
    expect(await told()).toMatchObject([{ type: 'domain.failed' }, { type: 'domain.failing' }]);
  });

  it('and comes back is as it was', async () => {
    const added = await add();
    publish(added);
    await verify();
    dns.records.clear();
    await checkAgain();
    publish(added);
    await checkAgain();
    const [row] = await service.database.query<Json>(
      'select failing_since, problem from host_name where name = $1',
      [host],
    );
    expect(row).toEqual({ failing_since: null, problem: null });
  });
});

it('the proxy in front is told for which hosts to get certificates', async () => {
  publish(await add());
  const ask = async (domain: string) =>
    (await service.stranger.raw('GET', `/hosting/tls-allowed?domain=${encodeURIComponent(domain)}`)).status;
  expect(await ask(host)).toBe(404);
  await verify();
  expect([await ask(host), await ask(`${site.slug}.sites.localhost`), await ask('localhost')]).toEqual([
    200, 200, 200,
  ]);
  expect([await ask('evil.example.com'), await ask('nobody.sites.localhost'), await ask('')]).toEqual([
    404, 404, 404,
  ]);
});

it('metadata tells where sites are', async () => {
  const { body } = await service.stranger.get('/api/health/metadata');
  expect(body.hosting).toEqual({ domain: 'localhost', isolation: 'same_site' });
});
