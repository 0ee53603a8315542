import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { buildSite } from '../../../src/hosting/sites/publishing/build-queue.js';
import { Database, newId } from '../../../src/platform/database/index.js';
import { Jobs } from '../../../src/platform/jobs/index.js';
import type { Client, Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';
import { settled } from '../../harness/settled.js';
import { Visitor } from '../../harness/visitor.js';

let service: TestService;
let ada: Person;
let workspace: string;
let visit: Visitor['visit'];
let serial = 0;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person('Ada');
  workspace = await service.workspace(ada);
  ({ visit } = new Visitor(service.url));
});
afterAll(() => service.stop());

const write = async (path: string, content: string) => {
  const { status } = await ada.client.put(`/api/workspaces/${workspace}/files/content`, { path, content });
  expect(status).toBe(200);
};

/** A site of a folder of its own, open to everybody, with a page that says `text`. */
async function site(text = 'one', settings: Json = {}): Promise<Json> {
  const slug = `site-${++serial}`;
  await write(`${slug}/index.html`, `<h1>${text}</h1>`);
  const made = await ada.client.post('/api/sites', {
    workspace_id: workspace,
    name: `Site ${serial}`,
    slug,
    folder: slug,
    ...settings,
  });
  expect(made.status).toBe(200);
  expect((await ada.client.put(`/api/site-access/${made.body.id}`, { mode: 'public' })).status).toBe(200);
  return made.body;
}

const build = async (id: string, input: Json = {}, client: Client = ada.client): Promise<Json> => {
  const { status, body, headers } = await client.post(`/api/sites/${id}/versions`, input);
  expect(status).toBe(202);
  expect(headers.get('location')).toBe(`/api/sites/${id}/versions/${body.id}`);
  return body;
};

const ended = async ({ site_id, id }: Json): Promise<Json> => {
  for (;;) {
    const { body } = await ada.client.get(`/api/sites/${site_id}/versions/${id}?wait=60`);
    if (!['queued', 'building'].includes(body.state)) return body;
  }
};

/** A version that is built, with what it says of its promotion. */
const built = async (id: string, input: Json = {}): Promise<Json> => {
  const version = await ended(await build(id, input));
  expect(version).toMatchObject({ error: null });
  return version;
};

const promote = (id: string, version: Json, input: Json = {}) =>
  ada.client.post(`/api/sites/${id}/versions/${version.id}/promote`, input);

const shown = async (host: string, address = '/'): Promise<string> =>
  (await visit(address, { host: `${host}.sites.localhost` })).text;

