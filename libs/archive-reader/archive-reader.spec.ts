import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { crc32, gzipSync } from 'node:zlib';
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

/** A header as tar writes it, with the size as it is given. */
function blockOf(type: string, size: string | Buffer): Buffer {
  const block = Buffer.alloc(512);
  block.write('a');
  Buffer.from(size).copy(block, 124);
  block.write(`        ${type}`, 148);
  block.write('ustar\x0000', 257);
  const sum = block.reduce((total, byte) => total + byte);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

function base256(size: number): Buffer {
  const field = Buffer.alloc(12);
  field[0] = 0x80;
  field.writeUInt32BE(size, 8);
  return field;
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

  it('is refused with a sentence where it lies about the size of an entry', async () => {
    const zip = await zipOf(['a.txt', 'a'.repeat(500)]);
    // The compressed size in the central directory (APPNOTE.TXT 4.3.12).
    zip.writeUInt32LE(1_000_000, zip.indexOf('PK\x01\x02') + 20);
    await expect(read(zip)).rejects.toMatchObject({
      name: 'ArchiveError',
      code: 'unreadable',
      message: expect.stringMatching(/^The archive cannot be read: file data overflows file bounds/),
    });
  });

  it('is refused with a sentence where it is broken', async () => {
    const broken = { name: 'ArchiveError', code: 'unreadable', message: /^The archive cannot be read: / };
    const zip = await zipOf(['a.txt', randomBytes(500)]);
    const tarGz = gzipSync(await plainTar());
    for (const bytes of [zip.subarray(0, -30), tarGz.subarray(0, -20)])
      await expect(read(bytes)).rejects.toMatchObject({
        ...broken,
        message: expect.stringMatching(broken.message),
      });
  });

  it.each<[string, string | Buffer]>([
    ['a text', 'just text'],
    ['a longer text', 'x'.repeat(2000)],
    ['a text that begins as a zip', 'PK is no zip'],
    ['a compressed text', gzipSync('x'.repeat(2000))],
    ['a picture', Buffer.from('89504e470d0a1a0a'.padEnd(2048, '0'), 'hex')],
  ])('is not %s', async (_, content) => {
    await expect(read(Buffer.from(content))).rejects.toMatchObject({
      code: 'unreadable',
      message: 'The file is not a zip, tar or tar.gz archive',
    });
  });

  it.each([
    ['fd377a585a000004e6d6b446', 'an xz archive'],
    ['425a683931415926', 'a bzip2 archive'],
    ['28b52ffd04005900', 'a zstd archive'],
    ['377abcaf271c0004', 'a 7z archive'],
    ['526172211a070100', 'a RAR archive'],
  ])('that begins with %s is refused as %s', async (begins, what) => {
    await expect(read(Buffer.from(begins.padEnd(2048, '0'), 'hex'))).rejects.toMatchObject({
      code: 'unreadable',
      message: `The file is ${what}, and only zip, tar and tar.gz are unpacked here; pack it as one of them`,
    });
  });

  it('may have names and records that are long, and headers that are empty', async () => {
    const name = `${'folder/'.repeat(60)}a.txt`;
    const long = await tarOf([{ name, pax: { comment: 'x'.repeat(60_000) } }, 'first']);
    const empty = ['x', 'g', 'L'].map(type => blockOf(type, '00000000000\0'));
    expect(await read(Buffer.concat([...empty, long]))).toEqual([[name, 'file', 'first']]);
  });

  it.each<[string, string, Buffer]>([
    ['records', 'x', blockOf('x', '00000200001\0')],
    ['records, of which the size has spaces before it', 'x', blockOf('x', '    200001 \0')],
    ['records, of which the size is in base 256', 'x', blockOf('x', base256(64 * 1024 + 1))],
    ['records for all', 'g', blockOf('g', '00000010001\0')],
    ['a long name', 'L', blockOf('L', '00000200001\0')],
    ['a long target', 'K', blockOf('K', '00000200001\0')],
  ])('is refused where %s are out of proportion, before they are read', async (_, type, block) => {
    const most = type === 'g' ? 4 * 1024 : 64 * 1024;
    const [folder, hidden] = await Promise.all([
      tarOf([{ name: 'folder/', type: 'directory' }]),
      tarOf([{ name: 'a.txt', size: 0, pax: { size: '0' } }]),
    ]);
    // The size of its block would reach over what comes after it, and its records say that it is empty.
    const records = hidden.subarray(0, 2 * 512);
    const larger = Buffer.concat([records, blockOf('0', '00000100000\0')]);
    const withContent = blockOf('5', '00000100000\0');
    for (const before of [Buffer.alloc(0), folder.subarray(0, 512), larger, withContent])
      await expect(read(Buffer.concat([before, block]))).rejects.toMatchObject({
        code: 'unreadable',
        message: expect.stringMatching(new RegExp(`a header has .* bytes, and may have ${most}$`)),
      });
  });
});

