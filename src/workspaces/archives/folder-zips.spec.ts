import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { WorkspaceFs } from '#libs/workspace-fs/index.js';
import { type FolderToZip, FolderZips } from './folder-zips.js';

let root: string;
let files: WorkspaceFs;
let zips: FolderZips;
const held = new Set<Readable>();

beforeAll(() => {
  root = mkdtempSync(path.join(tmpdir(), 'atelier-zips-'));
  mkdirSync(path.join(root, 'site'));
  writeFileSync(path.join(root, 'site', 'a'), 'a');
  files = new WorkspaceFs(root, { maxFileBytes: 1000 });
});
beforeEach(() => {
  zips = new FolderZips();
});
afterEach(release);
afterAll(() => rmSync(root, { recursive: true }));

type Place = Partial<FolderToZip>;

/** Opens a folder whose zip nobody reads. */
async function open(place: Place): Promise<Readable> {
  const { signal } = new AbortController();
  const zip = await zips.open({ workspaceId: 'w', files, path: 'site', signal, ...place });
  held.add(zip);
  return zip;
}

const openAll = (count: number, place: Place) =>
  Promise.all(Array.from({ length: count }, () => open(place)));

const refused = (place: Place, detail: string) =>
  expect(open(place)).rejects.toThrow(new RegExp(`^${detail}`));

async function release(): Promise<void> {
  const open = [...held].filter(zip => !zip.closed);
  held.clear();
  await Promise.all(open.map(zip => new Promise(resolve => zip.once('close', resolve).destroy())));
}

it('packs so many folders at once of a link, for all visitors and for the members of a workspace', async () => {
  await openAll(4, { linkId: 'a' });
  await openAll(4, { linkId: 'b' });
  await openAll(8, {});
  await openAll(4, { workspaceId: 'other', linkId: 'c' });
  await openAll(8, { workspaceId: 'other' });
  await Promise.all([
    refused({ linkId: 'a' }, '4 folders of this link are downloaded at once'),
    ...[1, 2, 3, 4].map(() => refused({ linkId: 'd' }, '8 shared folders are downloaded at once')),
    refused({}, '8 folders of this workspace are downloaded at once'),
  ]);
  await release();
  // Who was refused holds none of the places that it had by then.
  await openAll(4, { linkId: 'd' });
  await openAll(4, { linkId: 'a' });
  await openAll(8, {});
});

it('packs so many folders at once in this process', async () => {
  await Promise.all(Array.from({ length: 8 }, (_, n) => openAll(8, { workspaceId: `${n}` })));
  await Promise.all(
    Array.from({ length: 8 }, () => refused({ workspaceId: '8' }, '64 folders are downloaded at once')),
  );
  await release();
  await openAll(8, { workspaceId: '8' });
});

it('keeps no place for a folder that is not there, or a client that has gone', async () => {
  const signal = AbortSignal.abort(new Error('The client has gone'));
  for (let n = 0; n < 8; n++) {
    await expect(open({ path: 'gone' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(open({ signal })).rejects.toThrow('The client has gone');
  }

  const client = new AbortController();
  const whileListed = Object.assign(Object.create(files), {
    list: (...asked: Parameters<WorkspaceFs['list']>) => {
      client.abort();
      return files.list(...asked);
    },
  });
  expect((await open({ files: whileListed, signal: client.signal })).destroyed).toBe(true);
  await openAll(8, {});
});
