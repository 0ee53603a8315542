import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { HostedTarget } from '../../src/hosting/hosts/index.js';
import { FakeSites } from '../harness/fake-sites.js';
import { type Person, TestService } from '../harness/service.js';
import { Visitor } from '../harness/visitor.js';

let service: TestService;
let ada: Person;
let sites: FakeSites;
let docs: HostedTarget;
let visit: Visitor['visit'];

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person('Ada');
  sites = FakeSites.of(service);
  docs = await sites.make(service, ada, 'docs');
  await sites.publish(docs, ada);
  ({ visit } = new Visitor(service.url));
});
afterAll(() => service.stop());

const open = async (host: string, address = '/') => {
  const { status, text } = await visit(address, { host });
  return { status, said: status === 200 ? JSON.parse(text) : text };
};

describe('a slug', () => {
  it('is a host of its own, however it is spelt', async () => {
    for (const host of ['docs.sites.localhost', 'docs.sites.localhost:81', 'DOCS.Sites.localhost.'])
      expect(await open(host, '/a?b=c')).toMatchObject({
        status: 200,
        said: { site: 'docs', url: '/a?b=c' },
      });
  });

  it('has a host for each version', async () => {
    const { said } = await open('v12--docs.sites.localhost');
    expect(said).toMatchObject({ site: 'docs', version: 12 });
  });

  it('serves nothing of the API, whose host serves nothing of it', async () => {
    const { said } = await open('docs.sites.localhost', '/api/health');
    expect(said).toMatchObject({ site: 'docs', url: '/api/health' });
    expect((await service.stranger.get('/api/health')).status).toBe(200);
  });

  it('leads to nothing elsewhere in the domain', async () => {
    for (const host of [
      'nobody.sites.localhost',
      'sites.localhost',
      'a.docs.sites.localhost',
      'docs.servers.localhost',
      'v0--docs.sites.localhost',
      'v01--docs.sites.localhost',
    ])
      expect([host, (await open(host)).status]).toEqual([host, 404]);
  });

  it('is of one alone, also of two who claim it at once', async () => {
    const [one, other] = [await sites.make(service, ada, 'one'), await sites.make(service, ada, 'other')];
    const claimed = await Promise.allSettled([sites.claim(one, 'wanted'), sites.claim(other, 'wanted')]);
    expect(claimed.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await expect(sites.claim(docs, 'wanted')).rejects.toThrow('The slug wanted is taken');
  });

  it('stays reserved when its site is called otherwise or goes', async () => {
    const notes = await sites.make(service, ada, 'notes');
    await sites.publish(notes, ada);
    expect((await open('notes.sites.localhost')).status).toBe(200);
    await sites.claim(notes, 'papers');
    expect([
      (await open('notes.sites.localhost')).status,
      (await open('papers.sites.localhost')).status,
    ]).toEqual([404, 200]);
    await expect(sites.claim(docs, 'notes')).rejects.toThrow('taken');
    await sites.claim(notes, 'notes');
    await sites.release(notes);
    expect((await open('notes.sites.localhost')).status).toBe(404);
    await expect(sites.claim(docs, 'notes')).rejects.toThrow('taken');
  });

  it.each(['Docs', 'a--b', '-a', 'a-', '', 'a.b', 'ä', 'a'.repeat(41), 'www', 'api'])(
    'cannot be %j',
    async slug => {
      await expect(sites.claim(docs, slug)).rejects.toMatchObject({ status: 422 });
    },
  );
});