describe('a version', () => {
  it('is built from the folder as it is, and served once it is live', async () => {
    const { id, slug, url } = await site('hello');
    expect(url).toContain(`${slug}.sites.localhost`);
    expect(await shown(slug)).toContain('Nothing is published');
    const version = await build(id, { auto_promote: true, note: 'first' });
    expect(version).toMatchObject({ number: 1, note: 'first', promotion: { will: true } });
    expect(await ended(version)).toMatchObject({ state: 'live', files: 1, preset: 'static', findings: [] });
    expect(await shown(slug)).toBe('<h1>hello</h1>');
    await write(`${slug}/index.html`, '<h1>changed</h1>');
    expect(await shown(slug)).toBe('<h1>hello</h1>');
  });

  it('is compressed once it is built; what browsers keep for a year is before, and what was once stays so', async () => {
    const { id, slug } = await site();
    const page = `<h1>page</h1>${'<p>words</p>'.repeat(200)}`;
    await write(`${slug}/index.html`, page);
    await write(`${slug}/app.4f3c2b1a.js`, `console.log('${'words '.repeat(500)}')`);
    const encodingOf = async (address: string) => {
      const asked = { host: `${slug}.sites.localhost`, headers: { 'accept-encoding': 'br' } };
      const { status, headers } = await visit(address, asked);
      return [status, headers['content-encoding'], headers.vary];
    };
    await built(id, { auto_promote: true });
    expect(await encodingOf('/app.4f3c2b1a.js')).toEqual([200, 'br', 'Accept-Encoding']);
    await settled(service, 'builds');
    expect(await encodingOf('/')).toEqual([200, 'br', 'Accept-Encoding']);
    expect(await shown(slug)).toBe(page);
    await write(`${slug}/other.html`, page.replace('page', 'other'));
    await built(id, { auto_promote: true });
    expect(await encodingOf('/')).toEqual([200, 'br', 'Accept-Encoding']);
    await settled(service, 'builds');
    expect(await encodingOf('/other')).toEqual([200, 'br', 'Accept-Encoding']);
  });

  it('of a folder with a manifest and nothing to build is what output_dir names', async () => {
    const { id, slug } = await site('above', { output_dir: 'public', preset: 'static' });
    await write(`${slug}/package.json`, '{"scripts": {"build": "exit 1"}}');
    expect(await ended(await build(id))).toMatchObject({
      state: 'failed',
      error: 'There is no folder "public": say where the site is with output_dir.',
    });
    await write(`${slug}/public/index.html`, 'within');
    expect(await built(id, { auto_promote: true })).toMatchObject({ files: 1, preset: 'static' });
    expect(await shown(slug)).toBe('within');
  });

  it('goes live by itself only where it was asked to', async () => {
    const { id, slug } = await site();
    const version = await built(id);
    expect(version).toMatchObject({ state: 'built', promotion: { will: false } });
    expect(version.promotion.reason).toContain('auto_promote');
    expect(await shown(slug)).toContain('Nothing is published');
    expect((await promote(id, version)).body).toMatchObject({ live_version: 1 });
    expect(await shown(slug)).toBe('<h1>one</h1>');
  });

  it('is served on a host of its own, whichever is live', async () => {
    const { id, slug } = await site('one');
    await built(id, { auto_promote: true });
    await write(`${slug}/index.html`, 'two');
    await built(id, { auto_promote: true });
    await ada.client.put(`/api/site-access/${id}`, { mode: 'public', versions: 'same' });
    expect(await shown(slug)).toBe('two');
    expect(await shown(`v1--${slug}`)).toBe('<h1>one</h1>');
    expect(await shown(`v2--${slug}`)).toBe('two');
    const { headers } = await visit('/', { host: `v1--${slug}.sites.localhost` });
    expect(headers['x-robots-tag']).toBe('noindex');
  });

  it('serves assets of the versions before it to tabs that are open', async () => {
    const { id, slug } = await site();
    await write(`${slug}/app.4f3c2b1a.js`, 'old()');
    await built(id, { auto_promote: true });
    await ada.client.delete(`/api/workspaces/${workspace}/files?path=${slug}/app.4f3c2b1a.js`);
    await built(id, { auto_promote: true });
    const { text, headers } = await visit('/app.4f3c2b1a.js', { host: `${slug}.sites.localhost` });
    expect(text).toBe('old()');
    expect(headers['atelier-version']).toBe('1');
  });

  it('says what is wrong with it', async () => {
    const { id, slug } = await site();
    await write(`${slug}/_redirects`, '/a /b 999\n');
    await ada.client.post(`/api/workspaces/${workspace}/tools/bash`, {
      input: { command: `ln -s /etc/passwd ${slug}/leak && mkfifo ${slug}/pipe` },
    });
    const version = await built(id);
    expect(version.findings.map(({ file }: Json) => file).sort()).toEqual(['_redirects', 'leak', 'pipe']);
    expect(version.files).toBe(1);
  });

  it('of a folder that is not there fails, and what is live stays', async () => {
    const { id, slug } = await site();
    await built(id, { auto_promote: true });
    await ada.client.patch(`/api/sites/${id}`, { folder: 'gone' });
    const version = await ended(await build(id, { auto_promote: true }));
    expect(version).toMatchObject({
      state: 'failed',
      promotion: { will: false, reason: 'Its build failed.' },
    });
    expect(version.error).toContain('not there');
    expect(await shown(slug)).toBe('<h1>one</h1>');
  });

  it('has a log, read and streamed', async () => {
    const { id } = await site();
    const version = await built(id, { auto_promote: true });
    const address = `/api/sites/${id}/versions/${version.id}`;
    const { body } = await ada.client.get(`${address}/log`);
    expect(body.is_complete).toBe(true);
    expect(body.lines.at(-1)).toMatchObject({ stream: 'system' });
    expect(body.lines.at(-1).text).toContain('It is live.');
    const events = await ada.client.events(`${address}/events`);
    expect(events.map(({ event }) => event)).toEqual([...body.lines.map(() => 'build.log'), 'build.ended']);
    const [first] = body.lines;
    expect(await ada.client.events(`${address}/events?after=${first.id}`)).toHaveLength(events.length - 1);
    for (const more of [0, 7])
      expect(await ada.client.events(`${address}/events?after=${Number(events.at(-1)?.id) + more}`)).toEqual(
        events.slice(-1),
      );
  });
});

