import { symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

const FILES = {
  'notes/plan.md': 'A plan\nThe PLAN for spring, plan b\n',
  'notes/other.md': 'nothing here\n',
  'src/app.ts': 'const plan = 1;\n',
  'dist/app.js': 'var plan=1\n',
  'node_modules/x/plan.js': 'plan\n',
  '.gitignore': 'dist/\n',
};

// With a sandbox, system programs narrow the search; without, the tree is walked. The answers are the same.
describe.each(['auto', 'unsafe-local'])('searching where the sandbox is %s', driver => {
  let service: TestService;
  let ada: Person;
  let workspace: string;

  beforeAll(async () => {
    service = await TestService.start(driver === 'auto' ? {} : { SANDBOX_DRIVER: driver });
    ada = await service.person();
    workspace = await service.workspace(ada);
    for (const [name, content] of Object.entries(FILES))
      await ada.client.put(`/api/workspaces/${workspace}/files/content`, { path: name, content });
    const root = path.join(service.dataDir, 'workspaces', workspace);
    writeFileSync(path.join(root, 'bin.dat'), 'plan\0');
    symlinkSync('/etc/passwd', path.join(root, 'planlink'));
  });
  afterAll(() => service.stop());

  const search = (query: Record<string, string | number | boolean>) =>
    ada.client.get(
      `/api/workspaces/${workspace}/search?${new URLSearchParams(query as Record<string, string>)}`,
    );
  const found = async (query: Parameters<typeof search>[0]) => {
    const { status, body } = await search(query);
    expect([status, body.detail]).toEqual([200, undefined]);
    return body.items.map(({ path, line }: Json) => (line === null ? path : `${path}:${line}`));
  };

  it('gives the lines of files that were changed last first, on request', async () => {
    const changed = (name: string, year: number) => {
      const time = new Date(Date.UTC(year, 0));
      utimesSync(path.join(service.dataDir, 'workspaces', workspace, name), time, time);
    };
    changed('notes/plan.md', 2020);
    changed('src/app.ts', 2021);
    const newest = { q: 'plan', sort: 'newest' };
    expect(await found(newest)).toEqual(['src/app.ts:1', 'notes/plan.md:1', 'notes/plan.md:2']);
    expect(await found({ ...newest, files_only: true })).toEqual(['src/app.ts:1', 'notes/plan.md:1']);
    expect(await found({ ...newest, q: '[a-z]l.n', regex: true, glob: '*.md' })).toEqual([
      'notes/plan.md:1',
      'notes/plan.md:2',
    ]);
    expect(await found({ ...newest, path: 'notes' })).toEqual(['notes/plan.md:1', 'notes/plan.md:2']);
    expect(await found({ ...newest, path: 'src/app.ts' })).toEqual(['src/app.ts:1']);
    const { body } = await search({ ...newest, limit: 1 });
    expect([body.items[0].path, body.items.length, body.next_cursor]).toEqual(['src/app.ts', 1, null]);
    changed('notes/plan.md', 2022);
    expect(await found(newest)).toEqual(['notes/plan.md:1', 'notes/plan.md:2', 'src/app.ts:1']);
  });

  it('finds lines, with the places that match', async () => {
    const { body } = await search({ q: 'plan' });
    expect(body).toEqual({
      items: [
        { path: 'notes/plan.md', line: 1, excerpt: 'A plan', ranges: [[2, 6]] },
        {
          path: 'notes/plan.md',
          line: 2,
          excerpt: 'The PLAN for spring, plan b',
          ranges: [
            [4, 8],
            [21, 25],
          ],
        },
        { path: 'src/app.ts', line: 1, excerpt: 'const plan = 1;', ranges: [[6, 10]] },
      ],
      next_cursor: null,
    });
  });

  it('narrows by case, folder, file and pattern, and shows what is ignored when asked', async () => {
    expect(await found({ q: 'PLAN', case_sensitive: true })).toEqual(['notes/plan.md:2']);
    expect(await found({ q: 'plan', path: 'src' })).toEqual(['src/app.ts:1']);
    expect(await found({ q: 'plan', path: 'dist' })).toEqual(['dist/app.js:1']);
    expect(await found({ q: 'plan', path: 'node_modules/x' })).toEqual(['node_modules/x/plan.js:1']);
    expect(await found({ q: 'plan b', path: 'notes/plan.md' })).toEqual(['notes/plan.md:2']);
    expect(await found({ q: 'plan', glob: '*.ts' })).toEqual(['src/app.ts:1']);
    const all = ['dist/app.js:1', 'node_modules/x/plan.js:1', 'notes/plan.md:1', 'notes/plan.md:2'];
    expect(await found({ q: 'plan', ignored: true })).toEqual([...all, 'src/app.ts:1']);
    expect(await found({ q: '-e' })).toEqual([]);
  });

  it('takes regular expressions, and says what is wrong with one', async () => {
    expect(await found({ q: '^(const|let) \\w+', regex: true })).toEqual(['src/app.ts:1']);
    expect(await found({ q: 'spring|= \\d', regex: true })).toEqual(['notes/plan.md:2', 'src/app.ts:1']);
    expect(await search({ q: '(', regex: true })).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('regular expression') },
    });
  });

  it('pages through lines', async () => {
    const lines: string[] = [];
    let cursor = '';
    for (let page = 0; page < 3; page++) {
      const { body } = await search({ q: 'plan', limit: 1, ...(cursor ? { cursor } : {}) });
      lines.push(...body.items.map((item: Json) => `${item.path}:${item.line}`));
      cursor = body.next_cursor;
    }
    expect([lines, cursor]).toEqual([['notes/plan.md:1', 'notes/plan.md:2', 'src/app.ts:1'], null]);
    expect((await search({ q: 'plan', cursor: 'made-up' })).status).toBe(422);
  });

  it('finds files and folders by name', async () => {
    const { body } = await search({ q: 'plan', in: 'names' });
    expect(body.items).toEqual([
      { path: 'notes/plan.md', line: null, excerpt: 'notes/plan.md', ranges: [[6, 10]] },
      { path: 'planlink', line: null, excerpt: 'planlink', ranges: [[0, 4]] },
    ]);
    expect(await found({ q: 'notes', in: 'names' })).toEqual(['notes']);
    expect(await found({ q: 'notes/', in: 'names' })).toEqual(['notes/other.md', 'notes/plan.md']);
    expect(await found({ q: 'app', in: 'names', ignored: true })).toEqual(['dist/app.js', 'src/app.ts']);
    const first = await search({ q: '.', in: 'names', limit: 1 });
    expect(first.body.items[0].path).toBe('.gitignore');
    expect(
      (await search({ q: '.', in: 'names', limit: 1, cursor: first.body.next_cursor })).body.items[0].path,
    ).toBe('bin.dat');
  });

  it('never follows a link', async () => {
    expect(await found({ q: 'root:' })).toEqual([]);
    expect((await search({ q: 'root:', path: 'planlink' })).status).toBe(409);
    expect((await search({ q: 'x', path: 'gone' })).status).toBe(404);
    expect((await search({ q: 'x', path: '../x' })).status).toBe(422);
  });
});
