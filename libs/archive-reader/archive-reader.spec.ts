import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import tar from 'tar-stream';
import { ZipFile } from 'yazl';
import { type ArchiveFile, entriesOf } from './archive-reader.js';

const unmetered = () => undefined;

function fileOf(bytes: Buffer): ArchiveFile {
  return {
    entry: { size: bytes.length },
    readAt: async (position, length) => bytes.subarray(position, position + length),
    part: (start, end) => Readable.from([bytes.subarray(start, end)]),
  };
}

function tarOf(
  ...entries: [header: Partial<tar.Header> & { name: string }, content?: string][]
): Promise<Buffer> {
  const pack = tar.pack();
  for (const [header, content = ''] of entries) pack.entry(header, content);
  pack.finalize();
  return buffer(pack);
}

function zipOf(...files: [name: string, content: Buffer | string][]): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of files) {
    if (name.endsWith('/')) zip.addEmptyDirectory(name);
    else zip.addBuffer(Buffer.from(content), name);
  }
  zip.end();
  return buffer(zip.outputStream as Readable);
}

/** Name, type and content of each entry. */
async function read(bytes: Buffer, meter: (bytes: number) => void = unmetered) {
  const entries: [string, string, string | undefined][] = [];
  for await (const { name, type, open } of entriesOf(fileOf(bytes), meter))
    entries.push([name, type, type === 'file' ? await text(await open()) : undefined]);
  return entries;
}

const FILES = [
  ['folder/', 'directory', undefined],
  ['folder/a.txt', 'file', 'first'],
  ['b.txt', 'file', 'second'],
];

const plainTar = () =>
  tarOf(
    [{ name: 'folder/', type: 'directory' }],
    [{ name: 'folder/a.txt' }, 'first'],
    [{ name: 'b.txt' }, 'second'],
  );

describe('an archive', () => {
  it('is read as what it begins with: zip, tar or tar.gz', async () => {
    const zip = await zipOf(['folder/', ''], ['folder/a.txt', 'first'], ['b.txt', 'second']);
    expect(await read(zip)).toEqual(FILES);
    expect(await read(await plainTar())).toEqual(FILES);
    expect(await read(gzipSync(await plainTar()))).toEqual(FILES);
  });

  it('may have contents that are not read', async () => {
    for (const bytes of [await plainTar(), await zipOf(['a', 'x'], ['b', 'y'])]) {
      const sizes: number[] = [];
      for await (const { type, size } of entriesOf(fileOf(bytes), unmetered))
        if (type === 'file') sizes.push(size);
      expect(sizes).toHaveLength(2);
    }
  });

  it('has links as entries that are neither files nor folders', async () => {
    const bytes = await tarOf([{ name: 'link', type: 'symlink', linkname: '/etc/passwd' }]);
    expect(await read(bytes)).toEqual([['link', 'other', undefined]]);
  });

  it('is refused with a sentence where it is broken', async () => {
    const broken = { name: 'ArchiveError', code: 'unreadable', message: /^The archive cannot be read: / };
    const zip = await zipOf(['a.txt', randomBytes(500)]);
    const tarGz = gzipSync(await plainTar());
    for (const bytes of [zip.subarray(0, -30), tarGz.subarray(0, -20), Buffer.alloc(1024, 'x')])
      await expect(read(bytes)).rejects.toMatchObject({
        ...broken,
        message: expect.stringMatching(broken.message),
      });
  });

  it('is refused where a header is out of proportion', async () => {
    const bytes = await tarOf([{ name: 'a.txt', pax: { comment: 'x'.repeat(70_000) } }, 'first']);
    await expect(read(bytes)).rejects.toMatchObject({ code: 'unreadable' });
  });
});

describe('the meter', () => {
  const limited = (most: number) => {
    let sum = 0;
    return (bytes: number) => {
      sum += bytes;
      if (sum > most) throw new Error(`more than ${most} bytes`);
    };
  };

  it('ends a zip before the bytes of the entry that is too much', async () => {
    const names: string[] = [];
    const bytes = await zipOf(['small', 'x'], ['large', Buffer.alloc(1_000_000)]);
    const reading = async () => {
      for await (const { name } of entriesOf(fileOf(bytes), limited(1_000))) names.push(name);
    };
    await expect(reading()).rejects.toThrow('more than 1000 bytes');
    expect(names).toEqual(['small']);
  });

  it('ends a tar.gz by what it unpacks to', async () => {
    const bytes = gzipSync(await tarOf([{ name: 'large' }, '0'.repeat(1_000_000)]));
    expect(bytes.length).toBeLessThan(10_000);
    await expect(read(bytes, limited(100_000))).rejects.toThrow('more than 100000 bytes');
  });
});

it('passes on an error of the disk as it is', async () => {
  const bytes = await plainTar();
  const failure = Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
  const file = {
    ...fileOf(bytes),
    part: () =>
      new Readable({
        read() {
          this.destroy(failure);
        },
      }),
  };
  const reading = async () => {
    for await (const _ of entriesOf(file, unmetered));
  };
  await expect(reading()).rejects.toBe(failure);
});
