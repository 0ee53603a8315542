import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { openDescriptors, TestWorkspace } from './workspace.fixture.js';

let workspace: TestWorkspace;
let descriptors: number;
beforeEach(async () => {
  workspace = await TestWorkspace.make();
  descriptors = openDescriptors();
});
afterEach(async () => {
  expect(openDescriptors()).toBe(descriptors);
  await workspace.remove();
});

const content = (path: string) => readFileSync(workspace.at(path), 'utf8');

describe('mkdir', () => {
  it('makes folders, and takes one that exists', async () => {
    expect(await workspace.fs.mkdir('a/b/c')).toMatchObject({ path: 'a/b/c', type: 'directory' });
    expect(await workspace.fs.mkdir('a/b/c')).toMatchObject({ type: 'directory' });
    expect(await workspace.fs.mkdir('')).toMatchObject({ path: '', type: 'directory' });
  });

  it('refuses a file in its place or on its way', async () => {
    await workspace.put('file');
    await expect(workspace.fs.mkdir('file')).rejects.toMatchObject({ code: 'exists' });
    await expect(workspace.fs.mkdir('file/a')).rejects.toMatchObject({ code: 'not_directory' });
  });

  it('makes a folder once for many who ask at the same time', async () => {
    await Promise.all(Array.from({ length: 10 }, (_, i) => workspace.fs.write(`a/b/${i}`, 'x')));
    expect((await workspace.fs.list('a/b')).entries).toHaveLength(10);
  });
});

describe('move', () => {
  it('moves files and folders, and makes the folders it needs', async () => {
    await workspace.put('a/b', 'x');
    expect(await workspace.fs.move('a/b', 'c/d/e')).toMatchObject({ path: 'c/d/e', type: 'file', size: 1 });
    expect(await workspace.fs.move('c', 'f')).toMatchObject({ path: 'f', type: 'directory' });
    expect(workspace.names()).toEqual(['a', 'f', 'f/d', 'f/d/e']);
  });

  it('moves a link itself', async () => {
    symlinkSync(workspace.outside(), workspace.at('link'));
    expect(await workspace.fs.move('link', 'moved')).toMatchObject({ type: 'symlink' });
  });

  it('refuses to go onto or into itself, or to replace a folder that holds it', async () => {
    await workspace.put('a/b/c', 'x');
    for (const [from, to] of [
      ['a', 'a'],
      ['a', 'a/b/d'],
      ['a/b/c', 'a'],
      ['', 'x'],
      ['a', ''],
    ] as const) {
      await expect(workspace.fs.move(from, to, { overwrite: true })).rejects.toMatchObject({
        code: 'invalid_path',
      });
    }
    expect(workspace.names()).toEqual(['a', 'a/b', 'a/b/c']);
  });

  it('refuses what exists, unless told to put like in the place of like', async () => {
    await workspace.put('a', 'a');
    await workspace.put('b', 'b');
    await workspace.put('d/x', 'x');
    await workspace.put('e/y', 'y');
    await expect(workspace.fs.move('a', 'b')).rejects.toMatchObject({ code: 'exists', path: 'b' });
    await expect(workspace.fs.move('d', 'e')).rejects.toMatchObject({ code: 'exists' });
    await expect(workspace.fs.move('a', 'd', { overwrite: true })).rejects.toMatchObject({
      code: 'is_directory',
    });
    await expect(workspace.fs.move('d', 'a', { overwrite: true })).rejects.toMatchObject({
      code: 'not_directory',
    });
    await workspace.fs.move('a', 'b', { overwrite: true });
    await workspace.fs.move('d', 'e', { overwrite: true });
    expect(workspace.names()).toEqual(['b', 'e', 'e/x']);
    expect(content('b')).toBe('a');
  });

  it('leaves one name when both were names of one file', async () => {
    await workspace.put('a', 'x');
    linkSync(workspace.at('a'), workspace.at('b'));
    await workspace.fs.move('a', 'b', { overwrite: true });
    expect(workspace.names()).toEqual(['b']);
  });

  it('says what is missing', async () => {
    await expect(workspace.fs.move('none', 'x/y')).rejects.toMatchObject({ code: 'not_found', path: 'none' });
    expect(workspace.names()).toEqual([]);
  });
});

