import { spawnSync } from 'node:child_process';
import { createReadStream, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type Content, GitHistory, type HistoryHost, type Reading } from './index.js';

const IDENTITY = { name: 'Ada', email: 'ada@example.com', namespace: 'test', temporaries: '.tmp-*' };

let root: string;
let history: GitHistory;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'git-history-'));
  history = new GitHistory(hostOf(path.join(root, 'h')), IDENTITY);
});
afterEach(() => rmSync(root, { recursive: true }));

function hostOf(folder: string): HistoryHost {
  const at = (name: string) => path.join(folder, name);
  return {
    open: async () => {
      await mkdir(folder, { recursive: true });
      return {
        write: (name, content) => writeFile(at(name), content),
        remove: name => rm(at(name)),
        openRead: async name => {
          const file = await open(at(name));
          return {
            readAt: async (position, length) => {
              const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
              return buffer.subarray(0, bytesRead);
            },
            part: (start, end) =>
              start < end ? createReadStream(at(name), { start, end: end - 1 }) : none(),
            [Symbol.asyncDispose]: () => file.close(),
          };
        },
      };
    },
    run: async ({ argv: [program = '', ...argv], env, stdin }) => {
      const options = { cwd: folder, env: { PATH: process.env.PATH, ...env }, input: stdin };
      const { status, stdout, stderr } = spawnSync(program, argv, { ...options, encoding: 'utf8' });
      return { exit_code: status, ended_by: 'exit', stdout, stderr, truncated: false };
    },
  };
}

async function* none(): AsyncGenerator<Buffer> {}

interface Seen {
  path: string;
  etag: string | null;
  content: Content | undefined;
  text?: string;
}

const seen = (name: string, text: string): Seen => ({ path: name, etag: text, content: undefined, text });
const gone = (name: string): Seen => ({ path: name, etag: null, content: { unkept: 'deleted' } });

async function reading({ text = '' }: Seen): Promise<Reading> {
  return { bytes: Buffer.from(text), executable: false };
}

const commit = (files: Seen[], room = 1e9, known = new Set<string>()) =>
  history.commit(files, { read: reading, room, known });

const blobOf = ({ content }: Seen): string => (content && 'blob' in content ? content.blob : '');

async function textsOf(...blobs: string[]): Promise<(string | null)[]> {
  const texts: (string | null)[] = [];
  for await (const bytes of history.read(blobs)) texts.push(bytes?.toString() ?? null);
  return texts;
}

it('gives back what was put in, whatever its size and name', async () => {
  expect(await history.fault()).toBeNull();
  const files = [seen('a "b"\n\\c', 'one'), seen('empty', ''), seen('large', 'x'.repeat(5_000_000))];
  expect((await commit(files)).bytes).toBe(5_000_003);
  const missing = '0'.repeat(64);
  const texts = await textsOf(...files.map(blobOf), missing);
  expect(texts.map(text => text?.length ?? null)).toEqual([3, 0, 5_000_000, null]);
});

it('sends no content twice, and none for which there is no room', async () => {
  const known = new Set<string>();
  await commit([seen('a', 'one')], 10, known);
  const files = [seen('b', 'one'), seen('c', 'a content that is too long')];
  expect((await commit(files, 10, known)).bytes).toBe(0);
  expect([blobOf(files[0] as Seen), files[1]?.content]).toEqual([[...known][0], { unkept: 'full' }]);
});

it('reads a path that was seen twice only as it was last', async () => {
  const files = [seen('a', 'one'), seen('a', 'two')];
  await commit(files);
  expect(files[0]?.content).toEqual({ unkept: 'overwritten' });
  expect(await textsOf(blobOf(files[1] as Seen))).toEqual(['two']);
});

it('compares two contents, or one with none', async () => {
  const [before, after] = [seen('a', 'one\n'), seen('b', 'two\n')];
  await commit([before, after]);
  const sides = [before, after].map(file => ({ path: file.path, blob: blobOf(file) }));
  const [left = null, right = null] = sides;
  expect(await history.diff(left, right)).toEqual({
    diff: '--- a/a\n+++ b/b\n@@ -1 +1 @@\n-one\n+two\n',
    binary: false,
    additions: 1,
    deletions: 1,
    truncated: false,
  });
  expect(await history.diff(null, right)).toMatchObject({ additions: 1, deletions: 0 });
  expect(await history.diff({ path: 'a', blob: '0'.repeat(64) }, right)).toBe('missing');
});

it('forgets what no commit from one on has', async () => {
  const [old, kept, present] = [seen('a', 'old'), seen('b', 'kept'), seen('a', 'present')];
  await commit([old, kept]);
  await commit([gone('a')]);
  const { sha } = await commit([present]);
  expect(await textsOf(blobOf(old))).toEqual(['old']);
  expect(await history.forget(sha)).toBeGreaterThan(0);
  expect(await textsOf(blobOf(old), blobOf(kept), blobOf(present))).toEqual([null, 'kept', 'present']);
  expect(existsSync(path.join(root, 'h', 'git', 'shallow'))).toBe(true);
});
