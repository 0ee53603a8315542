import { linkSync, lstatSync, mkdirSync, statSync, symlinkSync, utimesSync } from 'node:fs';
import { chmod, readFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { flushEach } from './flush.js';
import { Tree } from './tree.js';
import { openDescriptors, TestWorkspace } from './workspace.fixture.js';

let source: TestWorkspace;
let target: TestWorkspace;
let descriptors: number;

beforeEach(async () => {
  descriptors = openDescriptors();
  source = await TestWorkspace.make();
  target = await TestWorkspace.make();
});
afterEach(async () => {
  expect(openDescriptors()).toBeLessThanOrEqual(descriptors);
  await source.remove();
  await target.remove();
});

const copy = (...paths: string[]) => target.fs.copyFrom(source.fs, paths);
const codes = (outcomes: Awaited<ReturnType<typeof copy>>) =>
  outcomes.map(outcome => (outcome.status === 'rejected' ? outcome.reason.code : 'copied'));

it('copies small and large files of many folders with bytes, times and permissions', async () => {
  const sizes = {
    'a.txt': 5,
    'b/c.txt': 0,
    'b/d/e.bin': 32 * 1024,
    'b/f.bin': 32 * 1024 + 1,
    'g/h.bin': 700_000,
  };
  const time = new Date('2020-02-03T04:05:06.789Z');
  for (const [path, size] of Object.entries(sizes)) {
    await source.put(path, Buffer.alloc(size, path));
    utimesSync(source.at(path), time, time);
  }
  await chmod(source.at('g/h.bin'), 0o750);
  const paths = Object.keys(sizes);
  expect(codes(await copy(...paths))).toEqual(paths.map(() => 'copied'));
  for (const path of paths) {
    expect((await readFile(source.at(path))).equals(await readFile(target.at(path)))).toBe(true);
    const { mtime, ino } = statSync(target.at(path));
    expect([mtime, ino !== statSync(source.at(path)).ino]).toEqual([time, true]);
  }
  expect(statSync(target.at('g/h.bin')).mode & 0o7777).toBe(0o750);
  await target.fs.flush();
  await flushEach(new Tree(target.at(''), { maxFileBytes: 1 }));
});

it('tells of each file how it went, and goes on', async () => {
  for (const path of ['a', 'folder/x', 'gone/y', 'large', 'z', 'locked/in']) await source.put(path, path);
  await source.put('large', Buffer.alloc(1024 * 1024 + 1));
  symlinkSync(source.outside('canary.txt'), source.at('link'));
  symlinkSync(source.outside(), source.at('away'));
  linkSync(source.at('a'), source.at('b'));
  await target.put('locked');
  symlinkSync(target.outside('canary.txt'), target.at('z'));
  const paths = [
    'a',
    'away/canary.txt',
    'b',
    'folder',
    'folder/x',
    'large',
    'link',
    'locked/in',
    'none',
    'z',
  ];
  expect(codes(await copy(...paths))).toEqual([
    'copied',
    'symlink',
    'copied',
    'is_directory',
    'copied',
    'too_large',
    'symlink',
    'not_directory',
    'not_found',
    'copied',
  ]);
  expect(statSync(target.at('a')).ino).not.toBe(statSync(target.at('b')).ino);
  // What is in the place of a file is replaced, never followed.
  expect(lstatSync(target.at('z')).isFile()).toBe(true);
  expect(target.names()).toEqual(['a', 'b', 'folder', 'folder/x', 'locked', 'z']);
});

it('leaves alone what is there already, and takes what differs', async () => {
  for (const path of ['same', 'other']) await source.put(path, path);
  await copy('same', 'other');
  const before = statSync(target.at('same')).ino;
  await source.put('other', 'longer now');
  expect(codes(await copy('same', 'other'))).toEqual(['copied', 'copied']);
  expect(statSync(target.at('same')).ino).toBe(before);
  expect(await readFile(target.at('other'), 'utf8')).toBe('longer now');
});

it('fails for a folder in the place of a file, and leaves it', async () => {
  await source.put('a', 'a');
  mkdirSync(target.at('a'));
  expect(codes(await copy('a'))).toEqual(['is_directory']);
  expect(target.names()).toEqual(['a']);
});