describe('copy', () => {
  it('copies a file to an inode of its own, with its permissions but set-user-id', async () => {
    await workspace.put('a', 'x');
    chmodSync(workspace.at('a'), 0o4755);
    expect(await workspace.fs.copy('a', 'b/c')).toMatchObject({
      path: 'b/c',
      type: 'file',
      size: 1,
      skipped: [],
    });
    expect(statSync(workspace.at('b/c')).mode & 0o7777).toBe(0o755);
    expect(statSync(workspace.at('b/c')).ino).not.toBe(statSync(workspace.at('a')).ino);
  });

  it('copies a folder and names what it left out', async () => {
    await workspace.put('a/b/c', 'c');
    await workspace.put('a/.atelier-tmp-000000000000-000000000000000000000000', 'x');
    mkdirSync(workspace.at('a/empty'));
    symlinkSync('b/c', workspace.at('a/link'));
    execFileSync('mkfifo', [workspace.at('a/b/pipe')]);
    const copied = await workspace.fs.copy('a', 'n/d');
    expect(copied).toMatchObject({ path: 'n/d', type: 'directory', skipped: ['a/b/pipe', 'a/link'] });
    expect(workspace.names().filter(name => name.startsWith('n'))).toEqual([
      'n',
      'n/d',
      'n/d/b',
      'n/d/b/c',
      'n/d/empty',
    ]);
    await expect(workspace.fs.copy('a/link', 'x')).rejects.toMatchObject({ code: 'symlink' });
    await expect(workspace.fs.copy('a/b/pipe', 'x')).rejects.toMatchObject({ code: 'not_regular' });
  });

  it('never shares an inode, also not between names of one file', async () => {
    await workspace.put('a/x', 'x');
    linkSync(workspace.at('a/x'), workspace.at('a/y'));
    await workspace.fs.copy('a', 'b');
    expect(statSync(workspace.at('b/x')).nlink).toBe(1);
  });

  it('refuses what exists and itself; replaces when told to', async () => {
    await workspace.put('a/x', '1');
    await workspace.put('b/y', '2');
    await expect(workspace.fs.copy('a', 'b')).rejects.toMatchObject({ code: 'exists' });
    await expect(workspace.fs.copy('a', 'a/c')).rejects.toMatchObject({ code: 'invalid_path' });
    await expect(workspace.fs.copy('', 'c')).rejects.toMatchObject({ code: 'invalid_path' });
    await workspace.fs.copy('a', 'b', { overwrite: true });
    await workspace.fs.copy('a/x', 'c');
    await workspace.fs.write('c', 'old');
    await workspace.fs.copy('a/x', 'c', { overwrite: true });
    expect(workspace.names()).toEqual(['a', 'a/x', 'b', 'b/x', 'c']);
    expect(content('c')).toBe('1');
  });

  it('leaves nothing when it fails or is aborted', async () => {
    await workspace.put('a/b/ok', 'x');
    await workspace.put('a/b/large', Buffer.alloc(1024 * 1024 + 1));
    await expect(workspace.fs.copy('a', 'n/c')).rejects.toMatchObject({
      code: 'too_large',
      path: 'a/b/large',
    });
    await expect(workspace.fs.copy('a', 'n/c', { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    });
    expect(workspace.names()).toEqual(['a', 'a/b', 'a/b/large', 'a/b/ok']);
  });
});

describe('remove', () => {
  it('removes files, links and empty folders; others only when told to', async () => {
    await workspace.put('a/b/c', 'x');
    symlinkSync(workspace.outside(), workspace.at('link'));
    mkdirSync(workspace.at('empty'));
    await expect(workspace.fs.remove('a')).rejects.toMatchObject({ code: 'not_empty', path: 'a' });
    await workspace.fs.remove('a/b/c');
    await workspace.fs.remove('link', { recursive: true });
    await workspace.fs.remove('empty');
    await workspace.fs.remove('a', { recursive: true });
    expect(workspace.names()).toEqual([]);
    await expect(workspace.fs.remove('a')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('never removes the root', async () => {
    for (const path of ['', '.', '/']) {
      await expect(workspace.fs.remove(path, { recursive: true })).rejects.toMatchObject({
        code: 'invalid_path',
      });
    }
  });

  it('removes names that are not UTF-8, folders without permissions, and links inside without following', async () => {
    mkdirSync(workspace.at('a/locked'), { recursive: true });
    writeFileSync(Buffer.concat([Buffer.from(workspace.at('a/')), Buffer.from([0xff])]), 'x');
    mkdirSync(Buffer.concat([Buffer.from(workspace.at('a/')), Buffer.from([0xfe])]));
    symlinkSync(workspace.outside(), workspace.at('a/link'));
    await workspace.put('a/locked/x');
    chmodSync(workspace.at('a/locked'), 0);
    await workspace.fs.remove('a', { recursive: true });
    expect(workspace.names()).toEqual([]);
    expect(readFileSync(workspace.outside('canary.txt'), 'utf8')).toContain('CANARY');
  });

  it('removes what is deeper than any path or number of descriptors', async () => {
    const dig =
      'import os,sys\nos.chdir(sys.argv[1])\nfor i in range(3000):\n os.mkdir("d"); os.chdir("d")\nopen("end","w")';
    execFileSync('python3', ['-c', dig, workspace.at('')]);
    expect((await workspace.fs.list('', { recursive: true })).entries).toHaveLength(100);
    expect((await workspace.fs.search({ query: 'x' })).files_searched).toBe(0);
    expect((await workspace.fs.copy('d', 'e')).skipped).toHaveLength(1);
    await workspace.fs.remove('d', { recursive: true });
    await workspace.fs.remove('e', { recursive: true });
    expect(workspace.names()).toEqual([]);
  });
});

describe('sweepTemporaries', () => {
  it('removes what a crash left, wherever it is, and nothing younger than told', async () => {
    await workspace.put('a/.atelier-tmp-000000000001-000000000000000000000000', 'x');
    await workspace.put('.atelier-tmp-000000000002-000000000000000000000000/deep/x', 'x');
    await workspace.put('a/keep', 'x');
    utimesSync(workspace.at('a/.atelier-tmp-000000000001-000000000000000000000000'), 0, 0);
    expect(await workspace.fs.sweepTemporaries({ olderThanMs: 60_000 })).toBe(0);
    expect(await workspace.fs.sweepTemporaries({ olderThanMs: -1000 })).toBe(2);
    expect(workspace.names()).toEqual(['a', 'a/keep']);
  });
});
