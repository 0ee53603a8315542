import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Chores } from '../../../src/platform/jobs/index.js';
import { StoredElsewhere } from '../../../src/workspaces/changes/index.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';
import { settled } from '../../harness/settled.js';
import { Sites } from '../../harness/sites.js';

const ROOM = 1_000_000;

let service: TestService;
let ada: Person;
let sites: Sites;

beforeAll(async () => {
  service = await TestService.start({ SITE_LIMITS: 'versions=2', WORKSPACE_LIMITS: `bytes=${ROOM}` });
  ada = await service.person('Ada');
});
beforeEach(async () => {
  sites = await Sites.in(service, ada);
});
afterAll(() => service.stop());

const tidy = () => service.app.get(Chores, { strict: false }).run('site_retention');
const folderOf = ({ id }: Json) => path.join(service.dataDir, 'sites', id);
const stored = () => service.app.get(StoredElsewhere, { strict: false }).bytesOf(sites.workspace);
/** Each of its two compressed forms is about three quarters of it. */
const text = (bytes: number) => randomBytes((bytes * 3) / 4).toString('base64');

function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => path.join(parentPath, name));
}

/** As if all that is stored of a site, and the ends of its builds, were hours old. */
async function age(site: Json): Promise<void> {
  const before = new Date(Date.now() - 3 * 3_600_000);
  for (const file of filesBelow(folderOf(site))) utimesSync(file, before, before);
  await service.database.query("update site set sweep_at = now() - interval '1 minute' where id = $1", [
    site.id,
  ]);
  await service.database.query(
    "update site_version set finished_at = finished_at - interval '3 hours' where site_id = $1",
    [site.id],
  );
}

async function publish(site: Json, content: string, input?: Json): Promise<Json> {
  await sites.write(`${site.slug}/index.html`, content);
  const version = await sites.publish(site, input);
  expect(version.error).toBeNull();
  return version;
}

const statesOf = async ({ id }: Json): Promise<string[]> => {
  const { body } = await ada.client.get(`/api/sites/${id}/versions`);
  return body.items.map(({ number, state }: Json) => `${number} ${state}`).reverse();
};

describe('versions', () => {
  it('are kept while they are new, pinned, live or were live lately', async () => {
    const site = await sites.make();
    const versions = [];
    for (let n = 1; n <= 5; n++) versions.push(await publish(site, `page ${n}`, { auto_promote: n < 4 }));
    const [first] = versions;
    await ada.client.put(`/api/sites/${site.id}/versions/${first.id}/pin`, { pinned: true });
    await tidy();
    // All of the first three were live lately.
    expect(await statesOf(site)).toEqual(['1 built', '2 built', '3 live', '4 built', '5 built']);
    await service.database.query(
      "update site_version set retired_at = now() - interval '31 days' where site_id = $1 and retired_at is not null",
      [site.id],
    );
    await tidy();
    expect(await statesOf(site)).toEqual(['1 built', '2 purged', '3 live', '4 built', '5 built']);
    expect(await sites.shown(site)).toBe('page 3');
  });

  it('that were purged are served nowhere, cannot go live, and have no log; their bytes go', async () => {
    const site = await sites.make();
    await ada.client.put(`/api/site-access/${site.id}`, { mode: 'public', versions: 'same' });
    const first = await publish(site, 'first', { auto_promote: false });
    expect(await sites.shown(site, '/', 1)).toBe('first');
    await publish(site, 'shared');
    await publish(site, 'third');
    await publish(site, 'shared');
    await age(site);
    await tidy();
    expect(await statesOf(site)).toEqual(['1 purged', '2 built', '3 built', '4 live']);
    expect(await sites.shown(site, '/', 1)).toBe('404');
    const promoted = await ada.client.post(`/api/sites/${site.id}/versions/${first.id}/promote`);
    expect([promoted.status, promoted.body.detail]).toEqual([
      409,
      'Version 1 is purged; only a built one can go live',
    ]);
    expect(await sites.log(first)).toBe('');
    const manifests = filesBelow(path.join(folderOf(site), 'manifests'));
    // The second and the fourth are the same.
    expect(manifests).toHaveLength(2);
    await age(site);
    await tidy();
    expect(filesBelow(path.join(folderOf(site), 'blobs'))).toHaveLength(2);
    expect([
      await sites.shown(site),
      await sites.shown(site, '/', 2),
      await sites.shown(site, '/', 3),
    ]).toEqual(['shared', 'shared', 'third']);
    expect(await service.database.query('select sweep_at from site where id = $1', [site.id])).toEqual([
      { sweep_at: null },
    ]);
  });

  it('that were deleted take their bytes with them, an hour later', async () => {
    const site = await sites.make();
    const first = await publish(site, 'first');
    await publish(site, 'second');
    expect((await ada.client.delete(`/api/sites/${site.id}/versions/${first.id}`)).status).toBe(200);
    await tidy();
    expect(filesBelow(path.join(folderOf(site), 'blobs'))).toHaveLength(2);
    await age(site);
    await tidy();
    expect(filesBelow(path.join(folderOf(site), 'blobs'))).toHaveLength(1);
    expect(await sites.shown(site)).toBe('second');
  });

  it('keep all their bytes while a manifest cannot be read', async () => {
    const site = await sites.make();
    await publish(site, 'one');
    await age(site);
    await service.database.query('update site_version set manifest_hash = $2 where site_id = $1', [
      site.id,
      'f'.repeat(64),
    ]);
    await tidy();
    expect(filesBelow(path.join(folderOf(site), 'blobs'))).toHaveLength(1);
  });
});

