import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { TestWorkspace } from './workspace.fixture.js';

let workspace: TestWorkspace;
beforeEach(async () => {
  workspace = await TestWorkspace.make();
});
afterEach(() => workspace.remove());

const pathsOf = ({ entries }: { entries: { path: string }[] }) => entries.map(({ path }) => path);

describe('list', () => {
  it('lists a folder with types and etags, links as links', async () => {
    await workspace.put('a/file', '123');
    mkdirSync(workspace.at('a/folder'));
    symlinkSync('file', workspace.at('a/link'));
    const { entries, next } = await workspace.fs.list('a');
    expect(entries.map(({ path, type, size }) => [path, type, size])).toEqual([
      ['a/file', 'file', 3],
      ['a/folder', 'directory', 0],
      ['a/link', 'symlink', 0],
    ]);
    expect(entries[0]).toEqual(await workspace.fs.stat('a/file'));
    expect(next).toBeNull();
  });

  it('sorts whole paths by their bytes', async () => {
    const paths = ['a', 'a-b', 'a-b/c', 'a/b', 'a/b/c', 'a0', 'é', '\uffee', '\u{1f600}'];
    for (const path of ['a/b/c', 'a-b/c', 'a0', '\u{1f600}', '\uffee', 'é']) await workspace.put(path);
    expect(pathsOf(await workspace.fs.list('', { recursive: true }))).toEqual(paths);
  });

  it('pages through anything without loss or repetition, from any path', async () => {
    const names = fc.constantFrom('a', 'a-', 'a.b', 'a0', 'b', '\u{1f600}', '\uffee');
    const trees = fc.uniqueArray(fc.array(names, { minLength: 1, maxLength: 4 }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(trees, fc.integer({ min: 1, max: 4 }), async (tree, limit) => {
        await workspace.fs.remove('t', { recursive: true }).catch(() => undefined);
        for (const path of tree) await workspace.fs.mkdir(`t/${path.join('/')}`);
        await workspace.fs.mkdir('t');
        const whole = pathsOf(await workspace.fs.list('t', { recursive: true }));
        const paged: string[] = [];
        for (let after: string | undefined; ; ) {
          const page = await workspace.fs.list('t', { recursive: true, limit, after });
          paged.push(...pathsOf(page));
          if (page.next === null) break;
          after = page.next;
        }
        expect(paged).toEqual(whole);
        expect(whole).toEqual([...whole].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
      }),
      { seed: 1, numRuns: 30 },
    );
  });

  it('goes on after a path that is gone', async () => {
    for (const name of ['a', 'c', 'd']) await workspace.put(name);
    expect(pathsOf(await workspace.fs.list('', { after: 'b/x/y' }))).toEqual(['c', 'd']);
  });

  it('hides temporary files, and names that are not UTF-8', async () => {
    await workspace.put('.atelier-tmp-000000000001-000000000000000000000000/x');
    await workspace.put('.hidden');
    const latin1 = Buffer.concat([Buffer.from(workspace.at('')), Buffer.from([0x2f, 0x66, 0xe9])]);
    writeFileSync(latin1, 'x');
    expect(pathsOf(await workspace.fs.list('', { recursive: true }))).toEqual(['.hidden']);
    expect((await workspace.fs.search({ query: 'x' })).files_searched).toBe(1);
  });

  it('works with newlines, bidi marks and the replacement character in names', async () => {
    for (const name of ['line\nbreak', 'gpj.\u202eexe', '\ufffd', '-rf', '*']) {
      await workspace.fs.write(name, name);
      expect((await workspace.fs.readText(name)).content).toBe(name);
    }
    expect(pathsOf(await workspace.fs.list(''))).toHaveLength(5);
  });

  it('survives times beyond what a date can hold', async () => {
    await workspace.put('a');
    utimesSync(workspace.at('a'), 0, 15_032_385_535);
    expect((await workspace.fs.stat('a')).modified_at).toMatch(/^\d{4}-/);
  });

  it('refuses what is not a folder', async () => {
    await workspace.put('file');
    await expect(workspace.fs.list('file')).rejects.toMatchObject({ code: 'not_directory' });
    await expect(workspace.fs.list('none')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('lists ten thousand entries at once', async () => {
    mkdirSync(workspace.at('many'));
    for (let i = 0; i < 10_000; i++) writeFileSync(workspace.at(`many/${i}`), '');
    const { entries, next } = await workspace.fs.list('many');
    expect([entries.length, next]).toEqual([10_000, null]);
  });
});

describe('what is at a path', () => {
  it('is its entry, or null where nothing can be', async () => {
    await workspace.put('a/file', '123');
    symlinkSync('a', workspace.at('link'));
    expect(await workspace.fs.find('a/file')).toEqual(await workspace.fs.stat('a/file'));
    for (const path of ['b', 'a/file/b', 'link/file']) expect(await workspace.fs.find(path)).toBeNull();
    await expect(workspace.fs.find('..')).rejects.toMatchObject({ code: 'invalid_path' });
  });

  it('is free, taken, or in the way', async () => {
    await workspace.put('a/file', '123');
    expect(await workspace.fs.isFree('a/other')).toBe(true);
    expect(await workspace.fs.isFree('a/file')).toBe(false);
    await expect(workspace.fs.isFree('a/file/b')).rejects.toMatchObject({ code: 'not_directory' });
  });

  it('may need folders that are missing', async () => {
    await workspace.put('a/file', '123');
    const counts = ['a/file', 'a/b', 'a/b/c', 'x/y/z', ''].map(path => workspace.fs.countMissing(path));
    expect(await Promise.all(counts)).toEqual([0, 1, 2, 3, 0]);
  });

  it('is listed with all below it', async () => {
    for (let n = 0; n < 1100; n++) mkdirSync(workspace.at(`f${String(n).padStart(4, '0')}`));
    await workspace.put('f0000/x', '1');
    const all = await workspace.fs.listAll('');
    expect(all).toHaveLength(1101);
    expect(all.slice(0, 2).map(({ path }) => path)).toEqual(['f0000', 'f0000/x']);
    expect(await workspace.fs.listAll('f0000')).toHaveLength(1);
  });
});
