import { buffer } from 'node:stream/consumers';
import { expect, it } from '@jest/globals';
import yauzl from 'yauzl';
import { type TreeEntry, type TreeFile, type ZippedTree, zipTree } from './index.js';

const entry = (path: string, size: number, type = 'file'): TreeEntry => ({
  path,
  type,
  size,
  modified_at: '2024-03-05T06:07:08Z',
});

/** A tree of such contents (null: a folder), listed two by two, with the files that are open. */
function treeOf(contents: Record<string, Buffer | null>): ZippedTree & { open_files: Set<string> } {
  const entries = Object.entries(contents).map(([path, content]) =>
    entry(path, content?.byteLength ?? 0, content ? 'file' : 'directory'),
  );
  const open_files = new Set<string>();
  return {
    open_files,
    list: async (_folder, after) => {
      const from = after === undefined ? 0 : entries.findIndex(({ path }) => path === after) + 1;
      const page = entries.slice(from, from + 2);
      const next = from + 2 < entries.length ? (page.at(-1)?.path ?? null) : null;
      return { entries: page, next };
    },
    open: async (path): Promise<TreeFile | undefined> => {
      const content = contents[path];
      if (!content) return undefined;
      open_files.add(path);
      return {
        entry: { size: content.byteLength },
        bytes: async () => content,
        async *stream() {
          yield content;
        },
        close: async () => open_files.delete(path),
      };
    },
  };
}

async function unzipped(zip: Buffer): Promise<Record<string, string>> {
  const archive = await yauzl.fromBufferPromise(zip, { lazyEntries: false });
  const found: Record<string, string> = {};
  for await (const one of archive.eachEntry())
    found[one.fileName] = one.fileName.endsWith('/')
      ? ''
      : (await buffer(await archive.openReadStreamPromise(one))).toString('latin1');
  return found;
}

it('packs all pages of a tree, with names from the folder on, and closes what it opened', async () => {
  const large = Buffer.alloc(300_000, 'large');
  const tree = treeOf({
    'top/a.txt': Buffer.from('a'),
    'top/folder': null,
    'top/folder/c:x': Buffer.from('x'),
    'top/large.png': large,
  });
  const zip = await buffer(await zipTree(tree, 'top'));
  expect(await unzipped(zip)).toEqual({
    'a.txt': 'a',
    'folder/': '',
    'folder/c:x': 'x',
    'large.png': large.toString('latin1'),
  });
  // The large file is stored, by its extension.
  expect(zip.byteLength).toBeGreaterThan(large.byteLength);
  expect([...tree.open_files]).toEqual([]);
});

it('leaves out what the caller skips, what is gone, other types and names with a backslash', async () => {
  const tree = treeOf({ '.env': Buffer.from('e'), 'a\\b': Buffer.from('b'), c: Buffer.from('c') });
  const first = await tree.list('');
  const list = async (_folder: string, after?: string) => {
    if (after !== undefined) return tree.list('', after);
    return { ...first, entries: [entry('gone', 1), entry('link', 1, 'symlink'), ...first.entries] };
  };
  const zip = await zipTree({ ...tree, list }, '', name => name.startsWith('.'));
  expect(Object.keys(await unzipped(await buffer(zip)))).toEqual(['c']);
});

it('rejects where there is no such folder', async () => {
  const list = () => Promise.reject(new Error('There is no such folder'));
  await expect(zipTree({ ...treeOf({}), list }, 'a')).rejects.toThrow('There is no such folder');
});