describe('the room of a workspace', () => {
  it('is taken by what versions keep, once for the same bytes', async () => {
    const site = await sites.make();
    await publish(site, text(100_000));
    await settled(service, 'builds');
    const once = await stored();
    expect(once).toBeGreaterThan(100_000);
    await sites.publish(site);
    await sites.publish(site);
    await settled(service, 'builds');
    expect(await stored()).toBe(once);
  });

  it('is asked for before anything goes live, and is there again when what did not is removed', async () => {
    const site = await sites.make();
    await publish(site, text(250_000));
    await settled(service, 'builds');
    const before = await stored();
    expect(before).toBeGreaterThan(500_000);
    await sites.write(`${site.slug}/index.html`, text(250_000));
    const refused = await sites.publish(site);
    expect(refused.state).toBe('failed');
    expect(refused.error).toMatch(
      /^There is no room for it: The workspace holds \d+ of the 1000000 bytes it may have \(\d+ of them in attachments of its chats and versions of its sites\)/,
    );
    expect(await sites.shown(site)).toHaveLength(250_000);
    // Whoever tries again and again takes no more than that.
    expect(await stored()).toBeGreaterThan(before);
    const again = await sites.publish(site);
    expect(again.error).toMatch(/^There is no room for it/);
    await age(site);
    await tidy();
    expect(await stored()).toBe(before);
  });
});

it('builds are entered into the ledger, for who asked for them', async () => {
  const site = await sites.make();
  const usage = async () =>
    (await ada.client.get(`/api/organizations/${ada.organizationId}/billing/usage?group_by=workspace`)).body;
  for (let n = 0; n < 2; n++) await sites.publish(site);
  await settled(service, 'builds');
  const entries = await service.database.query(
    "select actor_id, seconds from usage_entry where workspace_id = $1 and kind = 'build_seconds'",
    [sites.workspace],
  );
  expect(entries.map(({ actor_id }) => actor_id)).toEqual([ada.id, ada.id]);
  const seconds = entries.reduce((sum, entry) => sum + Number(entry.seconds), 0);
  const group = (await usage()).items.find(({ key }: Json) => key === sites.workspace);
  expect(group.build_seconds).toBeCloseTo(seconds);
  expect([seconds > 0, group.tool_seconds]).toEqual([true, 0]);
});

describe('folders', () => {
  it('of a site go with it, and with its workspace', async () => {
    const [one, other] = [await sites.make(), await sites.make()];
    await sites.publish(one);
    await sites.publish(other);
    await ada.client.delete(`/api/sites/${one.id}`);
    expect((await ada.client.delete(`/api/workspaces/${sites.workspace}`)).status).toBe(200);
    await tidy();
    expect([existsSync(folderOf(one)), existsSync(folderOf(other))]).toEqual([false, false]);
  });

  it('of builds whose process died are removed when they are old', async () => {
    const left = path.join(service.dataDir, 'builds', randomUUID());
    mkdirSync(left, { recursive: true });
    await tidy();
    expect(existsSync(left)).toBe(true);
    utimesSync(left, new Date(0), new Date(0));
    await tidy();
    expect(existsSync(left)).toBe(false);
  });
});