/** A zip of one file as another maker would have written it. */
interface Made {
  readonly name: Buffer;
  readonly host: number;
  readonly flags?: number;
  readonly method?: number;
  readonly extra?: Buffer;
}

/** Local header, central header and end (APPNOTE.TXT 4.3.7, 4.3.12, 4.3.16). */
function zipBy({ name, host, flags = 0, method = 0, extra = Buffer.alloc(0) }: Made): Buffer {
  const content = Buffer.from('content');
  const common = Buffer.alloc(26);
  common.writeUInt16LE(20, 0);
  common.writeUInt16LE(flags, 2);
  common.writeUInt16LE(method, 4);
  common.writeUInt32LE(crc32(content), 10);
  common.writeUInt32LE(content.length, 14);
  common.writeUInt32LE(content.length, 18);
  common.writeUInt16LE(name.length, 22);
  const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, name, content]);
  common.writeUInt16LE(extra.length, 24);
  const central = Buffer.concat([
    Buffer.from('PK\x01\x02'),
    Buffer.from([20, host]),
    common,
    Buffer.alloc(14),
    name,
    extra,
  ]);
  const end = Buffer.alloc(18);
  for (const at of [4, 6]) end.writeUInt16LE(1, at);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(local.length, 12);
  return Buffer.concat([local, central, Buffer.from('PK\x05\x06'), end]);
}

describe('names in a zip', () => {
  const [DOS, UNIX, MACOS] = [0, 3, 19];
  const CP437 = Buffer.from('gr\x94\xe1e.txt', 'latin1');
  const unicodePath = (name: Buffer, path: string) => {
    const data = Buffer.concat([Buffer.alloc(5), Buffer.from(path)]);
    data[0] = 1;
    data.writeUInt32LE(crc32(name), 1);
    const head = Buffer.alloc(4);
    head.writeUInt16LE(0x7075, 0);
    head.writeUInt16LE(data.length, 2);
    return Buffer.concat([head, data]);
  };

  it.each<[string, Made, string]>([
    ['Linux zip', { name: Buffer.from('größe.txt'), host: UNIX }, 'größe.txt'],
    [
      'the macOS Finder',
      { name: Buffer.from('größe.txt'.normalize('NFD')), host: MACOS },
      'größe.txt'.normalize('NFD'),
    ],
    ['another with UTF-8', { name: Buffer.from('名前.txt'), host: DOS }, '名前.txt'],
    ['MS-DOS', { name: CP437, host: DOS }, 'größe.txt'],
    [
      'one that also has it in Unicode',
      { name: CP437, host: DOS, extra: unicodePath(CP437, '名/前.txt') },
      '名/前.txt',
    ],
    [
      'one whose Unicode name is of another',
      { name: CP437, host: DOS, extra: unicodePath(Buffer.from('x'), 'y') },
      'größe.txt',
    ],
    ['PowerShell', { name: Buffer.from('a\\b\\c.txt'), host: DOS }, 'a/b/c.txt'],
    ['PowerShell, outside', { name: Buffer.from('..\\..\\c.txt'), host: DOS }, '../../c.txt'],
  ])('are read as %s wrote them', async (_, made, name) => {
    expect(await read(zipBy(made))).toEqual([[name, 'file', 'content']]);
  });

  it('with a backslash at the end are folders', async () => {
    expect(await read(zipBy({ name: Buffer.from('a\\b\\'), host: DOS }))).toEqual([
      ['a/b/', 'directory', undefined],
    ]);
  });

  it.each([
    ['encrypted', { flags: 1, method: 8 }, /^The archive is encrypted; unpack it where/],
    ['encrypted strongly', { flags: 0x41 }, /^The archive is encrypted; unpack it where/],
    ['compressed otherwise', { method: 14 }, /^"secret" in the archive is compressed by method 14/],
  ])('are not given of what is %s', async (_, how, message) => {
    const reading = read(zipBy({ name: Buffer.from('secret'), host: UNIX, ...how }));
    await expect(reading).rejects.toMatchObject({
      code: 'unreadable',
      message: expect.stringMatching(message),
    });
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
