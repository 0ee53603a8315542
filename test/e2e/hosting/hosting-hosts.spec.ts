import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type HostedTarget } from '../../../src/hosting/gateway/index.js';
import { FakeSites } from '../../harness/fake-sites.js';
import { sendRaw } from '../../harness/raw-http.js';
import { type Person, TestService } from '../../harness/service.js';
import { Visitor } from '../../harness/visitor.js';

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

  it('may be taken again by its own workspace', async () => {
    const drafts = await sites.make(service, ada, 'drafts');
    await sites.release(drafts);
    const again = await sites.make(service, ada, 'again', drafts.workspaceId);
    await sites.publish(again, ada);
    await sites.claim(again, 'drafts');
    expect((await open('drafts.sites.localhost')).status).toBe(200);
  });

  it.each(['Docs', 'a--b', '-a', 'a-', '', 'a.b', 'ä', 'a'.repeat(41), 'www', 'api'])(
    'cannot be %j',
    async slug => {
      await expect(sites.claim(docs, slug)).rejects.toMatchObject({ status: 422 });
    },
  );
});

describe('a request that is not HTTP as it should be', () => {
  const head = (lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`;

  it.each([
    [
      'has two hosts',
      ['GET / HTTP/1.1', 'Host: docs.sites.localhost', 'Host: localhost', 'Connection: close'],
    ],
    [
      'is for another host',
      ['GET http://localhost/ HTTP/1.1', 'Host: docs.sites.localhost', 'Connection: close'],
    ],
    ['is for no address', ['OPTIONS * HTTP/1.1', 'Host: docs.sites.localhost', 'Connection: close']],
  ])('%s, is refused', async (_what, lines) => {
    const answer = await sendRaw(service.url, head(lines));
    expect([answer.status, answer.body]).toEqual([400, expect.stringContaining('"detail"')]);
  });

  it.each([
    ['many', 100, 300, 431],
    ['long', 98, 300, 200],
    ['far too long', 98, 400, 431],
  ])('and has headers that are %s', async (_what, count, length, status) => {
    const headers = Array.from({ length: count }, (_, n) => `X-${n}: ${'x'.repeat(length)}`);
    const lines = ['GET /a HTTP/1.1', 'Host: docs.sites.localhost', 'Connection: close', ...headers];
    expect((await sendRaw(service.url, head(lines))).status).toBe(status);
  });

  it('is answered in absolute form, too, for its own host', async () => {
    const lines = [
      'GET http://docs.sites.localhost/a HTTP/1.1',
      'Host: docs.sites.localhost',
      'Connection: close',
    ];
    const answer = await sendRaw(service.url, head(lines));
    expect([answer.status, answer.body]).toEqual([200, expect.stringContaining('"url":"/a"')]);
  });

  it('and sends a body that nobody reads, loses its connection', async () => {
    const lines = ['POST / HTTP/1.1', 'Host: nobody.sites.localhost', 'Content-Length: 1000000'];
    // The answer ends the connection: this resolves though the body never comes.
    const answer = await sendRaw(service.url, head(lines));
    expect([answer.status, answer.headers.get('connection')]).toEqual([404, 'close']);
  });
});
