import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import yauzl from 'yauzl';
import { type OpenFile, WorkspaceFs } from '#libs/workspace-fs/index.js';
import { zipFolder } from './zip-folder.js';

let root: string;
let files: WorkspaceFs;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'atelier-zip-'));
  files = new WorkspaceFs(root, { maxFileBytes: 10_000_000 });
});
afterEach(() => rmSync(root, { recursive: true }));

const put = (name: string, content: string | Buffer) => writeFileSync(path.join(root, name), content);

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
  watchOpening(at => at === 'a' && rmSync(path.join(root, 'b')));
  expect(await namesIn(await buffer(zipFolder(files, '')))).toEqual(['a', 'c']);
});

it('leaves out what it is told to', async () => {
  for (const name of ['.env', 'b']) put(name, name);
  expect(await namesIn(await buffer(zipFolder(files, '', name => name.startsWith('.'))))).toEqual(['b']);
});

it('closes the file it reads when the reader of the zip goes away, and opens no other', async () => {
  for (const name of ['a', 'b']) put(name, Buffer.alloc(4_000_000, 'incompressible?'));
  const opened: [string, Readable][] = [];
  watchOpening((at, stream) => opened.push([at, stream]));
  const zip = zipFolder(files, '');
  await new Promise(resolve => zip.once('readable', resolve));
  zip.destroy();
  const [[name, stream] = ['', zip]] = opened;
  await finished(stream).catch((error: NodeJS.ErrnoException) =>
    expect(error.code).toBe('ERR_STREAM_PREMATURE_CLOSE'),
  );
  expect([name, stream.destroyed, opened.length]).toEqual(['a', true, 1]);
});
