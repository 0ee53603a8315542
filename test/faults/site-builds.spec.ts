import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../harness/client.js';
import { type Person, TestService } from '../harness/service.js';
import { Sites } from '../harness/sites.js';
import { Visitor } from '../harness/visitor.js';
import { Barrier } from './barrier.js';
import { allGone, oneThere } from './processes.js';
import { Standstill } from './standstill.js';
import { Workers } from './workers.js';

const PATIENCE = 300_000;
/** Enough that a copy of them is not over at once. */
const MANY = 2_000;

let service: TestService;
let ada: Person;
let sites: Sites;
let workers: Workers;

beforeAll(async () => {
  service = await TestService.start({ ROLE: 'api' });
  ada = await service.person('Ada');
  sites = await Sites.in(service, ada);
  workers = new Workers({ service, environment: {} });
}, PATIENCE);
afterEach(() => workers.kill());
afterAll(() => service.stop());

const row = async ({ id }: Json): Promise<Json> =>
  (await service.database.query('select * from site_version where id = $1', [id]))[0];

/** Resolves once the row of a version is so; nothing tells of writes that a killed process made. */
async function until(version: Json, isSo: (row: Json) => boolean): Promise<void> {
  while (!isSo(await row(version))) await sleep(20);
}

const leftFolders = () => {
  const builds = path.join(service.dataDir, 'builds');
  return existsSync(builds) ? readdirSync(builds) : [];
};

const promotions = async ({ id }: Json) =>
  (
    await service.database.query(
      "select 1 from audit_entry where target_id = $1 and action = 'site.promote'",
      [id],
    )
  ).length;

/** The version goes live in another worker, whole, and nothing is left behind. */
async function recovers(site: Json, version: Json, losses: number): Promise<void> {
  const worker = await workers.start();
  expect(await sites.ended(version)).toMatchObject({ state: 'live', error: null });
  expect(await worker.stop()).toBe(0);
  expect(worker.errors).toEqual([]);
  expect(await row(version)).toMatchObject({ losses, attempt: losses + 1, holder: null });
  expect(await sites.shown(site)).toBe('one');
  expect(leftFolders()).toEqual([]);
  expect(await promotions(site)).toBe(0);
}

