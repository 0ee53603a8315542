import { symlink } from 'node:fs/promises';
import { literalsOf } from './search-literals.js';
import { TestWorkspace } from './workspace.fixture.js';

let workspace: TestWorkspace;
beforeEach(async () => {
  workspace = await TestWorkspace.make();
});
afterEach(() => workspace.remove());

describe('search', () => {
  it('finds each line with the places that match', async () => {
    await workspace.put('b.txt', 'no\r\nan apple, an Apple\r\n');
    await workspace.put('a/x.md', 'apple');
    expect(await workspace.fs.search({ query: 'APPLE' })).toEqual({
      matches: [
        { path: 'a/x.md', line: 1, excerpt: 'apple', ranges: [[0, 5]] },
        {
          path: 'b.txt',
          line: 2,
          excerpt: 'an apple, an Apple',
          ranges: [
            [3, 8],
            [13, 18],
          ],
        },
      ],
      truncated: false,
      more: false,
      files_searched: 2,
      left_out: [],
    });
    const exact = await workspace.fs.search({ query: 'Apple', case_sensitive: true });
    expect(exact.matches).toEqual([
      { path: 'b.txt', line: 2, excerpt: 'an apple, an Apple', ranges: [[13, 18]] },
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

  it('searches a large file in parts where it is named, and says of a folder which it left out', async () => {
    const line = (n: number) => `${n} ${n % 50_000 === 0 ? 'needle' : 'straw'} ${'é'.repeat(20)}\n`;
    await workspace.put('logs/big.log', Array.from({ length: 220_000 }, (_, n) => line(n + 1)).join(''));
    await workspace.put('logs/small.log', 'needle\n');
    const below = await workspace.fs.search({ query: 'needle', path: 'logs' });
    expect(below).toMatchObject({
      matches: [{ path: 'logs/small.log' }],
      left_out: ['logs/big.log'],
      truncated: true,
    });
    const named = await workspace.fs.search({ query: 'needle', path: 'logs/big.log', context: 1 });
    expect(named).toMatchObject({ truncated: false, left_out: [], files_searched: 1 });
    expect(named.matches.map(({ line }) => line)).toEqual([50_000, 100_000, 150_000, 200_000]);
    expect(named.matches[3]).toMatchObject({
      excerpt: expect.stringMatching(/^200000 needle/),
      before: [expect.stringMatching(/^199999 /)],
      after: [expect.stringMatching(/^200001 /)],
    });
    const page = {
      query: 'needle',
      path: 'logs/big.log',
      limit: 2,
      after: { path: 'logs/big.log', line: 50_000 },
    };
    const next = await workspace.fs.search(page);
    expect(next).toMatchObject({ matches: [{ line: 100_000 }, { line: 150_000 }], more: true });
    const counted = await workspace.fs.search({ query: 'needle', path: 'logs/big.log', filesOnly: true });
    expect(counted.matches).toMatchObject([{ line: 50_000, count: 4 }]);
  });

  it('finds what is in a line that is longer than a part, and nothing in what is binary', async () => {
    await workspace.put('one-line.txt', `${'é'.repeat(5_000_001)}needle`);
    const { matches } = await workspace.fs.search({ query: 'needle', path: 'one-line.txt' });
    expect(matches).toMatchObject([{ line: 1, excerpt: expect.stringContaining('needle') }]);
    await workspace.put('binary.bin', `\0${'needle\n'.repeat(1_400_000)}`);
    expect((await workspace.fs.search({ query: 'needle', path: 'binary.bin' })).matches).toEqual([]);
  });

  it('shows the part of a long line around the match', async () => {
    await workspace.put('min.js', `${'😀'.repeat(5000)}needle${'é'.repeat(5000)}`);
    const [match] = (await workspace.fs.search({ query: 'needle' })).matches;
    expect(match?.excerpt.length).toBeLessThanOrEqual(500);
    expect(match?.excerpt.slice(...(match.ranges[0] ?? []))).toBe('needle');
    expect(match?.excerpt).toMatch(/^\u{1f600}/u);
  });

  it('finds text across lines', async () => {
    await workspace.put('a', '0\none\ntwo\n3');
    expect((await workspace.fs.search({ query: 'one\ntwo' })).matches).toEqual([
      { path: 'a', line: 2, excerpt: 'one\ntwo', ranges: [[0, 7]] },
    ]);
  });

  it('takes a regular expression, line by line', async () => {
    await workspace.put('a', 'foo1\nbar\n😀 Foo22 foo3\r\n');
    expect((await workspace.fs.search({ query: '^foo\\d$', regex: true })).matches).toEqual([
      { path: 'a', line: 1, excerpt: 'foo1', ranges: [[0, 4]] },
    ]);
    expect((await workspace.fs.search({ query: 'foo\\d+', regex: true })).matches[1]).toEqual({
      path: 'a',
      line: 3,
      excerpt: '😀 Foo22 foo3',
      ranges: [
        [3, 8],
        [9, 13],
      ],
    });
    expect((await workspace.fs.search({ query: 'o1\\nb', regex: true })).matches).toEqual([]);
  });

  it('refuses an expression that is none, and no expression stalls it', async () => {
    await workspace.put('a', 'a'.repeat(100_000));
    await expect(workspace.fs.search({ query: '(', regex: true })).rejects.toThrow(/regular expression/);
    await expect(workspace.fs.search({ query: '(?=a)', regex: true })).rejects.toThrow(/regular expression/);
    expect((await workspace.fs.search({ query: '(a+a+)+b', regex: true })).matches).toEqual([]);
  });

  it('goes on after a line, in the middle of a file and past it', async () => {
    await workspace.put('a/b', 'x\nx\n');
    await workspace.put('a-b', 'x\n');
    await workspace.put('c', 'x\n');
    const all = ['a-b', 'a/b', 'a/b', 'c'];
    for (const candidates of [undefined, ['c', 'a/b', 'a-b']]) {
      const seen: string[] = [];
      let after: { path: string; line: number } | undefined;
      for (let page = 0; page < 4; page++) {
        const { matches, more } = await workspace.fs.search({ query: 'x', limit: 1, after, candidates });
        expect(more).toBe(page < 3);
        after = matches.at(-1);
        seen.push(after?.path ?? '');
      }
      expect(seen).toEqual(all);
    }
  });

  it('checks candidates as it checks what it finds itself', async () => {
    await workspace.put('a', 'x');
    await workspace.put('dir/b', 'x');
    await workspace.put('.git/c', 'x');
    await symlink('/etc/passwd', workspace.at('link'));
    const candidates = [
      '../a',
      '/etc/passwd',
      'link',
      'link/x',
      'gone',
      'dir',
      '.git/c',
      'a',
      'dir/b',
      'a\0',
    ];
    const found = await workspace.fs.search({ query: 'x', candidates });
    expect(found.matches.map(({ path }) => path)).toEqual(['a', 'dir/b']);
    const below = await workspace.fs.search({ query: 'x', candidates, path: 'dir' });
    expect(below.matches.map(({ path }) => path)).toEqual(['dir/b']);
  });

  it('stops when aborted', async () => {
    await workspace.put('a', 'x');
    const search = workspace.fs.search({ query: 'x', signal: AbortSignal.abort() });
    await expect(search).rejects.toMatchObject({ code: 'aborted' });
  });
});

describe('.gitignore', () => {
  const files = [
    'a.log',
    'keep.log',
    'src/b.ts',
    'src/b.log',
    'dist/c',
    'src/dist/d',
    'docs/x/e',
    'docs/f',
    'z1',
    'zx',
  ];

  beforeEach(async () => {
    for (const path of files) await workspace.put(path, 'needle');
    await workspace.put('.gitignore', '# note\n*.log\n!keep.log\n/dist/\ndocs/**/e\nz[0-9]\n');
    await workspace.put('src/.gitignore', '!b.log\n');
  });

  it.each([['by walking'], ['among candidates']])('is followed %s', async how => {
    const candidates = how === 'by walking' ? undefined : files;
    const search = async (path: string, ignored = false) =>
      (await workspace.fs.search({ query: 'needle', path, ignored, candidates })).matches.map(m => m.path);
    expect(await search('')).toEqual(['docs/f', 'keep.log', 'src/b.log', 'src/b.ts', 'src/dist/d', 'zx']);
    expect(await search('dist')).toEqual(['dist/c']);
    expect(await search('', true)).toEqual([...files].sort());
  });

  it('does not stall on patterns made to', async () => {
    await workspace.put('.gitignore', `${'*a'.repeat(100)}b\n${'**/'.repeat(100)}nothing\n`);
    await workspace.put('deep/.gitignore', `${' '.repeat(200_000)}x`);
    await workspace.put('a'.repeat(250), 'needle');
    expect((await workspace.fs.search({ query: 'needle' })).matches).toHaveLength(files.length + 1);
  });
});

describe('search by name', () => {
  it('finds files and folders by name, or by path where the query has a slash', async () => {
    for (const path of ['plans/a.md', 'plans/my-plan.txt', 'plan/node_modules/plan.js', 'x.log'])
      await workspace.put(path, '');
    await workspace.put('.gitignore', '*.log');
    const candidates = [
      { path: 'x.log', type: 'file' as const },
      { path: 'plans', type: 'directory' as const },
      { path: 'plans/my-plan.txt', type: 'file' as const },
      { path: 'plans/a.md', type: 'file' as const },
      { path: 'plan', type: 'directory' as const },
      { path: '.gitignore', type: 'file' as const },
    ];
    for (const among of [undefined, candidates]) {
      const found = (query: string, more = {}) =>
        workspace.fs.searchNames({ query, candidates: among, ...more });
      expect((await found('PLAN')).matches).toEqual([
        { path: 'plan', type: 'directory', ranges: [[0, 4]] },
        { path: 'plans', type: 'directory', ranges: [[0, 4]] },
        { path: 'plans/my-plan.txt', type: 'file', ranges: [[9, 13]] },
      ]);
      expect((await found('plans/[am]', { regex: true })).matches.map(({ path }) => path)).toEqual([
        'plans/a.md',
        'plans/my-plan.txt',
      ]);
      expect((await found('log')).matches).toEqual([]);
      expect(await found('plan', { limit: 1, after: 'plan' })).toMatchObject({
        matches: [{ path: 'plans' }],
        more: true,
      });
    }
  });
});

describe('literals of a regular expression', () => {
  it.each<[string, string[] | null]>([
    ['needle', ['needle']],
    ['a\\.b', ['a.b']],
    ['foo|bar+', ['foo', 'bar']],
    ['function (foo|bar)', ['function ']],
    ['colou?r', ['colo']],
    ['ab*c', ['a']],
    ['x{0,2}yz', ['yz']],
    ['[abc]def', ['def']],
    ['foo|.*', null],
    ['(a|b)', null],
    ['(?i)abc', null],
    ['\\Qa|b\\E', null],
    ['\\babc\\b', ['abc']],
  ])('%s: %j', (regex, literals) => {
    expect(literalsOf(regex)).toEqual(literals);
  });
});