describe('promotion', () => {
  it('of an older version pauses what goes live by itself, until it is resumed', async () => {
    const { id, slug } = await site('one');
    const first = await built(id, { auto_promote: true });
    await write(`${slug}/index.html`, 'two');
    await built(id, { auto_promote: true });
    expect((await promote(id, first)).body).toMatchObject({ live_version: 1, auto_promote_paused: true });
    expect(await shown(slug)).toBe('<h1>one</h1>');
    const third = await built(id, { auto_promote: true });
    expect(third).toMatchObject({ state: 'built', promotion: { will: false } });
    expect(third.promotion.reason).toContain('paused');
    expect(await shown(slug)).toBe('<h1>one</h1>');
    const resumed = await ada.client.post(`/api/sites/${id}/auto-promote/resume`);
    expect(resumed.body).toMatchObject({ auto_promote_paused: false });
    expect(await built(id, { auto_promote: true })).toMatchObject({ number: 4, state: 'live' });
    expect(await shown(slug)).toBe('two');
  });

  it('of the newest version ends the pause', async () => {
    const { id } = await site();
    const first = await built(id, { auto_promote: true });
    const second = await built(id, { auto_promote: true });
    await promote(id, first);
    expect((await promote(id, second)).body).toMatchObject({ live_version: 2, auto_promote_paused: false });
  });

  it('is held up by a lock, by hand too', async () => {
    const { id } = await site();
    await ada.client.post(`/api/sites/${id}/lock`, { reason: 'Audit' });
    const version = await built(id, { auto_promote: true });
    expect(version).toMatchObject({ state: 'built', promotion: { will: false } });
    expect(version.promotion.reason).toContain('Audit');
    const refused = await promote(id, version);
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      'The site is locked (Audit); unlock it first',
    ]);
    expect((await ada.client.post(`/api/sites/${id}/unlock`)).body).toMatchObject({ locked: false });
    expect((await promote(id, version)).status).toBe(200);
  });

  it('never lets an older build overtake', async () => {
    const { id } = await site();
    await built(id, { auto_promote: true });
    // A build that took so long that a newer one is live.
    const second = await built(id);
    const third = await built(id, { auto_promote: true });
    expect(third.state).toBe('live');
    const [late] = await service.database.query<{ id: string }>(
      `update site_version set state = 'queued', auto_promote = true, promotion = 'none' where id = $1 returning id`,
      [second.id],
    );
    const payload = { version_id: late?.id ?? '', site_id: id };
    const jobs = service.app.get(Jobs, { strict: false });
    await service.app
      .get(Database, { strict: false })
      .transaction(unit => jobs.enqueue(unit, buildSite, newId(), payload));
    const end = await ended(second);
    expect(end).toMatchObject({ state: 'built', promotion: { will: false } });
    expect(end.promotion.reason).toContain('newer');
  });

  it('is refused where something else is live by now', async () => {
    const { id } = await site();
    const first = await built(id, { auto_promote: true });
    const second = await built(id);
    expect((await promote(id, second, { if_live: second.id })).status).toBe(409);
    expect((await promote(id, second, { if_live: first.id })).status).toBe(200);
  });

  it('of many at once ends with one that is live', async () => {
    const { id } = await site();
    const versions = [await built(id), await built(id), await built(id)];
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        promote(id, versions[n % 3] ?? {}, { pause_auto_promote: false }),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const { items } = (await ada.client.get(`/api/sites/${id}/versions`)).body;
    expect(items.filter(({ state }: Json) => state === 'live')).toHaveLength(1);
    const retired = await service.database.query(
      'select number from site_version where site_id = $1 and retired_at is null',
      [id],
    );
    expect(retired).toHaveLength(1);
  });

  it('takes a version that is built', async () => {
    const { id } = await site();
    await ada.client.patch(`/api/sites/${id}`, { folder: 'gone' });
    const version = await ended(await build(id));
    const refused = await promote(id, version);
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      'Version 1 is failed; only a built one can go live',
    ]);
  });
});