describe('a worker is killed', () => {
  it(
    'when it claims a build',
    async () => {
      const site = await sites.make();
      const version = await sites.begin(site);
      const barrier = await Barrier.raise(service, 'site_version');
      const worker = await workers.start();
      await barrier.holds(1);
      await worker.kill();
      await barrier.undo();
      await barrier.lift();
      await recovers(site, version, 0);
    },
    PATIENCE,
  );

  it(
    'while it copies the folder',
    async () => {
      const site = await sites.make();
      const command = `cd ${site.slug} && for n in $(seq ${MANY}); do echo $n > $n.txt; done`;
      await ada.client.post(`/api/workspaces/${sites.workspace}/tools/bash`, { input: { command } });
      const version = await sites.begin(site);
      // However late this process sees that it copies, it cannot publish.
      const barrier = await Barrier.raise(service, 'site');
      const worker = await workers.start();
      await until(version, ({ state }) => state === 'building');
      await worker.kill();
      await barrier.undo();
      await barrier.lift();
      // The process that lives may have queued it again by now.
      expect(['building', 'queued']).toContain((await row(version)).state);
      await recovers(site, version, 1);
      expect((await sites.read(version)).files).toBe(MANY + 1);
      expect(await sites.log(version)).toContain('was lost; the build begins anew');
    },
    PATIENCE,
  );

  it(
    'when all is collected and nothing is published',
    async () => {
      const site = await sites.make();
      const version = await sites.begin(site);
      const barrier = await Barrier.raise(service, 'site');
      const worker = await workers.start();
      await barrier.holds(1);
      expect(readdirSync(path.join(service.dataDir, 'sites', site.id)).sort()).toEqual([
        'blobs',
        'manifests',
      ]);
      await worker.kill();
      await barrier.lift();
      await recovers(site, version, 1);
    },
    PATIENCE,
  );

  it(
    'in the transaction that publishes',
    async () => {
      const site = await sites.make();
      const version = await sites.begin(site);
      const collected = await Barrier.raise(service, 'site');
      const worker = await workers.start();
      await collected.holds(1);
      const publishing = await Barrier.raise(service, 'site_version');
      await collected.lift();
      await publishing.holds(1);
      await worker.kill();
      await publishing.undo();
      await publishing.lift();
      expect(await sites.shown(site)).toContain('404');
      await recovers(site, version, 1);
    },
    PATIENCE,
  );

  it(
    'when the version is live and its build is not over',
    async () => {
      const site = await sites.make();
      const version = await sites.begin(site);
      const barrier = await Barrier.raise(service, 'site_version_log');
      const worker = await workers.start();
      await until(version, ({ state }) => state === 'built');
      await barrier.holds(1);
      await worker.kill();
      await barrier.lift();
      expect(await sites.ended(version)).toMatchObject({ state: 'live' });
      expect(await sites.shown(site)).toBe('one');
      // It is not built again.
      await workers.start();
      const next = await sites.publish(site);
      expect(next).toMatchObject({ state: 'live', number: 2 });
      expect(await row(version)).toMatchObject({ attempt: 1, losses: 0 });
    },
    PATIENCE,
  );

  it(
    'while it compresses what is live',
    async () => {
      const site = await sites.make();
      const command = `cd ${site.slug} && for n in $(seq ${MANY}); do printf "$n%.0s " $(seq 300) > $n.txt; done`;
      await ada.client.post(`/api/workspaces/${sites.workspace}/tools/bash`, { input: { command } });
      const version = await sites.begin(site);
      const still = await Standstill.begin(service, {
        table: 'site_version',
        event: 'before update',
        when: `old.state = 'built' and new.manifest_hash is distinct from old.manifest_hash`,
      });
      const worker = await workers.start();
      await until(version, ({ state }) => state === 'built');
      const { manifest_hash: uncompressed } = await row(version);
      await worker.kill();
      await still.undo();
      await still.end();
      expect(await sites.shown(site, `/${MANY}.txt`)).toMatch(new RegExp(`^${MANY} ${MANY} `));
      await workers.start();
      await until(version, ({ manifest_hash }) => manifest_hash !== uncompressed);
      for (const name of ['1', `${MANY / 2}`, `${MANY}`]) {
        const { headers } = await new Visitor(service.url).visit(`/${name}.txt`, {
          host: `${site.slug}.sites.localhost`,
          headers: { 'accept-encoding': 'br' },
        });
        expect(headers['content-encoding']).toBe('br');
      }
      expect(await row(version)).toMatchObject({ attempt: 1, losses: 0, state: 'built' });
    },
    PATIENCE,
  );

  it(
    'again, which ends the build, and what is live stays',
    async () => {
      const site = await sites.make();
      const worker = await workers.start();
      expect(await sites.publish(site)).toMatchObject({ state: 'live' });
      await worker.stop();
      await sites.write(`${site.slug}/index.html`, 'two');
      const version = await sites.begin(site);
      for (let times = 0; times < 2; times++) {
        const barrier = await Barrier.raise(service, 'site');
        const lost = await workers.start();
        await barrier.holds(1);
        await lost.kill();
        await barrier.lift();
      }
      await workers.start();
      expect(await sites.ended(version)).toMatchObject({
        state: 'failed',
        error: expect.stringContaining('was lost twice'),
        promotion: { will: false },
      });
      expect(await sites.shown(site)).toBe('one');
      expect(await sites.publish(site)).toMatchObject({ state: 'live', number: 3 });
      expect(await sites.shown(site)).toBe('two');
    },
    PATIENCE,
  );
});

/** A project whose build takes for ever. */
async function endless(): Promise<{ site: Json; marker: string }> {
  const marker = `sleep ${8_000_000 + process.pid}`;
  const site = await sites.make({
    'index.html': 'one',
    'package.json': JSON.stringify({
      scripts: { build: `[ -e go ] || ${marker}; mkdir -p dist; cp index.html dist` },
    }),
  });
  return { site, marker };
}

describe('a program of a build', () => {
  it(
    'dies with its worker, and runs once more in another',
    async () => {
      const { site, marker } = await endless();
      const version = await sites.begin(site);
      const worker = await workers.start();
      await oneThere(marker);
      await worker.kill();
      await allGone(marker);
      await workers.start();
      await oneThere(marker);
      expect(await row(version)).toMatchObject({ state: 'building', losses: 1 });
      await ada.client.post(`/api/sites/${site.id}/versions/${version.id}/cancel`);
      await allGone(marker);
      expect(await sites.ended(version)).toMatchObject({ state: 'cancelled' });
    },
    PATIENCE,
  );

  it(
    'is begun elsewhere when its worker is told to end',
    async () => {
      const { site, marker } = await endless();
      const version = await sites.begin(site);
      const worker = await workers.start();
      await oneThere(marker);
      expect(await worker.stop()).toBe(0);
      expect(worker.errors).toEqual([]);
      await allGone(marker);
      expect(await row(version)).toMatchObject({ state: 'queued', losses: 0, holder: null });
      await workers.start();
      await oneThere(marker);
      await ada.client.delete(`/api/sites/${site.id}`);
      await allGone(marker);
    },
    PATIENCE,
  );
});
