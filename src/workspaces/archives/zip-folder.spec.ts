import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import yauzl from 'yauzl';
import { type OpenFile, WorkspaceFs } from '#libs/workspace-fs/index.js';
import { zipFolder } from './folder-zips.js';

let root: string;
let files: WorkspaceFs;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'atelier-zip-'));
  files = new WorkspaceFs(root, { maxFileBytes: 10_000_000 });
});
afterEach(() => rmSync(root, { recursive: true }));

const put = (name: string, content: string | Buffer) => writeFileSync(path.join(root, name), content);

/** Does something before each file is opened. */
function beforeOpening(work: (at: string) => unknown): void {
  const open = files.openRead.bind(files);
  files.openRead = at => {
    work(at);
    return open(at);
  };
}

/** Tells of each file that is opened, before its bytes are read. */
function watchOpening(tell: (at: string, stream: Readable) => void): void {
  const open = files.openRead.bind(files);
  files.openRead = async at => {
    const file = await open(at);
    const stream = file.stream.bind(file);
    const watched: OpenFile['stream'] = (...range) => {
      const bytes = stream(...range);
      tell(at, bytes);
      return bytes;
    };
    return Object.assign(file, { stream: watched });
  };
}

async function namesIn(zip: Buffer): Promise<string[]> {
  const names: string[] = [];
  const archive = await yauzl.fromBufferPromise(zip, { lazyEntries: false });
  for await (const { fileName } of archive.eachEntry()) names.push(fileName);
  return names;
}

it('leaves out what is gone when its turn comes', async () => {
  for (const name of ['a', 'b', 'c']) put(name, name);
  beforeOpening(at => at === 'a' && rmSync(path.join(root, 'b')));
  expect(await namesIn(await buffer(await zipFolder(files, '')))).toEqual(['a', 'c']);
});

it('leaves out what lies below a folder that is a file when its turn comes', async () => {
  put('a', 'a');
  mkdirSync(path.join(root, 'folder'));
  put('folder/b', 'b');
  put('large', randomBytes(300_000));
  beforeOpening(at => {
    if (at !== 'a') return;
    rmSync(path.join(root, 'folder'), { recursive: true });
    put('folder', 'a file');
  });
  expect(await namesIn(await buffer(await zipFolder(files, '')))).toEqual(['a', 'folder/', 'large']);
});

it('has small and large files whole and in their order, whatever their names', async () => {
  const contents = new Map<string, Buffer>();
  for (let n = 0; n < 70; n++) {
    const name = `${['c:', 'f'][n % 2]}${String(n).padStart(2, '0')}.${['txt', 'png'][n % 3] ?? 'bin'}`;
    contents.set(name, Buffer.alloc([0, 700, 20_000, 300_000][n % 4] ?? 0, name));
  }
  for (const [name, content] of contents) put(name, content);
  const zip = await yauzl.fromBufferPromise(await buffer(await zipFolder(files, '')), { lazyEntries: false });
  const found = new Map<string, Buffer>();
  for await (const entry of zip.eachEntry())
    found.set(entry.fileName.replace('./', ''), await buffer(await zip.openReadStreamPromise(entry)));
  expect([...found.keys()]).toEqual([...contents.keys()].sort());
  for (const [name, content] of contents) expect(found.get(name)?.equals(content)).toBe(true);
});

it('breaks off for a small file that is cut short while it is read', async () => {
  put('a', Buffer.alloc(200_000));
  const open = files.openRead.bind(files);
  files.openRead = async at => {
    const file = await open(at);
    truncateSync(path.join(root, at), 10);
    return file;
  };
  await expect(buffer(await zipFolder(files, ''))).rejects.toMatchObject({ code: 'busy' });
});

it('leaves out what it is told to', async () => {
  for (const name of ['.env', 'b']) put(name, name);
  expect(await namesIn(await buffer(await zipFolder(files, '', name => name.startsWith('.'))))).toEqual([
    'b',
  ]);
});

it('closes the file it reads when the reader of the zip goes away, and opens no other', async () => {
  for (const name of ['a', 'b']) put(name, randomBytes(4_000_000));
  const opened: [string, Readable][] = [];
  watchOpening((at, stream) => opened.push([at, stream]));
  const zip = await zipFolder(files, '');
  await new Promise(resolve => zip.once('readable', resolve));
  zip.destroy();
  const [[name, stream] = ['', zip]] = opened;
  await finished(stream).catch((error: NodeJS.ErrnoException) =>
    expect(error.code).toBe('ERR_STREAM_PREMATURE_CLOSE'),
  );
  expect([name, stream.destroyed, opened.length]).toEqual(['a', true, 1]);
});
