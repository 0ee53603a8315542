import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import tar from 'tar-stream';
import { WorkspaceFs } from '#libs/workspace-fs/index.js';
import { Extraction } from './extraction.js';

const ROOM = { bytes: 1_000_000, files: 100 };

let root: string;
let files: WorkspaceFs;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'atelier-extraction-'));
  files = new WorkspaceFs(root, { maxFileBytes: 100_000 });
});
afterEach(() => rmSync(root, { recursive: true }));

const onDisk = (name: string) => path.join(root, name);

/** A tar, padded to the length of others: it can be put in their place without becoming shorter. */
async function tarOf(contents: Record<string, string>): Promise<Buffer> {
  const pack = tar.pack();
  for (const [name, content] of Object.entries(contents))
    pack.entry({ name, type: name.endsWith('/') ? 'directory' : 'file' }, content);
  pack.finalize();
  const bytes = await buffer(pack as unknown as Readable);
  return Buffer.concat([bytes, Buffer.alloc(40_960 - bytes.byteLength)]);
}

it.each<[string, Record<string, string>]>([
  ['files', { a: '1', b: '1' }],
  ['bytes', { a: '12' }],
  ['folders', { 'a/': '', 'b/': '' }],
])('takes no more %s than it planned for out of an archive that is written to meanwhile', async (_, more) => {
  writeFileSync(onDisk('x.tar'), await tarOf({ a: '1' }));
  await using archive = await files.openRead('x.tar');
  const extraction = new Extraction(files, archive, 'out', 100_000);
  const plan = await extraction.plan(ROOM);
  expect(plan).toMatchObject({ entries: 1, files: 1, bytes: 1, folders: 1 });
  writeFileSync(onDisk('x.tar'), await tarOf(more));
  await expect(extraction.run(plan)).rejects.toMatchObject({ code: 'busy', path: 'x.tar' });
  const made = readdirSync(root).includes('out') ? readdirSync(onDisk('out')) : [];
  expect(made.length).toBeLessThanOrEqual(1);
});

it('takes names in one form, refuses one that is there twice, and those with a drive letter', async () => {
  const planned = async (contents: Record<string, string>) => {
    writeFileSync(onDisk('x.tar'), await tarOf(contents));
    await using archive = await files.openRead('x.tar');
    const extraction = new Extraction(files, archive, 'out', 100_000);
    await extraction.run(await extraction.plan(ROOM));
  };
  await planned({ [`${'größe'.normalize('NFD')}/a`]: '1', 'with\\back': '2' });
  expect(readdirSync(onDisk('out')).sort()).toEqual(['größe'.normalize('NFC'), 'with\\back']);
  const both = { ['é'.normalize('NFD')]: '1', ['é'.normalize('NFC')]: '2' };
  await expect(planned(both)).rejects.toThrow('The archive holds "out/é" twice');
  await expect(planned({ 'C:/x': '1' })).rejects.toThrow('leads outside');
});

it('counts the folders that are to be made, those between included', async () => {
  writeFileSync(onDisk('x.tar'), await tarOf({ 'a/b/c/d.txt': '1', 'a/e/': '', 'f.txt': '1' }));
  await using archive = await files.openRead('x.tar');
  await files.mkdir('here');
  const plan = await new Extraction(files, archive, 'here', 100_000).plan(ROOM);
  expect(plan).toMatchObject({ files: 2, folders: 4 });
});

/** A pax header with many small records that stands before one file; `x` is for that file, `g` for all that follow. */
async function tarWithHeader(typeflag: 'x' | 'g', bytes: number): Promise<Buffer> {
  const pack = tar.pack();
  pack.entry({ name: 'header' }, '12 abcdefg=\n'.repeat(Math.floor(bytes / 12)));
  pack.entry({ name: 'a.txt' }, '1');
  pack.finalize();
  const archive = await buffer(pack as unknown as Readable);
  // The checksum of a header is a sum of its bytes (POSIX.1-2017, pax, ustar Interchange Format).
  archive.write(typeflag, 156, 'latin1');
  archive.fill(' ', 148, 156);
  const sum = archive.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  archive.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return archive;
}

it.each([
  ['x', 64 * 1024],
  ['g', 4 * 1024],
] as const)(
  'takes records of type %s, x of one file and g of all, up to %i bytes',
  async (typeflag, most) => {
    writeFileSync(onDisk('fits.tar'), await tarWithHeader(typeflag, most));
    writeFileSync(onDisk('more.tar'), await tarWithHeader(typeflag, most + 12));
    await using fits = await files.openRead('fits.tar');
    await using more = await files.openRead('more.tar');
    expect(await new Extraction(files, fits, 'out', 100_000).plan(ROOM)).toMatchObject({
      files: 1,
      bytes: 1,
    });
    await expect(new Extraction(files, more, 'out', 100_000).plan(ROOM)).rejects.toMatchObject({
      code: 'unreadable',
      message: expect.stringContaining(`may have ${most}`),
    });
  },
);

it('names no more than a thousand of the entries that it leaves out', async () => {
  const pack = tar.pack();
  for (let index = 0; index < 1100; index++)
    pack.entry({ name: `link${index}`, type: 'symlink', linkname: 'a' });
  pack.finalize();
  writeFileSync(onDisk('x.tar'), await buffer(pack as unknown as Readable));
  await using archive = await files.openRead('x.tar');
  const { entries, skipped } = await new Extraction(files, archive, 'out', 100_000).plan(ROOM);
  expect([entries, skipped.length, skipped.at(-1)]).toEqual([1100, 1000, 'link999']);
});
