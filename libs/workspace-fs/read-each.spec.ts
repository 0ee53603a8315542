import { symlinkSync } from 'node:fs';
import { appendFile, rename, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { WorkspaceFsError } from './errors.js';
import type { OpenFile } from './open-file.js';
import { openDescriptors, TestWorkspace } from './workspace.fixture.js';

let workspace: TestWorkspace;
let descriptors: number;

beforeEach(async () => {
  descriptors = openDescriptors();
  workspace = await TestWorkspace.make();
});
afterEach(async () => {
  expect(openDescriptors()).toBeLessThanOrEqual(descriptors);
  await workspace.remove();
});

const textOf = async (file: OpenFile) => String(await file.bytes());
const read = (paths: string[], visit = textOf) => workspace.fs.readEach(paths, visit);
const told = (outcomes: Awaited<ReturnType<typeof read>>) =>
  outcomes.map(outcome => (outcome.status === 'rejected' ? outcome.reason.code : outcome.value));

it('reads files of many folders, and tells of each how it went', async () => {
  for (const path of ['a', 'b/c', 'b/d/e', 'b/f']) await workspace.put(path, `in ${path}`);
  symlinkSync(workspace.outside('canary.txt'), workspace.at('link'));
  symlinkSync(workspace.outside(), workspace.at('away'));
  const paths = ['b/c', 'a', 'none', 'away/canary.txt', 'b/d', 'b/d/e', 'link', 'a/x', 'b/f'];
  expect(told(await read(paths))).toEqual([
    'in b/c',
    'in a',
    'not_found',
    'symlink',
    'is_directory',
    'in b/d/e',
    'symlink',
    'not_directory',
    'in b/f',
  ]);
});

it('reads one again that changed meanwhile, and gives up on one that always does', async () => {
  for (const path of ['calm', 'once', 'replaced', 'restless']) await workspace.put(path, 'old');
  const visits = new Map<string, number>();
  const outcomes = await read(['calm', 'once', 'replaced', 'restless'], async file => {
    const { path } = file.entry;
    const visit = (visits.get(path) ?? 0) + 1;
    visits.set(path, visit);
    const text = await textOf(file);
    if (path === 'restless' || (path === 'once' && visit === 1)) await appendFile(workspace.at(path), '!');
    if (path === 'replaced') {
      // What is open stays whole.
      await writeFile(workspace.at('new'), 'new');
      await rename(workspace.at('new'), workspace.at(path));
    }
    return text;
  });
  expect(told(outcomes)).toEqual(['old', 'old!', 'old', 'busy']);
  expect(Object.fromEntries(visits)).toEqual({ calm: 1, once: 2, replaced: 1, restless: 3 });
});

it('reads one again that became shorter, and passes on what a visit throws', async () => {
  await workspace.put('shorter', 'a long text');
  let visits = 0;
  const shorter = await read(['shorter'], async file => {
    if (visits++ > 0) return textOf(file);
    throw new WorkspaceFsError('busy', 'shorter');
  });
  expect(told(shorter)).toEqual(['a long text']);
  const [refused] = await read(['shorter'], () => Promise.reject(new Error('no more')));
  expect(refused).toMatchObject({ status: 'rejected', reason: { message: 'no more' } });
});