describe('a site', () => {
  it('is listed, read, changed and deleted', async () => {
    const { id, slug } = await site();
    await built(id, { auto_promote: true });
    const { items } = (await ada.client.get(`/api/sites?workspace_id=${workspace}`)).body;
    expect(items.map((one: Json) => one.id)).toContain(id);
    const changed = await ada.client.patch(`/api/sites/${id}`, {
      name: 'Renamed',
      slug: `${slug}-b`,
      spa: true,
    });
    expect(changed.body).toMatchObject({ name: 'Renamed', slug: `${slug}-b`, spa: true });
    expect((await visit('/', { host: `${slug}.sites.localhost` })).status).toBe(404);
    expect(await shown(`${slug}-b`)).toBe('<h1>one</h1>');
    expect((await ada.client.delete(`/api/sites/${id}`)).body).toEqual({ id, deleted: true });
    expect((await ada.client.get(`/api/sites/${id}`)).status).toBe(404);
    expect((await visit('/', { host: `${slug}-b.sites.localhost` })).status).toBe(404);
    // The slug is kept for its workspace.
    const again = (workspace_id: string) =>
      ada.client.post('/api/sites', { workspace_id, name: 'Other', slug: `${slug}-b`, folder: slug });
    expect((await again(await service.workspace(ada))).status).toBe(409);
    expect((await again(workspace)).status).toBe(200);
  });

  it('is refused with bad settings', async () => {
    for (const [input, status] of [
      [{ slug: 'Not a slug' }, 422],
      [{ slug: 'two--hyphens' }, 422],
      [{ slug: 'admin' }, 422],
      [{ folder: '../outside' }, 422],
      [{ name: ' ' }, 422],
    ] as const) {
      const base = { workspace_id: workspace, name: 'A', slug: 'fine', folder: 'x' };
      const { status: answered, body } = await ada.client.post('/api/sites', { ...base, ...input });
      expect([input, answered, typeof body.detail]).toEqual([input, status, 'string']);
    }
  });

  it('is nothing to a stranger, and to a viewer only to read', async () => {
    const { id } = await site();
    const version = await built(id);
    const stranger = await service.person();
    const viewer = await service.person('Vera');
    const place = { organization: ada.organizationId, workspace };
    await service.join(viewer, { ...place, role: 'guest', workspaceRole: 'viewer' });
    const writes: [method: 'post' | 'patch' | 'delete' | 'put', address: string, input?: Json][] = [
      ['patch', `/api/sites/${id}`, { name: 'x' }],
      ['delete', `/api/sites/${id}`],
      ['post', `/api/sites/${id}/lock`, {}],
      ['post', `/api/sites/${id}/unlock`],
      ['post', `/api/sites/${id}/auto-promote/resume`],
      ['post', `/api/sites/${id}/versions`, {}],
      ['post', `/api/sites/${id}/versions/${version.id}/promote`, {}],
      ['post', `/api/sites/${id}/versions/${version.id}/cancel`],
      ['put', `/api/sites/${id}/versions/${version.id}/pin`, { pinned: true }],
      ['delete', `/api/sites/${id}/versions/${version.id}`],
    ];
    const reads = ['', '/versions', `/versions/${version.id}`, `/versions/${version.id}/log`];
    for (const [method, address, input] of writes) {
      expect([address, (await stranger.client[method](address, input as never)).status]).toEqual([
        address,
        404,
      ]);
      expect([address, (await viewer.client[method](address, input as never)).status]).toEqual([
        address,
        403,
      ]);
    }
    for (const read of reads) {
      const address = `/api/sites/${id}${read}`;
      expect([read, (await stranger.client.get(address)).status]).toEqual([read, 404]);
      expect([read, (await viewer.client.get(address)).status]).toEqual([read, 200]);
    }
    expect((await stranger.client.get('/api/sites')).body.items).toEqual([]);
    const create = { workspace_id: workspace, name: 'A', folder: 'x' };
    expect((await stranger.client.post('/api/sites', create)).status).toBe(404);
    expect((await viewer.client.post('/api/sites', create)).status).toBe(403);
  });

  it('gives nothing of another site by the ids of its versions', async () => {
    const [one, other] = [await site(), await site()];
    const version = await built(other.id);
    expect((await ada.client.get(`/api/sites/${one.id}/versions/${version.id}`)).status).toBe(404);
    expect((await promote(one.id, version)).status).toBe(404);
  });

  it('deletes a version that is not live', async () => {
    const { id, slug } = await site();
    const first = await built(id, { auto_promote: true });
    const second = await built(id);
    const address = (version: Json) => `/api/sites/${id}/versions/${version.id}`;
    expect((await ada.client.delete(address(first))).status).toBe(409);
    expect((await ada.client.delete(address(second))).status).toBe(200);
    expect((await visit('/', { host: `v2--${slug}.sites.localhost` })).status).not.toBe(200);
  });
});

