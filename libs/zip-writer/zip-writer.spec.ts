import { execFileSync } from 'node:child_process';
import { ftruncateSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, expect, it } from '@jest/globals';
import yauzl from 'yauzl';
import { ZipWriter } from './index.js';

const scratch = mkdtempSync(path.join(tmpdir(), 'atelier-zip-writer-'));
afterAll(() => rmSync(scratch, { recursive: true }));

const modified = new Date('2024-03-05T06:07:08Z');

async function* pieces(...contents: Buffer[]): AsyncGenerator<Buffer> {
  yield* contents;
}

const streamed = (zip: ZipWriter, name: string, bytes: number, ...contents: Buffer[]) =>
  buffer(zip.stream({ name, modified, level: name === 'raw' ? 0 : 1 }, pieces(...contents), bytes));

/** Names with what is in them, `null` for a folder. As text: that is compared in no time. */
async function contentsOf(file: string): Promise<Map<string, string | null>> {
  const zip = await yauzl.openPromise(file, { lazyEntries: false, autoClose: false });
  const found = new Map<string, string | null>();
  for await (const entry of zip.eachEntry()) {
    const isFolder = entry.fileName.endsWith('/');
    const bytes = isFolder ? null : await buffer(await zip.openReadStreamPromise(entry));
    found.set(entry.fileName, bytes?.toString('latin1') ?? null);
    expect(entry.getLastModDate()).toEqual(modified);
  }
  zip.close();
  return found;
}

function saved(name: string, zip: Buffer[]): string {
  const file = path.join(scratch, name);
  writeFileSync(file, Buffer.concat(zip));
  return file;
}

/** What unzip finds; it takes names that the locale does not have for faults. */
function judged(file: string): string {
  return execFileSync('unzip', ['-tq', file], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C.UTF-8' },
  });
}

it('has what it was given, and other programs find it sound', async () => {
  const large = Buffer.concat(Array.from({ length: 40 }, (_, n) => Buffer.alloc(50_000, `piece ${n}`)));
  const zip = new ZipWriter();
  const parts = [
    zip.folder({ name: 'leer', modified }),
    ...zip.file({ name: 'leer/größe 名前.txt', modified }, Buffer.from('Grüße')),
    ...zip.file({ name: 'stored', modified, level: 0 }, Buffer.from('as it is')),
    ...zip.file({ name: 'nothing', modified }, Buffer.alloc(0)),
    ...zip.file({ name: 'whole', modified }, large.subarray(0, 60_000)),
    await streamed(zip, 'streamed', large.length, large),
    await streamed(zip, 'raw', 2 * large.length, large, large),
    await streamed(zip, 'no pieces', 0),
  ];
  const file = saved('plain.zip', [...parts, ...zip.end()]);
  const found = await contentsOf(file);
  const text = large.toString('latin1');
  expect([...found]).toEqual([
    ['leer/', null],
    ['leer/größe 名前.txt', Buffer.from('Grüße').toString('latin1')],
    ['stored', 'as it is'],
    ['nothing', ''],
    ['whole', text.slice(0, 60_000)],
    ['streamed', text],
    ['raw', text + text],
    ['no pieces', ''],
  ]);
  expect(judged(file)).toContain('No errors detected');
});

it('says 64 bits where a file may need them', async () => {
  const zip = new ZipWriter();
  const content = await streamed(zip, 'could be huge', 5e9, Buffer.from('and is not'));
  const file = saved('huge.zip', [content, ...zip.end()]);
  expect(await contentsOf(file)).toEqual(new Map([['could be huge', 'and is not']]));
  expect(judged(file)).toContain('No errors detected');
});

it('goes beyond 4 GiB', async () => {
  const file = path.join(scratch, 'far.zip');
  const descriptor = openSync(file, 'w');
  ftruncateSync(descriptor, 5e9);
  const zip = new ZipWriter(5e9);
  const bytes = Buffer.concat([...zip.file({ name: 'far', modified }, Buffer.from('away')), ...zip.end()]);
  writeSync(descriptor, bytes, 0, bytes.byteLength, 5e9);
  expect(await contentsOf(file)).toEqual(new Map([['far', 'away']]));
});

it('goes beyond 65,535 entries', async () => {
  const zip = new ZipWriter();
  const folders = Array.from({ length: 70_000 }, (_, n) => zip.folder({ name: String(n), modified }));
  const found = await yauzl.openPromise(saved('many.zip', [...folders, ...zip.end()]), { lazyEntries: true });
  expect(found.entryCount).toBe(70_000);
  found.close();
});

it('fails as its content does', async () => {
  const failing = async function* () {
    yield Buffer.from('some');
    throw new Error('the disk is gone');
  };
  const zip = new ZipWriter();
  await expect(buffer(zip.stream({ name: 'a', modified }, failing(), 10))).rejects.toThrow(
    'the disk is gone',
  );
});

it('lets go of a content that nobody reads on', async () => {
  const ended = Promise.withResolvers<void>();
  const endless = async function* () {
    try {
      for (;;) yield Buffer.alloc(100_000, 'a');
    } finally {
      ended.resolve();
    }
  };
  const parts = new ZipWriter().stream({ name: 'a', modified }, endless(), 1e9);
  await parts.next();
  await parts.next();
  await parts.return(undefined);
  await ended.promise;
});
