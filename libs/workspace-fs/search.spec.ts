import { TestWorkspace } from './workspace.fixture.js';

let workspace: TestWorkspace;
beforeEach(async () => {
  workspace = await TestWorkspace.make();
});
afterEach(() => workspace.remove());

describe('search', () => {
  it('finds each occurrence with its line and place', async () => {
    await workspace.put('b.txt', 'no\r\nan apple, an Apple\r\n');
    await workspace.put('a/x.md', 'apple');
    expect(await workspace.fs.search({ query: 'APPLE' })).toEqual({
      matches: [
        { path: 'a/x.md', line: 1, text: 'apple', start: 0, end: 5 },
        { path: 'b.txt', line: 2, text: 'an apple, an Apple', start: 3, end: 8 },
        { path: 'b.txt', line: 2, text: 'an apple, an Apple', start: 13, end: 18 },
      ],
      truncated: false,
      files_searched: 2,
    });
    const exact = await workspace.fs.search({ query: 'Apple', case_sensitive: true });
    expect(exact.matches).toEqual([
      { path: 'b.txt', line: 2, text: 'an apple, an Apple', start: 13, end: 18 },
    ]);
  });

  it('takes the query literally', async () => {
    await workspace.put('a', 'a.b*c (x) [y] {z} ^$|\\/ a-b');
    for (const query of ['a.b*c', '(x)', '[y]', '{z}', '^$|\\/', 'a-b']) {
      expect((await workspace.fs.search({ query })).matches).toHaveLength(1);
    }
    expect((await workspace.fs.search({ query: 'axb' })).matches).toEqual([]);
    expect((await workspace.fs.search({ query: '' })).matches).toEqual([]);
  });

  it('leaves out binaries, .git and node_modules, unless searched there', async () => {
    await workspace.put('bin', Buffer.from('needle\0'));
    await workspace.put('latin1', Buffer.from([0xe9, ...Buffer.from('needle')]));
    await workspace.put('.git/a', 'needle');
    await workspace.put('x/node_modules/a', 'needle');
    await workspace.put('ok', 'needle');
    const found = async (path?: string) =>
      (await workspace.fs.search({ query: 'needle', path })).matches.map(m => m.path);
    expect(await found()).toEqual(['ok']);
    expect(await found('x/node_modules')).toEqual(['x/node_modules/a']);
    expect(await found('ok')).toEqual(['ok']);
  });

  it('narrows by folder and pattern', async () => {
    for (const path of ['src/a.ts', 'src/b/c.ts', 'src/d.md', 'e.ts']) await workspace.put(path, 'needle');
    const found = async (path: string, glob?: string) =>
      (await workspace.fs.search({ query: 'needle', path, glob })).matches.map(m => m.path);
    expect(await found('src')).toEqual(['src/a.ts', 'src/b/c.ts', 'src/d.md']);
    expect(await found('', '*.ts')).toEqual(['e.ts', 'src/a.ts', 'src/b/c.ts']);
    expect(await found('src', 'src/*.ts')).toEqual(['src/a.ts']);
  });

  it('stops at the limit and says so', async () => {
    await workspace.put('a', 'x\n'.repeat(5));
    await workspace.put('b', 'x\n');
    expect(await workspace.fs.search({ query: 'x', limit: 6 })).toMatchObject({ truncated: false });
    const limited = await workspace.fs.search({ query: 'x', limit: 5 });
    expect([limited.matches.length, limited.truncated]).toEqual([5, true]);
  });

  it('shows the part of a long line around the match', async () => {
    await workspace.put('min.js', `${'😀'.repeat(5000)}needle${'é'.repeat(5000)}`);
    const [match] = (await workspace.fs.search({ query: 'needle' })).matches;
    expect(match?.text.length).toBeLessThanOrEqual(500);
    expect(match?.text.slice(match.start, match.end)).toBe('needle');
    expect(match?.text).toMatch(/^\u{1f600}/u);
  });

  it('finds text across lines', async () => {
    await workspace.put('a', '0\none\ntwo\n3');
    expect((await workspace.fs.search({ query: 'one\ntwo' })).matches).toEqual([
      { path: 'a', line: 2, text: 'one\ntwo', start: 0, end: 7 },
    ]);
  });

  it('stops when aborted', async () => {
    await workspace.put('a', 'x');
    const search = workspace.fs.search({ query: 'x', signal: AbortSignal.abort() });
    await expect(search).rejects.toMatchObject({ code: 'aborted' });
  });
});