describe('a build that is under way', () => {
  /** A site whose build never ends by itself, once that has begun. */
  async function building(): Promise<[site: Json, version: Json]> {
    const made = await site('one', { build_command: 'echo begun; sleep 600' });
    await write(`${made.slug}/package.json`, '{"name": "endless", "scripts": {"build": "sleep 600"}}');
    const version = await build(made.id, { auto_promote: true });
    const log = `/api/sites/${made.id}/versions/${version.id}/events`;
    await ada.client.events(log, {
      until: ({ data }) => data.stream === 'stdout' && data.text.includes('begun'),
    });
    return [made, version];
  }

  it('ends when it is cancelled, and the next one begins', async () => {
    const [{ id, slug }, version] = await building();
    await ada.client.delete(`/api/workspaces/${workspace}/files?path=${slug}/package.json`);
    await ada.client.patch(`/api/sites/${id}`, { build_command: null });
    const next = await build(id, { auto_promote: true });
    expect((await ada.client.get(`/api/sites/${id}/versions/${next.id}`)).body.state).toBe('queued');
    const cancelled = await ada.client.post(`/api/sites/${id}/versions/${version.id}/cancel`);
    expect(cancelled.body).toMatchObject({ state: 'cancelled', promotion: { will: false } });
    expect(await ended(next)).toMatchObject({ state: 'live', number: 2 });
    expect((await ada.client.post(`/api/sites/${id}/versions/${version.id}/cancel`)).status).toBe(409);
    expect(await ended(version)).toMatchObject({ state: 'cancelled' });
  });

  it('ends when its site is deleted', async () => {
    const [{ id }, version] = await building();
    expect((await ada.client.delete(`/api/sites/${id}`)).status).toBe(200);
    const folder = path.join(service.dataDir, 'builds', version.id);
    while (existsSync(folder)) await sleep(50);
  });
});
